"""Keys that stand twice in a mapping of a YAML text.

Mirrors: sigs.k8s.io/yaml UnmarshalStrict; go.yaml.in/yaml/v2 decode.go (strict mappings)
"""

from __future__ import annotations

import yaml

from kubesim.golang.yaml_nodes import TooDeep, UnknownAnchor, YamlNode, documents

_MAX_DEPTH = 1000


def duplicate_keys(text: str) -> list[tuple[int, str]]:
    """The line and the key of each that repeats an earlier one, in order."""
    try:
        root = next(documents(text.encode(errors="surrogateescape"), _MAX_DEPTH), None)
    except (yaml.YAMLError, TooDeep, UnknownAnchor):
        return []
    found: list[tuple[int, str]] = []
    open_nodes: list[YamlNode] = [] if root is None else [root]
    while open_nodes:
        node = open_nodes.pop()
        if node.kind == "mapping":
            seen: set[str] = set()
            for key, _ in node.pairs():
                name = getattr(key.event, "value", None)
                if name is not None and name in seen:
                    found.append((key.line, name))
                seen.add(name)
        open_nodes += node.children
    return sorted(found)
