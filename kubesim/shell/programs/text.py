"""Programs that make text out of their arguments: echo, printf, seq, expr, basename, dirname."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.programs.registry import ProgramResult, quick

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|[ntrabfve\\c\"'])", re.DOTALL)
_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z%])")
_SEQUENCE_LIMIT = 100_000
_WIDTH_LIMIT = 10_000


def unescape(text: str) -> tuple[str, bool]:
    """Text with its backslash sequences replaced, and whether a `\\c` ended it."""
    end = text.find("\\c")
    stopped = end >= 0 and not text[:end].endswith("\\")
    if stopped:
        text = text[:end]

    def replace(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] == "x" and len(code) > 1:
            return chr(int(code[1:], 16))
        if code[0].isdigit():
            return chr(int(code, 8) & 0xFF)
        return _ESCAPES.get(code, code)

    return _ESCAPE.sub(replace, text), stopped


@quick("echo")
def echo(process: Process, argv: list[str]) -> ProgramResult:
    words = argv[1:]
    newline, escapes = "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        for letter in words.pop(0)[1:]:
            if letter == "n":
                newline = ""
            else:
                escapes = letter == "e"
    text = " ".join(words)
    if escapes:
        text, stopped = unescape(text)
        newline = "" if stopped else newline
    return ProgramResult(0, text + newline)


@quick("printf")
def printf(process: Process, argv: list[str]) -> ProgramResult:
    if len(argv) < 2:
        return ProgramResult(1, "", "printf: usage: printf FORMAT [ARG]...\n")
    arguments = argv[2:]
    form, _ = unescape(argv[1])
    out, err, used = _format_once(form, arguments)
    # The format serves as often as there are arguments left for it.
    while used and len(arguments) > used:
        arguments = arguments[used:]
        more, complaint, used = _format_once(form, arguments)
        out, err = out + more, err + complaint
    return ProgramResult(1 if err else 0, out, err)


def _format_once(form: str, arguments: list[str]) -> tuple[str, str, int]:
    """The format with the first arguments, complaints, and how many arguments it took."""
    position = used = 0
    pieces: list[str] = []
    err = ""

    def take() -> str:
        nonlocal used
        used += 1
        return arguments[used - 1] if used <= len(arguments) else ""

    while match := _DIRECTIVE.search(form, position):
        pieces.append(form[position : match.start()])
        position = match.end()
        flags, width, precision, kind = match.groups()
        if kind == "%":
            pieces.append("%")
            continue
        spec = "%" + flags + (take() if width == "*" else width or "")
        if precision is not None:
            spec += "." + (take() if precision == "*" else precision)
        argument = take()
        if any(int(size) > _WIDTH_LIMIT for size in re.findall(r"\d+", spec)):
            spec = "%"
        try:
            pieces.append(_convert(spec, kind, argument))
        except (ValueError, TypeError):
            err += f"printf: invalid number '{argument}'\n"
            pieces.append("0")
    pieces.append(form[position:])
    return "".join(pieces), err, used


def _convert(spec: str, kind: str, argument: str) -> str:
    if kind == "s":
        return (spec + "s") % argument
    if kind == "b":
        return (spec + "s") % unescape(argument)[0]
    if kind == "c":
        return (spec + "s") % argument[:1]
    if kind in "diuxXo":
        value = ord(argument[1]) if argument[:1] in ("'", '"') and len(argument) > 1 else int(argument or "0", 0)
        return (spec + ("d" if kind in "iu" else kind)) % value
    return (spec + kind) % float(argument or "0")


@quick("seq")
def seq(process: Process, argv: list[str]) -> ProgramResult:
    words = argv[1:]
    separator = "\n"
    if len(words) > 2 and words[0] == "-s":
        separator, words = words[1], words[2:]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return ProgramResult(1, "", f"seq: invalid number in {' '.join(words)!r}\n")
    if not 1 <= len(numbers) <= 3:
        return ProgramResult(1, "", "seq: usage: seq [FIRST [INC]] LAST\n")
    first = numbers[0] if len(numbers) > 1 else 1.0
    step = numbers[1] if len(numbers) == 3 else 1.0
    if step == 0:
        return ProgramResult(1, "", "seq: increment is zero\n")
    count = min(int((numbers[-1] - first) / step + 1e-9) + 1, _SEQUENCE_LIMIT)
    if count <= 0:
        return ProgramResult()
    return ProgramResult(0, separator.join(f"{first + step * index:g}" for index in range(count)) + "\n")


@quick("basename")
def basename(process: Process, argv: list[str]) -> ProgramResult:
    name = posixpath.basename(argv[1].rstrip("/")) if len(argv) > 1 else ""
    return ProgramResult(0, (name.removesuffix(argv[2]) if len(argv) > 2 else name) + "\n")


@quick("dirname")
def dirname(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult(0, ((posixpath.dirname(argv[1].rstrip("/")) if len(argv) > 1 else "") or ".") + "\n")


_EXPR_LEVELS: tuple[tuple[str, ...], ...] = (
    ("|",),
    ("&",),
    ("=", "==", "!=", "<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
    (":",),
)


@quick("expr")
def expr(process: Process, argv: list[str]) -> ProgramResult:
    tokens = argv[1:]
    try:
        value = _expr(tokens, 0)
        if tokens:
            raise ValueError
    except ZeroDivisionError:
        return ProgramResult(2, "", "expr: division by zero\n")
    except (ValueError, IndexError, re.error):
        return ProgramResult(2, "", "expr: syntax error\n")
    return ProgramResult(1 if value in ("", "0") else 0, value + "\n")


def _expr(tokens: list[str], level: int) -> str:
    if level == len(_EXPR_LEVELS):
        token = tokens.pop(0)
        if token == "(":
            value = _expr(tokens, 0)
            if tokens.pop(0) != ")":
                raise ValueError
            return value
        if token == "length" and tokens:
            return str(len(tokens.pop(0)))
        return token
    left = _expr(tokens, level + 1)
    while tokens and tokens[0] in _EXPR_LEVELS[level]:
        operator = tokens.pop(0)
        left = _expr_operators[operator](left, _expr(tokens, level + 1))
    return left


def _is_true(value: str) -> bool:
    return value not in ("", "0")


def _compare(test: Callable[[int], bool]) -> Callable[[str, str], str]:
    def compare(left: str, right: str) -> str:
        try:
            difference = int(left) - int(right)
        except ValueError:
            difference = (left > right) - (left < right)
        return str(int(test(difference)))

    return compare


def _match(text: str, pattern: str) -> str:
    match = re.match(pattern.replace(r"\(", "\1").replace(r"\)", "\2").replace("\1", "(").replace("\2", ")"), text)
    if "\\(" in pattern:
        return match[1] if match else ""
    return str(len(match[0]) if match else 0)


def _truncated(left: str, right: str) -> int:
    quotient = abs(int(left)) // abs(int(right))
    return quotient if (int(left) < 0) == (int(right) < 0) else -quotient


_expr_operators: dict[str, Callable[[str, str], str]] = {
    "|": lambda a, b: a if _is_true(a) else b,
    "&": lambda a, b: a if _is_true(a) and _is_true(b) else "0",
    "=": _compare(lambda d: d == 0),
    "==": _compare(lambda d: d == 0),
    "!=": _compare(lambda d: d != 0),
    "<": _compare(lambda d: d < 0),
    "<=": _compare(lambda d: d <= 0),
    ">": _compare(lambda d: d > 0),
    ">=": _compare(lambda d: d >= 0),
    "+": lambda a, b: str(int(a) + int(b)),
    "-": lambda a, b: str(int(a) - int(b)),
    "*": lambda a, b: str(int(a) * int(b)),
    "/": lambda a, b: str(_truncated(a, b)),
    "%": lambda a, b: str(int(a) - int(b) * _truncated(a, b)),
    ":": _match,
}
