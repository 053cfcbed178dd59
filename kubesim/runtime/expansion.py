"""Expansion of `$(NAME)` in commands, arguments and environment variables.

Mirrors: third_party/forked/golang/expansion Expand, MappingFuncFor
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kubesim.errors import RuntimeCallError

MAX_MESSAGE = 16 << 20  # bytes; containerd's limit per call (defaults.DefaultMaxRecvMsgSize)
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


class MessageTooLarge(RuntimeCallError):
    """A container's request is too large for containerd's gRPC server.

    Nested variable references can expand to any size; expansion stops at the limit.
    """

    def __init__(self, size: int) -> None:
        described = f"grpc: received message larger than max ({size} vs. {MAX_MESSAGE})"
        super().__init__(f"rpc error: code = ResourceExhausted desc = {described}")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace $(NAME) with the variable's value and $$ with $; unknown names stay. Raises MessageTooLarge."""
    if "$" not in text:
        return text
    size = len(text) + sum(len(variables.get(name, "")) for name in references(text))
    if size > MAX_MESSAGE:
        raise MessageTooLarge(size)

    def replacement(found: re.Match[str]) -> str:
        name = found.group(1)
        return "$" if name is None else variables.get(name, found.group(0))

    return _REFERENCE.sub(replacement, text)


def references(text: str) -> list[str]:
    """The referenced names, in order."""
    return [found[1] for found in _REFERENCE.finditer(text) if found[1] is not None]


def check_message(env: Sequence[tuple[str, str]], words: Sequence[str] = ()) -> None:
    """Check the size of variables and command line. Raises MessageTooLarge."""
    size = sum(len(name) + len(value) for name, value in env)
    if "$" in "".join(words):
        variables = dict(env)
        size += sum(len(variables.get(name, "")) for word in words for name in references(word))
    if size > MAX_MESSAGE:
        raise MessageTooLarge(size)
