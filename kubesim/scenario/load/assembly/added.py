"""Steps and faults that the user adds to a scenario during its run, in the scenario language.

`kill: {pod: web}` is a step, `operation: CreateContainer, error: no space left` is a fault. They take effect one
microsecond after the current time, so that everything until then stays the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from kubesim.errors import UsageError
from kubesim.scenario.load.yaml_source import Marked, read_documents
from kubesim.values import value_object

_OF_A_MOMENT = {"steps": ("at", "by", "when"), "faults": ("begin",)}


@value_object
class AddedItem:
    """An item of `spec.steps` or `spec.faults`."""

    list: Literal["steps", "faults"]
    item: dict[str, Any]

    @staticmethod
    def parse(text: str, t: int) -> AddedItem:
        """Parse the text of an item that is added `t` microseconds after the beginning. Raises UsageError."""
        whole = text.strip()
        try:
            documents = read_documents(whole if whole.startswith("{") else f"{{{whole}}}", "inject", keep_last=False)
        except UsageError as error:
            raise UsageError(f"{text}: {getattr(error, 'problem', error)}") from None
        item = documents[0].value if len(documents) == 1 else None
        if not isinstance(item, dict) or not item or None in item.values():
            raise UsageError(f"{text}: give a step such as kill: {{pod: web}}, or a fault with operation: and error:")
        name: Literal["steps", "faults"] = "faults" if "operation" in item else "steps"
        for field in _OF_A_MOMENT[name]:
            if field in item:
                raise UsageError(f"{field}: an injected item takes effect now; remove the field")
        return AddedItem(name, {_OF_A_MOMENT[name][0]: f"{t + 1}us", **item})


def with_items(document: Marked, items: Sequence[AddedItem]) -> Marked:
    """The document of a scenario with these items after its own."""
    spec: dict[str, Any] = dict(document.value.get("spec") or {})
    for added in items:
        own = spec.get(added.list) or []
        spec[added.list] = [*(own if isinstance(own, list) else [own]), added.item]
    return document.holding({**document.value, "spec": spec})
