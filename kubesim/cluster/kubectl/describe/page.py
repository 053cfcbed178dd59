"""The output page of a description, and sections shared by many kinds.

Mirrors: kubectl/pkg/describe describe.go PrefixWriter, printLabelsMultiline, printAnnotationsMultiline, DescribeEvents
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from kubesim.api.quantity import parse_quantity
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.kubectl.events import interval
from kubesim.cluster.kubectl.tabwriter import aligned
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE

_SKIPPED = "kubectl.kubernetes.io/last-applied-configuration"
_LONGEST = 140  # maximum length of an annotation on one line
_INDENT = "  "


class DescriptionPage:
    """Lines of tab-separated cells. A flush starts a new block of column widths."""

    def __init__(self, now: int) -> None:
        self.now = now
        self._text = ""
        self._done = ""

    def line(self, text: str, level: int = 0) -> None:
        self._text += f"{_INDENT * level}{text}\n"

    def field(self, name: str, value: object, level: int = 0) -> None:
        self.line(f"{name}:\t{value}", level)

    def optional(self, name: str, value: object, level: int = 0) -> None:
        """A field, omitted if empty."""
        if value not in (None, ""):
            self.field(name, value, level)

    def flush(self) -> None:
        self._done += aligned(self._text)
        self._text = ""

    def text(self) -> str:
        self.flush()
        return self._done

    # -- parts --------------------------------------------------------------------------------------------------

    def rows(self, title: str, rows: Sequence[str]) -> None:
        """Several values below one title."""
        self.line(f"{title}:\t" + "\n\t".join(rows or [NONE]))

    def labels(self, title: str, labels: Mapping[str, str] | None) -> None:
        self.rows(title, [f"{key}={value}" for key, value in sorted((labels or {}).items())])

    def annotations(self, title: str, annotations: Mapping[str, str] | None) -> None:
        rows: list[str] = []
        for key, value in sorted((annotations or {}).items()):
            value = value.removesuffix("\n")
            if key == _SKIPPED:
                continue
            if len(value) + len(key) + 2 > _LONGEST or "\n" in value:
                rows.append(f"{key}:")
                rows += [f"  {_shortened(line)}" for line in value.split("\n")]
            else:
                rows.append(f"{key}: {value}")
        self.rows(title, rows)

    def names(self, obj: JsonObject) -> None:
        self.field("Name", obj["metadata"]["name"])
        self.field("Namespace", obj["metadata"].get("namespace", ""))

    def marks(self, obj: JsonObject) -> None:
        """Labels and annotations."""
        self.labels("Labels", obj["metadata"].get("labels"))
        self.annotations("Annotations", obj["metadata"].get("annotations"))

    def controller(self, obj: JsonObject) -> None:
        owner = next((each for each in dig(obj, "metadata.ownerReferences", ()) if each.get("controller")), None)
        if owner is not None:
            self.field("Controlled By", f"{owner['kind']}/{owner['name']}")

    def conditions(self, obj: JsonObject) -> None:
        """The conditions of a workload."""
        found = dig(obj, "status.conditions", ())
        if found:
            self.line("Conditions:\n  Type\tStatus\tReason")
            self.line("----\t------\t------", 1)
        for each in found:
            self.line(f"{each.get('type', '')} \t{each.get('status', '')}\t{each.get('reason', '')}", 1)

    def tolerations(self, title: str, tolerations: Iterable[JsonObject]) -> None:
        self.rows(title, [_toleration(each) for each in sorted(tolerations, key=lambda each: each.get("key", ""))])

    def events(self, events: Sequence[JsonObject]) -> None:
        """The Events, in the given order."""
        if not events:
            self.field("Events", NONE)
            return
        self.flush()
        self.line("Events:\n  Type\tReason\tAge\tFrom\tMessage")
        self.line("----\t------\t----\t----\t-------", 1)
        for event in events:
            message = event.get("message", "").strip()
            path = dig(event, "involvedObject.fieldPath", "")
            cells = [
                event.get("type", ""),
                event.get("reason", ""),
                interval(event, self.now),
                dig(event, "source.component") or event.get("reportingComponent", ""),
                f"{path}: {message}" if path else message,
            ]
            self.line("\t".join(cells), 1)


def _shortened(text: str) -> str:
    most = _LONGEST - 2
    return text[:most] + "..." if len(text) > most else text


def _toleration(each: JsonObject) -> str:
    text = each.get("key", "")
    text += f"={each['value']}" if each.get("value") else ""
    text += f":{each['effect']}" if each.get("effect") else ""
    if each.get("operator") == "Exists" and not each.get("value"):
        text += " op=Exists" if text else "op=Exists"
    seconds = each.get("tolerationSeconds")
    return text if seconds is None else f"{text} for {seconds}s"


def canonical(amount: object) -> str:
    """A quantity as kubectl prints it after parsing: 96636764000 is 96636764k."""
    return str(parse_quantity(str(amount)))


def date(timestamp: str | None) -> str:
    """`Mon, 02 Jan 2006 15:04:05 +0000`; Go's zero time if missing."""
    if not timestamp:
        return "Mon, 01 Jan 0001 00:00:00 +0000"
    return datetime.fromtimestamp(parse_time(timestamp) // SECOND, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
