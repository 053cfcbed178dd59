"""One variable of an env file: `NAME='value'` on a line, as `fileKeyRef` of a container's variable reads it.

The syntax is the part of POSIX shell that has one meaning only: values stand in single quotes and may span lines.

Mirrors: pkg/kubelet/util/env/env_util.go ParseEnv
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import KubesimError

_LINE_LIMIT = 64 * 1024  # bytes, with the end of the line: what Go's bufio.Scanner takes
_BLANK = " \t"


class EnvFileError(KubesimError):
    """A file that is not an env file up to the variable; the text is the kubelet's."""


def parse_env(text: str, key: str) -> str:
    """The value of the variable; empty if there is none. Lines after it are not examined. Raises EnvFileError."""
    lines = enumerate(_lines(text), 1)
    for number, line in lines:
        line = line.lstrip(_BLANK)
        if not line or line.startswith("#"):
            continue
        name, equals, rest = line.partition("=")
        if not equals:
            raise _invalid(number, "missing '='")
        if not name.rstrip(_BLANK):
            raise _invalid(number, "empty variable name")
        if name != name.rstrip(_BLANK):
            raise _invalid(number, "whitespace before '=' is not allowed")
        if rest.startswith((" ", "\t")):  # to a shell the variable is empty, and the rest a command
            if name == key:
                return ""
            continue
        if not rest.startswith("'"):
            raise _invalid(number, "value must be enclosed in single quotes")
        value = _quoted_value(rest[1:], number, lines)
        if name == key:
            return value
    return ""


def _quoted_value(rest: str, first: int, lines: Iterator[tuple[int, str]]) -> str:
    """Up to the closing quote, which may be on a later line."""
    number, value = first, ""
    while True:
        content, quote, after = rest.partition("'")
        if quote:
            after = after.lstrip(_BLANK)
            if after and not after.startswith("#"):
                raise _invalid(number, "unexpected content after closing quote")
            return value + content
        value += rest + "\n"
        following = next(lines, None)
        if following is None:
            raise EnvFileError(f"invalid environment variable format starting at line {first}: unclosed single quote")
        number, rest = following


def _lines(text: str) -> Iterator[str]:
    *complete, last = text.split("\n")
    for line in (*complete, last) if last else complete:
        if len(line) * 4 >= _LINE_LIMIT and len(line.encode()) >= _LINE_LIMIT:
            raise EnvFileError("error reading environment variable file: bufio.Scanner: token too long")
        yield line.removesuffix("\r")


def _invalid(number: int, problem: str) -> EnvFileError:
    return EnvFileError(f"invalid environment variable format at line {number}: {problem}")
