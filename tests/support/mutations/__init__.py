"""A broken rule for each shipped scenario, with which the scenario's expectations must fail.

`key_rules.py` has the table. A target is `module:name` or `module:Class.name`, where the rule is looked up.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import pytest


class Mutation(NamedTuple):
    """The replacement of a rule."""

    target: str
    instead: Any

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        module, _, path = self.target.partition(":")
        *owners, name = path.split(".")
        owner: Any = import_module(module)
        for each in owners:
            owner = getattr(owner, each)
        assert hasattr(owner, name), f"{self.target} no longer exists"
        patch.setattr(owner, name, self.instead)


def returns(value: Any) -> Any:
    """A function that always returns this value."""
    return lambda *args, **kwargs: value


def returns_later(value: Any) -> Any:
    """A coroutine function that always returns this value."""

    async def answer(*args: Any, **kwargs: Any) -> Any:
        return value

    return answer
