"""The size of the long random tests: full in `make soak`, a tenth elsewhere."""

from __future__ import annotations

import os

import pytest

SOAK = bool(os.environ.get("KUBESIM_SOAK"))


# The timeout of these tests: on a busy machine they take minutes, and in `make soak` hours.
LONG = pytest.mark.timeout(6 * 3600 if SOAK else 1800)


def rounds(full: int) -> int:
    return full if SOAK else max(1, full // 10)
