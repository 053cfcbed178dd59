"""Compiler of regular expressions in three dialects to the instructions of the matcher.

Mirrors: regexp/syntax/parse.go, regexp/syntax/compile.go; regcomp(3) for POSIX.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, TypeAlias

from kubesim.golang.regexp.machine import CHECKS, Expression, Instruction, Op, Predicate
from kubesim.values import value_object

Dialect = Literal["basic", "extended", "go"]

_MOST_INSTRUCTIONS = 2_000
_MOST_REPEATS = 255  # RE_DUP_MAX
_DEEPEST = 40
_CLASSES: dict[str, Predicate] = {
    "alpha": str.isalpha,
    "digit": lambda char: "0" <= char <= "9",
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda char: char in " \t",
    "punct": lambda char: char.isascii() and char.isprintable() and not char.isalnum() and char != " ",
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "print": str.isprintable,
    "graph": lambda char: char.isprintable() and char != " ",
}
_LETTERS: dict[str, Predicate] = {
    "w": lambda char: char.isalnum() or char == "_",
    "W": lambda char: not (char.isalnum() or char == "_"),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
    "d": lambda char: "0" <= char <= "9",
    "D": lambda char: not "0" <= char <= "9",
}
_CHECK_LETTERS = {"b": "boundary", "B": "inside", "<": "word begin", ">": "word end", "`": "begin", "'": "end"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_INTERVAL = re.compile(r"(\d{1,9})?(,)?(\d{1,9})?")


class BadExpression(Exception):
    """Invalid syntax of a regular expression; the message is regcomp's."""


# The syntax tree.
@value_object
class _Take:
    predicate: Predicate


@value_object
class _Check:
    name: str


@value_object
class _Group:
    number: int
    inner: _Node


@value_object
class _Repeat:
    inner: _Node
    least: int
    most: int | None
    greedy: bool = True


@value_object
class _Sequence:
    items: tuple[_Node, ...]


@value_object
class _Choice:
    branches: tuple[_Node, ...]


_Node: TypeAlias = "_Take | _Check | _Group | _Repeat | _Sequence | _Choice"


@lru_cache(maxsize=256)
def compile_regexp(text: str, dialect: Dialect, *, ignore_case: bool = False) -> Expression:
    """Compile an expression. Raises BadExpression."""
    parser = _Parser(text, dialect, ignore_case)
    tree = parser.choice(0)
    if parser.position < len(text):
        raise BadExpression("Unmatched ( or )")
    program: list[Instruction] = []
    _emit(program, tree)
    program.append(Instruction(Op.DONE))
    return Expression(program, parser.groups, longest=dialect != "go")


