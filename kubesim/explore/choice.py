"""`Choice`: one decision of a run that the seed does not make: a fault at one occurrence of an operation, or a random
draw that takes an end of its range (the channel of a select, a tie, a jitter).

A choice is an item of `spec.faults` or `spec.choices`, so a run with choices is an ordinary scenario. All choices of
the same operation and moment differ only in their effect.
"""

from __future__ import annotations

from typing import Any, Final

from kubesim.scenario.language.operations.names import OPERATIONS
from kubesim.values import value_object

# The effects of a fault by name: the fields of the item, in the order in which a search tries them. `lost` is an answer
# that never reaches the caller. A `hang` is longer than every timeout, and ends: nothing can converge before.
EFFECTS: Final[dict[str, dict[str, Any]]] = {
    "reboot": {"crash": {"what": "node", "downFor": "30s"}},
    "crash-kubelet": {"crash": {"what": "kubelet", "downFor": "10s"}},
    "crash-runtime": {"crash": {"what": "runtime", "downFor": "10s"}},
    "lost": {"error": "injected: the answer is lost", "moment": "after"},
    "error": {"error": "injected: the operation fails"},
    "delay": {"latency": "20s"},
    "hang": {"latency": "5m"},
    "torn": {"torn": True, "crash": {"what": "node", "downFor": "30s"}},
    "crash-apiserver": {"crash": {"what": "apiserver", "downFor": "1m"}},
    "disconnect": {"crash": {"what": "connection", "downFor": "1m"}},
    "restart": {"crash": {"what": "kubelet", "downFor": "1s"}},
    "low": {"take": "low"},
    "high": {"take": "high"},
}
DRAWS: Final = ("low", "high")  # effects on a draw, which is the operation `draw` of its stream
DRAW: Final = "draw"
CRASHES: Final = ("reboot", "crash-kubelet", "crash-runtime", "crash-apiserver", "disconnect", "restart")
FIRST: Final = ("reboot", "crash-kubelet", "crash-runtime", "lost")  # the most destructive effects
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "crash": ("crash-kubelet", "crash-runtime", "crash-apiserver"),
    "draws": DRAWS,
}
READS: Final = frozenset(
    f"{group}.{name}"
    for group, names in OPERATIONS.items()
    for name in names
    if group in ("runtime", "image") and (name.startswith("List") or name.endswith("Status"))
) | {"runtime.Status", "api.GetPod", "api.GetNode"}


@value_object
class Choice:
    """A fault with one effect at the `nth` occurrence of an operation on a subject. Empty: any."""

    effect: str
    operation: str  # `runtime.CreateContainer`
    moment: str = "before"
    nth: int = 1
    node: str = ""
    pod: str = ""
    container: str = ""
    subject: str = ""

    @property
    def is_draw(self) -> bool:
        return self.operation == DRAW

    @property
    def item(self) -> dict[str, Any]:
        """The item of `spec.faults`, or of `spec.choices` for a draw."""
        if self.is_draw:
            return {DRAW: self.subject, "nth": self.nth, **EFFECTS[self.effect]}
        about = {"node": self.node, "pod": self.pod, "container": self.container, "subject": self.subject}
        given = {name: escaped(value) for name, value in about.items() if value}
        effect = {**EFFECTS[self.effect]}
        if self.effect in CRASHES and self.moment == "after":
            effect["moment"] = "after"
        number = {"nth": self.nth} if self.nth > 1 else {}
        return {"operation": self.operation, **given, **number, "times": 1, **effect}

    @property
    def text(self) -> str:
        """`reboot after CreateContainer 2 of web:main`."""
        if self.is_draw:
            return f"{self.effect} draw {self.nth} of {self.subject}"
        name = self.operation.partition(".")[2] if self.operation.startswith(("runtime.", "image.")) else self.operation
        about = ":".join(filter(None, (self.pod.removeprefix("default/"), self.container))) or self.subject
        number = f" {self.nth}" if self.nth > 1 else ""
        moment = "after" if self.effect == "lost" else self.moment
        at = "at" if self.effect in ("error", "hang", "delay", "torn") else moment
        return f"{self.effect} {at} {name}{number}" + (f" of {about}" if about else "")

    def to_json(self) -> list[Any]:
        fields = (self.effect, self.operation, self.moment, self.nth, self.node, self.pod, self.container, self.subject)
        return list(fields)

    @staticmethod
    def from_json(values: list[Any]) -> Choice:
        return Choice(*values)


def escaped(text: str) -> str:
    """A glob that matches only this text."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in text)


def effects_named(names: tuple[str, ...]) -> tuple[str, ...]:
    """The effects of these names, each once; a group stands for its effects. Raises KeyError for an unknown name."""
    found: dict[str, None] = {}
    for name in names:
        if name not in EFFECTS and name not in GROUPS:
            raise KeyError(name)
        found.update(dict.fromkeys(GROUPS.get(name, (name,))))
    return tuple(found)
