"""A divergence: an observation that the rules of this version do not allow, with the fields that show it."""

from __future__ import annotations

from typing import Any, Literal

from kubesim.api.timestamps import format_micro_time
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.statement import Fact
from kubesim.values import value_object

DivergenceKind = Literal["status", "transition", "early", "late", "lag"]


@value_object
class Divergence:
    """A divergence. `kind`: an invalid status, an invalid change, too early, too late, reported too late.

    `of_memory`: it assumes the kubelet's memory, so a restart of the kubelet would explain it.
    """

    kind: DivergenceKind
    namespace: str
    name: str
    uid: str
    at: int
    says: str
    rule: str
    evidence: tuple[Fact, ...] = ()
    of_memory: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "pod": f"{self.namespace}/{self.name}",
            "uid": self.uid,
            "at": format_micro_time(self.at),
            "says": self.says,
            "rule": self.rule,
            "evidence": [{"field": fact.field, "value": fact.value} for fact in self.evidence],
        }


def diverges(seen: Observation, kind: DivergenceKind, says: str, rule: str, *evidence: Fact) -> Divergence:
    meta = seen.pod.metadata
    return Divergence(kind, meta.namespace, meta.name, meta.uid, seen.now, says, rule, evidence)