class _Parser:
    """A recursive-descent parser of one expression."""

    def __init__(self, text: str, dialect: Dialect, ignore_case: bool) -> None:
        self._text = text
        self._dialect = dialect
        self._ignore_case = ignore_case
        self.position = 0
        self.groups = 0

    def _at(self, sign: str) -> bool:
        """Whether this special character comes next. In basic expressions it is escaped with a backslash."""
        basic = self._dialect == "basic"
        return self._text.startswith("\\" + sign if basic else sign, self.position)

    def _take(self, sign: str) -> bool:
        if not self._at(sign):
            return False
        self.position += 2 if self._dialect == "basic" else 1
        return True

    def choice(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            raise BadExpression("Regular expression too big")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _sequence(self, depth: int) -> _Node:
        items: list[_Node] = []
        while self.position < len(self._text) and not self._at("|") and not (depth and self._at(")")):
            if self._dialect != "basic" and self._at(")"):
                raise BadExpression("Unmatched ( or )")
            items.append(self._repeated(self._atom(depth, first=not items)))
        return _Sequence(tuple(items))

    # Repetition of atoms.

    def _repeated(self, atom: _Node) -> _Node:
        if isinstance(atom, _Check) and self._dialect == "basic":  # after an anchor, a star is an ordinary character
            return atom
        while (bounds := self._bounds()) is not None:
            greedy = not (self._dialect == "go" and self._take("?"))
            atom = _Repeat(atom, *bounds, greedy)
        return atom

    def _bounds(self) -> tuple[int, int | None] | None:
        if self._text.startswith("*", self.position):
            self.position += 1
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if not self._at("{"):
            return None
        self._take("{")
        found = _INTERVAL.match(self._text, self.position)
        assert found is not None
        least, comma, most = found.groups()
        self.position = found.end()
        if not self._take("}") or (least is None and (most is None or not comma)):
            raise BadExpression("Invalid content of \\{\\}")
        low = int(least or 0)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > _MOST_REPEATS or (high is not None and high < low):
            raise BadExpression("Invalid content of \\{\\}")
        return low, high

    # Atoms.

    def _atom(self, depth: int, *, first: bool) -> _Node:
        if self._take("("):
            return self._group(depth)
        char = self._text[self.position]
        self.position += 1
        if char == "\\":
            return self._escaped()
        if char == "[":
            return _Take(self._bracket())
        if char == ".":
            return _Take(lambda char: char != "\n" if self._dialect == "go" else True)
        basic = self._dialect == "basic"
        if char == "^" and (not basic or first):
            return _Check("begin")
        if char == "$" and (not basic or self.position == len(self._text) or self._at(")") or self._at("|")):
            return _Check("end")
        if char in "*+?{" and first and not basic and self._dialect == "go":
            raise BadExpression(f"missing argument to repetition operator: `{char}`")
        return self._literal(char)

    def _group(self, depth: int) -> _Node:
        number = 0
        if self._dialect == "go" and self._text.startswith("?", self.position):
            if not self._text.startswith("?:", self.position):
                raise BadExpression("invalid or unsupported Perl syntax: `(?`")
            self.position += 2
        else:
            self.groups += 1
            number = self.groups
        inner = self.choice(depth + 1)
        if not self._take(")"):
            raise BadExpression("Unmatched ( or )")
        return _Group(number, inner) if number else inner

    def _escaped(self) -> _Node:
        if self.position == len(self._text):
            raise BadExpression("Trailing backslash")
        char = self._text[self.position]
        self.position += 1
        if char in _LETTERS:
            return _Take(_LETTERS[char])
        if char in _CHECK_LETTERS:
            return _Check(_CHECK_LETTERS[char])
        if char.isdigit() and char != "0":
            raise BadExpression("Invalid back reference")
        return self._literal(_CONTROLS.get(char, char))

    def _literal(self, char: str) -> _Node:
        if self._ignore_case and char.lower() != char.upper():
            both = {char, char.lower(), char.upper()}
            return _Take(lambda other: other in both)
        return _Take(char.__eq__)

    def _bracket(self) -> Predicate:
        text, negated = self._text, False
        if text.startswith("^", self.position):
            self.position += 1
            negated = True
        members: list[Predicate] = []
        start = self.position
        while True:
            if self.position >= len(text):
                raise BadExpression("Unmatched [, [^, [:, [., or [=")
            if text[self.position] == "]" and self.position > start:
                self.position += 1
                break
            members.append(self._member())
        return _one_of(members, negated=negated, ignore_case=self._ignore_case)

    def _member(self) -> Predicate:
        text = self._text
        if text.startswith("[:", self.position):
            end = text.find(":]", self.position)
            name = text[self.position + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                raise BadExpression("Invalid character class name")
            self.position = end + 2
            return _CLASSES[name]
        first = self._bracket_char()
        if (
            isinstance(first, str)
            and text.startswith("-", self.position)
            and text[self.position + 1 :][:1] not in ("", "]")
        ):
            self.position += 1
            last = self._bracket_char()
            if not isinstance(last, str) or last < first:
                raise BadExpression("Invalid range end")
            return lambda char: first <= char <= last
        return first.__eq__ if isinstance(first, str) else first

    def _bracket_char(self) -> str | Predicate:
        """One character of a bracket expression; in Go's dialect a backslash escapes, too."""
        char = self._text[self.position]
        self.position += 1
        if char != "\\" or self._dialect != "go" or self.position >= len(self._text):
            return char
        char = self._text[self.position]
        self.position += 1
        return _LETTERS.get(char) or _CONTROLS.get(char, char)


def _one_of(members: list[Predicate], *, negated: bool, ignore_case: bool) -> Predicate:
    def holds(char: str) -> bool:
        return any(member(char) for member in members)

    if ignore_case:
        return lambda char: (holds(char) or holds(char.lower()) or holds(char.upper())) != negated
    return lambda char: holds(char) != negated


# Instructions.


def _add(program: list[Instruction], instruction: Instruction) -> int:
    if len(program) >= _MOST_INSTRUCTIONS:
        raise BadExpression("Regular expression too big")
    program.append(instruction)
    return len(program) - 1


def _emit(program: list[Instruction], node: _Node) -> None:
    """Append the instructions of a node; the match continues with the instruction after them."""
    if isinstance(node, _Take):
        _add(program, Instruction(Op.TAKE, len(program) + 1, takes=node.predicate))
    elif isinstance(node, _Check):
        _add(program, Instruction(Op.CHECK, len(program) + 1, holds=CHECKS[node.name]))
    elif isinstance(node, _Sequence):
        for item in node.items:
            _emit(program, item)
    elif isinstance(node, _Group):
        _add(program, Instruction(Op.SAVE, len(program) + 1, 2 * node.number))
        _emit(program, node.inner)
        _add(program, Instruction(Op.SAVE, len(program) + 1, 2 * node.number + 1))
    elif isinstance(node, _Choice):
        _emit_choice(program, node.branches)
    else:
        _emit_repeat(program, node)


def _emit_choice(program: list[Instruction], branches: tuple[_Node, ...]) -> None:
    ends: list[int] = []
    for branch in branches[:-1]:
        split = _add(program, Instruction(Op.SPLIT))
        _emit(program, branch)
        ends.append(_add(program, Instruction(Op.SPLIT)))
        program[split] = Instruction(Op.SPLIT, split + 1, len(program))
    _emit(program, branches[-1])
    for end in ends:
        program[end] = Instruction(Op.SPLIT, len(program), len(program))


def _emit_repeat(program: list[Instruction], node: _Repeat) -> None:
    def split(inside: Callable[[], int], outside: Callable[[], int], at: int) -> None:
        ways = (inside(), outside()) if node.greedy else (outside(), inside())
        program[at] = Instruction(Op.SPLIT, *ways)

    for _ in range(node.least):
        _emit(program, node.inner)
    if node.most is None:
        start = _add(program, Instruction(Op.SPLIT))
        _emit(program, node.inner)
        _add(program, Instruction(Op.SPLIT, start, start))
        split(lambda: start + 1, lambda: len(program), start)
        return
    optional = []
    for _ in range(node.most - node.least):
        optional.append(_add(program, Instruction(Op.SPLIT)))
        _emit(program, node.inner)
    for at in optional:
        split(lambda at=at: at + 1, lambda: len(program), at)  # type: ignore[misc]
