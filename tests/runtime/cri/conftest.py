"""Real containerds for the tests of this folder, one of each version in each process that runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.machine.containerd import Containerd, require_containerd, running_containerd
from tools.debian import unpacked
from tools.matrix import CACHE


@pytest.fixture(scope="session")
def containerd() -> Iterator[Containerd]:
    with running_containerd() as started:
        yield started


@pytest.fixture(scope="session")
def new_containerd() -> Iterator[Containerd]:
    require_containerd()
    programs = unpacked("forky", ["containerd"], CACHE.parent / "containerd-forky", "usr/bin")
    with running_containerd(str(programs)) as started:
        yield started
