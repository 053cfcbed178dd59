"""YAML text -> trees of nodes that know their lines: the composer of `goyaml` and of the scenario's `yaml_source`.

A node keeps the parser's event. Its readers decide the meaning of scalars, keys and merges, and which limits apply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import yaml

# The C parser is a sibling of Go's (both descend from libyaml): the same texts are rejected with the same words.
_LOADER = getattr(yaml, "CLoader", yaml.Loader)

Kind = Literal["scalar", "sequence", "mapping", "alias"]
_KINDS: dict[type, Kind] = {
    yaml.ScalarEvent: "scalar",
    yaml.SequenceStartEvent: "sequence",
    yaml.MappingStartEvent: "mapping",
    yaml.AliasEvent: "alias",
}


class UnknownAnchor(ValueError):
    """An alias without an anchor before it."""

    def __init__(self, anchor: str, line: int) -> None:
        super().__init__(f"unknown anchor {anchor}")
        self.anchor, self.line = anchor, line


class TooDeep(ValueError):
    """A node inside more than `max_depth` others."""

    def __init__(self, line: int) -> None:
        super().__init__("nested too deep")
        self.line = line


class YamlNode:
    """`children` of a mapping are keys and values in turn; `target` is the node that an alias repeats."""

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
        """Line and column, from 1."""
        mark = self.event.start_mark
        return mark.line + 1, mark.column + 1

    def pairs(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        return zip(self.children[::2], self.children[1::2], strict=True)


def documents(text: str | bytes, max_depth: int) -> Iterator[YamlNode]:
    """Raises `yaml.YAMLError`, `UnknownAnchor` and `TooDeep` at the first place that is wrong."""
    events = yaml.parse(text, Loader=_LOADER)
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            root = _compose(events, max_depth)
            next(events)  # the end of the document
            yield root


def _compose(events: Iterator[Any], max_depth: int) -> YamlNode:
    """Without recursion: the depth of a file is the choice of its author."""
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
