"""The cluster at a given time of a run: API responses at that time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.cluster.saved.history import OutputLine, RunHistory
from kubesim.cluster.store.kinds import Resource
from kubesim.cluster.store.selectors import FieldSelector, LabelSelector
from kubesim.cluster.store.served_kinds import is_custom_group, resource_for
from kubesim.values import replace, value_object

JsonObject = dict[str, Any]
_DEFINITIONS = "apiextensions.k8s.io/v1"
_FALSE_IF_MISSING = ("spec.unschedulable", "spec.hostNetwork")


@value_object
class ObjectSelection:
    """Selects objects of a kind: by namespace (None: all), labels and fields."""

    namespace: str | None = None
    labels: LabelSelector | None = None
    fields: FieldSelector | None = None


ALL = ObjectSelection()


class ClusterMoment:
    """The cluster at time `t`, in microseconds since the start of the run; None: the end."""

    def __init__(self, history: RunHistory, t: int | None = None) -> None:
        self._history = history
        self._t = history.end if t is None else t
        self.now = history.header.start + self._t
        self._objects: dict[tuple[str, str], list[JsonObject]] = {}
        for obj in history.objects_at(self._t):
            group = obj["apiVersion"].rpartition("/")[0]
            self._objects.setdefault((group, obj["kind"]), []).append(obj)

    def custom_resources(self) -> Sequence[Resource]:
        """Custom resources that have objects; their names come from the definitions."""
        names = {
            (crd["spec"].get("group", ""), crd["spec"]["names"].get("kind", "")): crd["spec"]["names"]
            for crd in self.list(resource_for(_DEFINITIONS, "CustomResourceDefinition"))
            if isinstance((crd.get("spec") or {}).get("names"), dict)
        }
        found = []
        for (group, kind), objects in self._objects.items():
            if group and is_custom_group(f"{group}/v1"):
                guess = resource_for(f"{group}/v1", kind, namespaced=bool(_namespace(objects[0])))
                said = names.get((group, kind), {})
                short = tuple(said.get("shortNames") or ())
                found.append(replace(guess, plural=said.get("plural") or guess.plural, short_names=short))
        return found

    def list(self, resource: Resource, wanted: ObjectSelection = ALL) -> list[JsonObject]:
        """The selected objects, sorted by namespace and name."""
        found = self._objects.get((resource.group, resource.kind.partition(".")[0]), ())
        return sorted((obj for obj in found if _matches(obj, wanted)), key=lambda obj: (_namespace(obj), _name(obj)))

    def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        within = ObjectSelection(namespace if resource.namespaced else None)
        return next((obj for obj in self.list(resource, within) if _name(obj) == name), None)

    def output(self, container_id: str) -> Sequence[OutputLine]:
        """The output of a container so far. The id is from its status: `containerd://...`."""
        lines = self._history.output.get(container_id.rpartition("://")[2], ())
        return [line for line in lines if line.t <= self._t]

    def time_of(self, line: OutputLine) -> int:
        return self._history.header.start + line.t


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _namespace(obj: JsonObject) -> str:
    return str(obj["metadata"].get("namespace", ""))


def _matches(obj: JsonObject, wanted: ObjectSelection) -> bool:
    if wanted.namespace is not None and _namespace(obj) != wanted.namespace:
        return False
    if wanted.labels is not None and not wanted.labels.matches(obj["metadata"].get("labels") or {}):
        return False
    return wanted.fields is None or wanted.fields.matches(lambda field: field_text(obj, field))


def field_text(obj: JsonObject, field: str) -> str:
    """The value of a selectable field; its zero value if missing."""
    if obj["kind"] == "Event" and field == "source":
        return str((obj.get("source") or {}).get("component") or obj.get("reportingComponent") or "")
    value: Any = obj
    for name in field.split("."):
        if name == "podIPs" and isinstance(value, dict):
            value = (value.get("podIPs") or [{}])[0].get("ip")
        else:
            value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        return "false" if field in _FALSE_IF_MISSING else ""
    return str(value).lower() if isinstance(value, bool) else str(value)
