"""Trees of YAML nodes with line numbers: the composer of `goyaml` and of the scenario's `yaml_source`.

A node keeps the parser's event. The callers decide what scalars, keys and merges mean, and which limits apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import yaml

# The C parser descends from libyaml, like Go's: it rejects the same texts with the same messages.
_LOADER = getattr(yaml, "CLoader", yaml.Loader)

Kind = Literal["scalar", "sequence", "mapping", "alias"]
_KINDS: dict[type, Kind] = {
    yaml.ScalarEvent: "scalar",
    yaml.SequenceStartEvent: "sequence",
    yaml.MappingStartEvent: "mapping",
    yaml.AliasEvent: "alias",
}


class UnknownAnchor(ValueError):
    """An alias that refers to no earlier anchor."""

    def __init__(self, anchor: str, line: int) -> None:
        super().__init__(f"unknown anchor {anchor}")
        self.anchor, self.line = anchor, line


class TooDeep(ValueError):
    """A node that is nested more than `max_depth` levels deep."""

    def __init__(self, line: int) -> None:
        super().__init__("nested too deep")
        self.line = line


class YamlNode:
    """A node. `children` of a mapping alternate between key and value; `target` is the node that an alias refers to."""

    __slots__ = ("children", "event", "kind", "target")

    def __init__(self, event: Any) -> None:
        self.kind = _KINDS[type(event)]
        self.event = event
        self.children: list[YamlNode] = []
        self.target: YamlNode | None = None

    @property
    def line(self) -> int:
        return int(self.event.start_mark.line) + 1

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, counted from 1."""
        mark = self.event.start_mark
        return mark.line + 1, mark.column + 1

    def pairs(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        return zip(self.children[::2], self.children[1::2], strict=True)


def documents(text: str | bytes, max_depth: int) -> Iterator[YamlNode]:
    """The root node of each document. Raises `yaml.YAMLError`, `UnknownAnchor` or `TooDeep` at the first error."""
    events = yaml.parse(text, Loader=_LOADER)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root = _compose(events, max_depth)
            next(events)  # skip the end of the document
            yield root


def _compose(events: Iterator[Any], max_depth: int) -> YamlNode:
    """Build the tree without recursion, because a file can be nested as deeply as its author likes."""
    anchors: dict[str, YamlNode] = {}
    open_nodes: list[YamlNode] = []
    while True:
        event = next(events)
        if isinstance(event, yaml.CollectionEndEvent):
            node = open_nodes.pop()
        else:
            node = _node(event, anchors)
            if len(open_nodes) > max_depth:
                raise TooDeep(node.line)
            if open_nodes:
                open_nodes[-1].children.append(node)
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append(node)
        if not open_nodes:
            return node


def _node(event: Any, anchors: dict[str, YamlNode]) -> YamlNode:
    node = YamlNode(event)
    if node.kind == "alias":
        if event.anchor not in anchors:
            raise UnknownAnchor(event.anchor, node.line)
        node.target = anchors[event.anchor]
    elif event.anchor:
        anchors[event.anchor] = node
    return node
