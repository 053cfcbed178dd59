"""Word expansion: parameters, substitutions, arithmetic, field splitting, file name expansion, quote removal.

A word becomes segments (text, quoted); only unquoted segments are split and matched against file names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from kubesim.shell.language import patterns
from kubesim.shell.language.arithmetic import evaluate
from kubesim.shell.language.syntax import (
    Arithmetic,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    Script,
    Word,
)
from kubesim.shell.limits import VARIABLE_SIZE

Segment: TypeAlias = tuple[str, bool]

_BLANKS = " \t\n"


class ExpansionFault(Exception):
    """An expansion error that ends the script, with ash's message."""


class ExpansionHost(Protocol):
    """The shell, as the expansion uses it."""

    variables: dict[str, str]
    positional: list[str]
    nounset: bool

    def parameter(self, name: str) -> str | None: ...
    def assign(self, name: str, value: str) -> None: ...
    def matching_paths(self, pattern: str) -> list[str]: ...
    async def command_output(self, script: Script) -> str: ...

    def spend_on(self, text: str) -> None:
        """Count the work of scanning a text."""

    def claim(self, size: int) -> None:
        """Allocate this many characters; does not return if that exceeds the container's memory."""


async def expand_words(host: ExpansionHost, words: Iterable[Word]) -> list[str]:
    """The fields of a command line."""
    fields: list[str] = []
    for word in words:
        if word.plain is not None:
            fields.append(word.plain)
        elif (value := _simple_value(host, word)) is not None:
            fields.append(value)
        else:
            fields.extend(await _expand_fields(host, word))
            host.claim(VARIABLE_SIZE * len(fields))
    return fields


def _simple_value(host: ExpansionHost, word: Word) -> str | None:
    """The value of a word that is one parameter and yields one field; None if it may need more."""
    part = word.parts[0]
    if len(word.parts) > 1 or not isinstance(part, Parameter) or part.operator or part.name in "@*":
        return None
    value = host.parameter(part.name)
    if value is None or part.quoted:
        return value
    return value if value.isalnum() and host.variables.get("IFS", _BLANKS).isspace() else None


async def expand_text(host: ExpansionHost, word: Word) -> str:
    """The value of a word without field splitting: in an assignment, redirection or here-document."""
    if word.plain is not None:
        return word.plain
    return "".join([text for text, _ in await _segments(host, word)])


async def expand_pattern(host: ExpansionHost, word: Word) -> str:
    """A word as a pattern: quoted parts match literally."""
    if word.plain is not None:
        return patterns.escape(word.plain)
    return "".join([patterns.escape(text) if quoted else text for text, quoted in await _segments(host, word)])


class _Fields:
    """Fields under construction; None is a field that has not started."""

    def __init__(self, separators: str) -> None:
        self.done: list[list[Segment]] = []
        self.size = 0  # characters of expansions
        self._open: list[Segment] | None = None
        self._separators = separators

    def add(self, text: str, quoted: bool) -> None:
        if text or quoted:
            if self._open is None:
                self._open = []
            self._open.append((text, quoted))

    def end_field(self) -> None:
        if self._open is not None:
            self.done.append(self._open)
            self._open = None

    def add_split(self, text: str) -> None:
        """Add unquoted text: each separator ends a field; a run of blanks counts as one."""
        start = 0
        for position, char in enumerate(text):
            if char not in self._separators:
                continue
            self.add(text[start:position], False)
            start = position + 1
            if char not in _BLANKS and self._open is None:
                self._open = []
            self.end_field()
        self.add(text[start:], False)


async def _expand_fields(host: ExpansionHost, word: Word) -> list[str]:
    fields = _Fields(host.variables.get("IFS", _BLANKS))
    for index, part in enumerate(word.parts):
        if isinstance(part, Literal):
            text = _tilde(host, part.text) if index == 0 and not part.quoted else part.text
            fields.add(text, part.quoted)
        elif (
            isinstance(part, Parameter)
            and part.name in "@*"
            and not part.operator
            and (part.name == "@" or not part.quoted)
        ):
            host.claim(VARIABLE_SIZE * (len(fields.done) + len(host.positional)))
            for number, value in enumerate(host.positional):
                if number:
                    fields.end_field()
                fields.add(value, True) if part.quoted else fields.add_split(value)
        else:
            for text, quoted in await _part_segments(host, part):
                fields.size += len(text)
                host.claim(fields.size + VARIABLE_SIZE * len(fields.done))
                host.spend_on(text)
                fields.add(text, True) if quoted else fields.add_split(text)
    fields.end_field()
    expanded: list[str] = []
    for field in fields.done:
        expanded.extend(_file_names(host, field))
    return expanded


