"""Random tests are deterministic in `make test`, and vary in `make soak`. Speed is never tested. No run in a test may
violate a built-in invariant, unless the test is marked with `violates_invariants`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from kubesim.scenario.ending.failure import Failure
from kubesim.scenario.invariants.watch import InvariantWatch
from tests.support.soak import SOAK

settings.register_profile("test", deadline=None, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, max_examples=1000)
settings.load_profile("soak" if SOAK else "test")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("violates_invariants") is not None:
        return (yield)
    found: list[Failure] = []
    with pytest.MonkeyPatch.context() as patch:
        violated = InvariantWatch.violated

        def received(self: InvariantWatch, *args: Any) -> None:
            before = len(self.failures)
            violated(self, *args)
            found.extend(self.failures[before:])

        patch.setattr(InvariantWatch, "violated", received)
        result = yield
    assert not found, "\n".join(line for failure in found for line in failure.lines())
    return result
