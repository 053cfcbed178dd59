"""Env files, from which `fileKeyRef` reads a variable: one `NAME='value'` per line.

The syntax is an unambiguous subset of POSIX shell: values are in single quotes and may span lines.

Mirrors: pkg/kubelet/util/env/env_util.go ParseEnv
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import KubesimError

_LINE_LIMIT = 64 * 1024  # bytes per line including the newline: the limit of Go's bufio.Scanner
_BLANK = " \t"


class EnvFileError(KubesimError):
    """A syntax error before the variable was found; the text is the kubelet's."""


def parse_env(text: str, key: str) -> str:
    """The value of the variable; empty if it is absent. Later lines are not parsed. Raises EnvFileError."""
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
        if rest.startswith((" ", "\t")):  # a shell would read an empty variable followed by a command
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
    """The value up to the closing quote, which may be on a later line."""
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
