"""`test` and `[`: conditions on files, texts and numbers."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.shell.kernel.devices import absolute
from kubesim.shell.kernel.files import File
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.programs.registry import ProgramResult, quick

_DEVICES = ("/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty")


class _Malformed(Exception):
    """An invalid condition."""


_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_TEXTUAL: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
_BINARY = frozenset({*_NUMERIC, *_TEXTUAL, "-nt", "-ot", "-ef"})
_UNARY = frozenset("-" + letter for letter in "bcdefghknprstuwxzLOGS")


@quick("test", "[", "[[")
def test(process: Process, argv: list[str]) -> ProgramResult:
    words = argv[1:]
    if argv[0].endswith("["):
        closing = "]]" if argv[0] == "[[" else "]"
        if not words or words.pop() != closing:
            return ProgramResult(2, "", f"sh: {argv[0]}: missing {closing}\n")
    condition = _Condition(process, words)
    try:
        met = condition.whole()
    except _Malformed as malformed:
        return ProgramResult(2, "", f"sh: {malformed}\n")
    return ProgramResult(0 if met else 1)


class _Condition:
    def __init__(self, process: Process, words: list[str]) -> None:
        self._process = process
        self._words = words
        self._position = 0

    def whole(self) -> bool:
        if not self._words:
            return False
        met = self._either()
        if self._position < len(self._words):
            raise _Malformed(f"{self._words[self._position]}: unknown operand")
        return met

    def _peek(self, ahead: int = 0) -> str | None:
        index = self._position + ahead
        return self._words[index] if index < len(self._words) else None

    def _either(self) -> bool:
        met = self._both()
        while self._peek() in ("-o", "||"):
            self._position += 1
            met = self._both() or met
        return met

    def _both(self) -> bool:
        met = self._negation()
        while self._peek() in ("-a", "&&"):
            self._position += 1
            met = self._negation() and met
        return met

    def _negation(self) -> bool:
        if self._peek() == "!" and self._peek(1) is not None and self._peek(1) not in _BINARY:
            self._position += 1
            return not self._negation()
        return self._primary()

    def _primary(self) -> bool:
        word, operator, operand = self._peek(), self._peek(1), self._peek(2)
        if word is None:
            raise _Malformed("argument expected")
        if operator in _BINARY and operand is not None:
            self._position += 3
            return self._compare(word, operator or "", operand)
        if word == "(" and operator is not None:
            self._position += 1
            met = self._either()
            if self._peek() != ")":
                raise _Malformed("closing paren expected")
            self._position += 1
            return met
        if word in _UNARY and operator is not None:
            self._position += 2
            return self._examine(word, operator)
        self._position += 1
        return word != ""

    def _compare(self, left: str, operator: str, right: str) -> bool:
        if operator in _TEXTUAL:
            return _TEXTUAL[operator](left, right)
        if operator in _NUMERIC:
            return _NUMERIC[operator](_number(left), _number(right))
        first, second = self._file(left), self._file(right)
        if operator == "-ef":
            return first is not None and first is second
        if first is None or second is None:
            return (first is not None) if operator == "-nt" else (second is not None)
        return first.modified > second.modified if operator == "-nt" else first.modified < second.modified

    def _file(self, path: str) -> File | None:
        return self._process.kernel.files.file(absolute(self._process, path))

    def _examine(self, operator: str, operand: str) -> bool:
        if operator == "-n":
            return operand != ""
        if operator == "-z":
            return operand == ""
        path = absolute(self._process, operand)
        files = self._process.kernel.files
        if operator == "-f":
            return files.file(path) is not None
        if operator == "-d":
            return files.is_directory(path)
        if operator == "-s":
            file = files.file(path)
            return files.is_directory(path) if file is None else file.size > 0
        if operator in ("-e", "-r"):
            return files.exists(path) or path in _DEVICES
        if operator == "-w":
            return files.exists(path) and not files.locate(path)[2]
        if operator == "-x":
            file = files.file(path)
            return files.is_directory(path) if file is None else file.executable
        return operator == "-c" and path in _DEVICES


def _number(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise _Malformed(f"{text}: bad number" if text else "bad number") from None
