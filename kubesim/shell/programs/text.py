"""Programs that print text from their arguments: echo, printf, seq, yes, expr, basename, dirname."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from kubesim.golang.regexp import BadExpression, TooMuchWork, compile_regexp
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.limits import CHARACTERS_PER_STEP, LONG_TEXT, MEMORY_LIMIT
from kubesim.shell.programs.registry import ProgramResult, program, quick

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "e": "\x1b"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|[ntrabfve\\c\"'])", re.DOTALL)
_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d+))?([a-zA-Z%])")
_SEQUENCE_LIMIT = 100_000
_WIDTH_LIMIT = MEMORY_LIMIT


def unescape(text: str) -> tuple[str, bool]:
    """Text with backslash sequences replaced, and whether a `\\c` ended it."""
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
    pieces: list[str] = []
    err, position, used, size = "", 0, 1, 0
    # The format is reused until all arguments are consumed.
    while used and (position < len(arguments) or not pieces):
        text, complaint, used = _format_once(process, form, arguments, position)
        process.spend_on(form)
        size += len(text)
        process.kernel.claim_memory(size)
        pieces.append(text)
        err += complaint
        position += used
    return ProgramResult(1 if err else 0, "".join(pieces), err)


def _format_once(process: Process, form: str, arguments: list[str], first: int) -> tuple[str, str, int]:
    """One pass of the format over the arguments: output, errors, and the number of arguments used."""
    position = used = size = 0
    pieces: list[str] = []
    err = ""

    def take() -> str:
        nonlocal used
        used += 1
        return arguments[first + used - 1] if first + used <= len(arguments) else ""

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
        if any(len(number) > 9 or int(number) > _WIDTH_LIMIT for number in re.findall(r"\d+", spec)):
            process.kernel.kill_out_of_memory()
        try:
            pieces.append(_convert(spec, kind, argument))
            size += len(pieces[-1])
            process.kernel.claim_memory(size)
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
    count = int((numbers[-1] - first) / step + 1e-9) + 1
    if count <= 0:
        return ProgramResult()
    shown = min(count, _SEQUENCE_LIMIT)
    process.spend(shown // CHARACTERS_PER_STEP)
    text = separator.join(f"{first + step * index:g}" for index in range(shown)) + "\n"
    return ProgramResult(0, text) if shown == count else ProgramResult(1, text, "seq: Cannot allocate memory\n")


@program("yes")
async def yes(process: Process, argv: list[str]) -> int:
    line = (" ".join(argv[1:]) or "y") + "\n"
    lines = max(1, LONG_TEXT // len(line))
    text = line * lines
    while True:
        if process.spend(lines):
            await process.pause()
        await process.write(text)


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
    except (BadExpression, TooMuchWork) as problem:
        return ProgramResult(2, "", f"expr: {problem}\n")
    except (ValueError, IndexError):
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
    expression = compile_regexp(pattern, "basic")
    match = expression.search(text, anchored=True)
    if expression.groups:
        return match.group(1) if match else ""
    return str(len(match.group()) if match else 0)


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