def _file_names(host: ExpansionHost, field: list[Segment]) -> list[str]:
    text = "".join([text for text, _ in field])
    if not any(not quoted and patterns.MAGIC.search(piece) for piece, quoted in field):
        return [text]
    pattern = "".join([patterns.escape(piece) if quoted else piece for piece, quoted in field])
    return host.matching_paths(pattern) or [text]


def _tilde(host: ExpansionHost, text: str) -> str:
    if text == "~" or text.startswith("~/"):
        return host.variables.get("HOME", "/root") + text[1:]
    return text


async def _segments(host: ExpansionHost, word: Word) -> list[Segment]:
    """The segments of a word, unsplit."""
    segments: list[Segment] = []
    size = 0
    for index, part in enumerate(word.parts):
        if isinstance(part, Literal):
            text = _tilde(host, part.text) if index == 0 and not part.quoted else part.text
            segments.append((text, part.quoted))
        else:
            expanded = await _part_segments(host, part)
            size += sum([len(text) for text, _ in expanded])
            host.claim(size)
            segments.extend(expanded)
    return segments


async def _part_segments(host: ExpansionHost, part: Part) -> list[Segment]:
    if isinstance(part, Parameter):
        return await _parameter(host, part)
    if isinstance(part, CommandSubstitution):
        return [((await host.command_output(part.script)).rstrip("\n"), part.quoted)]
    if isinstance(part, Arithmetic):
        return [(str(evaluate(await expand_text(host, part.expression), host.variables)), part.quoted)]
    return [(part.text, part.quoted)]


async def _parameter(host: ExpansionHost, part: Parameter) -> list[Segment]:
    value = host.parameter(part.name)
    operator = part.operator
    if operator and operator[-1] in "-=?+" and part.operand is not None:
        return await _alternative(host, part, value, part.operand)
    if value is None:
        if host.nounset and part.name not in "@*":
            raise ExpansionFault(f"{part.name}: parameter not set")
        value = ""
    if operator == "length":
        size = len(host.positional) if part.name in "@*" else len(value)
        return [(str(size), part.quoted)]
    if operator and part.operand is not None:
        value = await _changed(host, value, operator, part.operand)
    return [(value, part.quoted)]


async def _alternative(host: ExpansionHost, part: Parameter, value: str | None, operand: Word) -> list[Segment]:
    """`${x:-word}`, `${x:=word}`, `${x:?word}`, `${x:+word}`; without the colon, an empty value counts as set."""
    is_set = value is not None and not (part.operator.startswith(":") and value == "")
    kind = part.operator[-1]
    if kind == "+":
        if not is_set:
            return [("", part.quoted)]
    elif is_set:
        return [(value or "", part.quoted)]
    if kind == "?":
        message = await expand_text(host, operand)
        default = "parameter not set or null" if part.operator == ":?" else "parameter not set"
        raise ExpansionFault(f"{part.name}: {message or default}")
    segments = await _segments(host, operand)
    if kind == "=":
        host.assign(part.name, "".join([text for text, _ in segments]))
    return [(text, quoted or part.quoted) for text, quoted in segments] or [("", part.quoted)]


async def _changed(host: ExpansionHost, value: str, operator: str, operand: Word) -> str:
    """`${x#p}`, `${x%p}`, `${x/p/r}`, `${x:offset:length}`."""
    if operator == ":":
        return _substring(host, value, await expand_text(host, operand))
    pattern = await expand_pattern(host, operand)
    host.spend_on(value)
    if operator in ("#", "##"):
        return patterns.remove_prefix(value, pattern, operator == "##")
    if operator in ("%", "%%"):
        return patterns.remove_suffix(value, pattern, operator == "%%")
    pattern, _, replacement = pattern.partition("/")
    return patterns.substitute(value, pattern, replacement.replace("\\", ""), operator == "//")


def _substring(host: ExpansionHost, value: str, text: str) -> str:
    offset_text, colon, length_text = text.partition(":")
    offset = evaluate(offset_text, host.variables)
    start = max(0, len(value) + offset) if offset < 0 else offset
    if not colon:
        return value[start:]
    length = evaluate(length_text, host.variables)
    return value[start : start + length if length >= 0 else len(value) + length]
