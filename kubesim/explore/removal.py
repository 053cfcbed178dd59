"""The removable parts of a scenario, and the scenario without one of them, as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

from kubesim.cluster.kubectl.yaml_writer import to_yaml
from kubesim.explore.subject import ExploreSubject
from kubesim.values import replace

Path = tuple[str | int, ...]  # the first step is the number of the document
_LISTS = ("steps", "faults", "choices", "behaviours", "dependencies", "images", "objects", "nodes")
_OF_POD = ("containers", "initContainers", "ephemeralContainers")


def removable(subject: ExploreSubject) -> list[Path]:
    """The removable parts of a scenario, large ones first."""
    documents = subject.documents()
    spec = documents[0].get("spec") or {}
    paths: list[Path] = [(number,) for number in range(len(documents) - 1, 0, -1)] if len(documents) > 2 else []
    for name in _LISTS:
        listed = spec.get(name)
        if isinstance(listed, list) and (len(listed) > 1 or name != "nodes"):
            paths += ((0, "spec", name, number) for number in range(len(listed) - 1, -1, -1))
    for number, document in enumerate(documents[1:], start=1):
        paths += ((number, *path) for path in _in_pods(document))
    return paths


def _in_pods(value: Any) -> Iterator[Path]:
    """The containers of pods and templates, except the last regular one."""
    if isinstance(value, dict):
        for name in _OF_POD:
            listed = value.get(name)
            if isinstance(listed, list) and (len(listed) > 1 or name != "containers"):
                yield from ((name, number) for number in range(len(listed) - 1, -1, -1))
        for name in ("spec", "template", "jobTemplate"):
            yield from ((name, *path) for path in _in_pods(value.get(name)))


def without(subject: ExploreSubject, path: Path) -> ExploreSubject:
    """The same scenario without one of its parts."""
    documents = deepcopy(subject.documents())
    parent: Any = documents
    for step in path[:-1]:
        parent = parent[step]
    del parent[path[-1]]
    return with_documents(subject, documents)


def with_documents(subject: ExploreSubject, documents: Sequence[Any]) -> ExploreSubject:
    return replace(subject, text=text_of(documents))


def text_of(documents: Sequence[Any]) -> str:
    return "---\n".join(to_yaml(document, in_order=True) for document in documents)
