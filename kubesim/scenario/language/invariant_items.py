"""What a scenario says about the built-in invariants: which are off, and which it violates on purpose."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BeforeValidator

from kubesim.scenario.language.strict import Strict, as_list

InvariantName = Literal[
    "one-instance",
    "gone-pods",
    "init-order",
    "sidecars",
    "networks",
    "restart-counts",
    "terminal-phase",
    "grace-periods",
    "probes",
    "statuses",
    "addresses",
    "resource-versions",
    "lost-updates",
]
NAMES: Final[tuple[InvariantName, ...]] = get_args(InvariantName)
Names = Annotated[tuple[InvariantName, ...], BeforeValidator(as_list)]


class Invariants(Strict):
    """All are on unless they are named in `off`. Those in `violated` must be violated, or the run fails."""

    off: Names = ()
    violated: Names = ()


def invariants_item(value: Any) -> Any:
    """YAML reads `off` and `on` as false and true."""
    if value is False or value == "off":
        return {"off": NAMES}
    return {} if value is True or value == "on" else value
