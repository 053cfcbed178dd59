"""The closed list of decision rules, and which of them runs have reached.

A rule is a reason that the code of a decision can give. `kubesim.explore.rules.reasons` finds them in these modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kubesim.explore.rules.coverage import general
from kubesim.explore.rules.reasons import GAP, SENTENCES, WITH_REASONS, reasons_in
from kubesim.values import value_object

_DECIDE = "kubesim.runtime.kuberuntime.decide"
_STATUS = "kubesim.kubelet.status"
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "compute_pod_actions": tuple(
        f"{_DECIDE}.{name}" for name in ("actions", "init_actions", "resize_actions", "restart_policy")
    ),
    "workers": tuple(f"kubesim.podworkers.{name}" for name in ("state", "requeue", "undelivered", "workers")),
    "status": (
        f"{_STATUS}.manager",
        *(f"{_STATUS}.generate.{name}" for name in ("reasons", "conditions", "api_pod_status")),
        *(f"{_STATUS}.containers.{name}" for name in ("container_statuses",)),
    ),
    "volumes": ("kubesim.kubelet.volumes.reconcile.reconciler",),
}
# The names of what holds a reason. In compute_pod_actions a `reason` is that of a kill, which no record has.
WORDS: Final[dict[str, frozenset[str]]] = {
    "compute_pod_actions": SENTENCES,
    "workers": WITH_REASONS,
    "status": WITH_REASONS,
    "volumes": WITH_REASONS | {"text"},  # of a Note
}
_CALLED: Final = ("kubesim.kubelet.events.event_recorder",)


@value_object
class DecisionCoverage:
    """The rules of one group: how many there are, and those that were never reached."""

    group: str
    count: int
    never: tuple[str, ...]


@cache
def rules_of(group: str) -> tuple[str, ...]:
    """The rules of a group, with `…` for what differs from run to run."""
    sources = [_source(module) for module in MODULES[group]]
    return tuple(reasons_in(sources, WORDS[group], called=[_source(module) for module in _CALLED]))


def coverage_of(reached: Iterable[str]) -> list[DecisionCoverage]:
    """The coverage by runs with these rules (`KIND: REASON`)."""
    texts = "\n".join(sorted(reached))
    return [
        DecisionCoverage(group, len(rules), tuple(rule for rule in rules if not _pattern(rule).search(texts)))
        for group, rules in ((group, rules_of(group)) for group in MODULES)
    ]


@cache
def _pattern(rule: str) -> re.Pattern[str]:
    parts = (re.escape(general(part)).replace(r"\#", ".+").replace("#", ".+") for part in rule.split(GAP))
    return re.compile(".*".join(parts))


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None, f"no module {module}"
    return Path(spec.origin or "").read_text(encoding="utf-8")
