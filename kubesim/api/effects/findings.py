"""`Findings`: the fields without effect of many objects, one line for each path.

Several containers, pods or templates with the same field are one line, which names the first object and counts the
others: `without effect here: spec.containers[0].securityContext.privileged (pod default/web and 2 more)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from kubesim.values import mutable

WITHOUT_EFFECT = "without effect here: "
_INDEX = re.compile(r"\[\d+\]")


@mutable
class _Found:
    path: str
    objects: dict[str, None]


class Findings:
    def __init__(self, known: Collection[str] = ()) -> None:
        """`known` are patterns that are already reported."""
        self._known = known
        self._found: dict[str, _Found] = {}

    def add(self, paths: Iterable[str], named: str) -> None:
        """Add the paths that `fields_without_effect` found in one object."""
        for path in paths:
            pattern = _INDEX.sub("[]", path)
            if pattern not in self._known:
                self._found.setdefault(pattern, _Found(path, {})).objects[named] = None

    def patterns(self) -> list[str]:
        return list(self._found)

    def lines(self) -> list[str]:
        return [WITHOUT_EFFECT + _line(found) for found in self._found.values()]


def _line(found: _Found) -> str:
    first, others = next(iter(found.objects)), len(found.objects) - 1
    return f"{found.path} ({first}{f' and {others} more' if others else ''})"


def object_named(kind: str, namespace: str, name: str) -> str:
    """The name of an object in messages: `pod default/web`, `Deployment default/web`, `Node far`. The namespace is
    empty for cluster-scoped kinds.
    """
    return f"{'pod' if kind == 'Pod' else kind} {namespace}{'/' if namespace else ''}{name}"
