"""One real containerd for the tests of this folder, in each process that runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.machine.containerd import Containerd, running_containerd


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    with running_containerd() as started:
        yield started
