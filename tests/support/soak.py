"""How long the long random tests are: `make soak` runs them in full, everything else a tenth of it."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("KUBESIM_SOAK"))


def rounds(full: int) -> int:
    return full if SOAK else max(1, full // 10)
