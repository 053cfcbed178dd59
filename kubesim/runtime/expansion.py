"""`$(NAME)` in commands, arguments and values of variables.

Mirrors: third_party/forked/golang/expansion Expand, MappingFuncFor
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """$(NAME) is the variable's value, $$ a dollar sign; an unknown name stays as it is written."""
    if "$" not in text:
        return text

    def replacement(found: re.Match[str]) -> str:
        name = found.group(1)
        return "$" if name is None else variables.get(name, found.group(0))

    return _REFERENCE.sub(replacement, text)


def references(text: str) -> list[str]:
    """The names that the text refers to, in order."""
    return [found[1] for found in _REFERENCE.finditer(text) if found[1] is not None]
