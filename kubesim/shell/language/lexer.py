"""From characters to tokens: words with their quoting and expansions, operators, newlines, here-documents.

The parser requests one token at a time. A command substitution is a script inside a word, so the lexer gets a function
that parses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kubesim.shell.language.patterns import MAGIC
from kubesim.shell.language.syntax import (
    Arithmetic,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    Script,
    ShellSyntaxError,
    Word,
)
from kubesim.values import replace, value_object

ParseNested = Callable[[str, int], tuple[Script, int]]

# Longest first, as the first match is used.
OPERATORS = (
    "&>>",
    "<<-",
    "<<<",
    "&&",
    "||",
    ";;",
    "<<",
    ">>",
    "<&",
    ">&",
    "<>",
    ">|",
    "&>",
    "&",
    "|",
    ";",
    "(",
    ")",
    "<",
    ">",
)
REDIRECTIONS = frozenset({"<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>", "<<", "<<-", "<<<"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DIGITS = re.compile(r"[0-9]+")
_PARAMETER_OPERATOR = re.compile(r":[-=?+]|##|%%|//|[-=?+#%/:]")
_SPECIAL_PARAMETERS = "@*#?-$!0123456789"
_WORD_ENDS = " \t\n;&|<>()"
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "0": "\0"}


@value_object
class Token:
    """A token. `kind` is word, operator, redirection, newline or end. `text` of a word is empty if part of it is
    quoted.
    """

    kind: str
    text: str = ""
    word: Word | None = None
    descriptor: int = -1


def make_word(parts: list[Part]) -> Word:
    """A word, with its value computed in advance if possible."""
    for index, part in enumerate(parts):
        if not isinstance(part, Literal):
            return Word(tuple(parts), None)
        if not part.quoted and (MAGIC.search(part.text) or (index == 0 and part.text.startswith("~"))):
            return Word(tuple(parts), None)
    return Word(tuple(parts), "".join(part.text for part in parts if isinstance(part, Literal)))


class Lexer:
    """Reads tokens of `text` from `position` on."""

    def __init__(self, text: str, position: int, parse_nested: ParseNested) -> None:
        self.text = text
        self.position = position
        self._parse_nested = parse_nested
        self._after_documents = -1  # end of the current line's here-documents

    def next(self) -> Token:
        self._skip_blanks()
        text, start = self.text, self.position
        if start >= len(text):
            return Token("end")
        if text[start] == "\n":
            self.position = max(start + 1, self._after_documents)
            self._after_documents = -1
            return Token("newline")
        digits = _DIGITS.match(text, start)
        if digits and text[digits.end() : digits.end() + 1] in ("<", ">"):
            self.position = digits.end()
            return replace(self._operator(), descriptor=int(digits[0]))
        if text[start] in ";&|<>()":
            return self._operator()
        return self._word()

    def here_document(self, delimiter: Word, strip_tabs: bool) -> Word:
        """The text of a here-document, which starts on the next line."""
        end_mark = "".join(part.text for part in delimiter.parts if isinstance(part, Literal))
        quoted = any(isinstance(part, Literal) and part.quoted for part in delimiter.parts)
        start = self._after_documents
        if start < 0:
            newline = self.text.find("\n", self.position)
            start = len(self.text) if newline < 0 else newline + 1
        lines = []
        while start < len(self.text):
            newline = self.text.find("\n", start)
            end = len(self.text) if newline < 0 else newline
            line = self.text[start:end]
            start = min(end + 1, len(self.text))
            if strip_tabs:
                line = line.lstrip("\t")
            if line == end_mark:
                break
            lines.append(line + "\n")
        self._after_documents = start
        body = "".join(lines)
        if quoted:
            return make_word([Literal(body, True)])
        return make_word(Lexer(body, 0, self._parse_nested).double_quoted("", document=True))

    # Pieces of tokens.

    def _skip_blanks(self) -> None:
        text = self.text
        while self.position < len(text):
            if text[self.position] in " \t\r":
                self.position += 1
            elif text.startswith("\\\n", self.position):
                self.position += 2
            elif text[self.position] == "#":
                newline = text.find("\n", self.position)
                self.position = len(text) if newline < 0 else newline
            else:
                return

    def _operator(self) -> Token:
        for operator in OPERATORS:
            if self.text.startswith(operator, self.position):
                self.position += len(operator)
                return Token("redirection" if operator in REDIRECTIONS else "operator", operator)
        raise AssertionError(f"no operator at {self.position} of {self.text!r}")

    def _word(self) -> Token:
        start = self.position
        parts = self._parts(_WORD_ENDS)
        raw = len(parts) == 1 and isinstance(parts[0], Literal) and not parts[0].quoted
        return Token("word", self.text[start : self.position] if raw else "", make_word(parts))

    def _parts(self, ends: str) -> list[Part]:
        """Unquoted text with expansions, up to an ending character."""
        text, parts = self.text, list[Part]()
        plain: list[str] = []

        def flush() -> None:
            if plain:
                parts.append(Literal("".join(plain), False))
                plain.clear()

        while self.position < len(text) and (char := text[self.position]) not in ends:
            if char == "\\":
                if not text.startswith("\\\n", self.position):
                    flush()
                    parts.append(Literal(text[self.position + 1 : self.position + 2] or "\\", True))
                self.position += 2
            elif char == "'":
                flush()
                parts.append(Literal(self._single_quoted(), True))
            elif char == '"':
                flush()
                self.position += 1
                parts.extend(self.double_quoted('"') or [Literal("", True)])
            elif char in "$`":
                part = self._dollar(quoted=False)
                if isinstance(part, str):
                    plain.append(part)
                else:
                    flush()
                    parts.append(part)
            else:
                plain.append(char)
                self.position += 1
        self.position = min(self.position, len(text))
        flush()
        return parts

    def _single_quoted(self) -> str:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise ShellSyntaxError("unterminated quoted string")
        content = self.text[self.position + 1 : end]
        self.position = end + 1
        return content

    def double_quoted(self, end: str, *, document: bool = False) -> list[Part]:
        """Text in double quotes, or of a here-document (in which a double quote is an ordinary character)."""
        text, parts = self.text, list[Part]()
        plain: list[str] = []
        while self.position < len(text) and (not end or text[self.position] != end):
            char = text[self.position]
            if char == "\\":
                follower = text[self.position + 1 : self.position + 2]
                if follower and follower in ("$`\\" if document else '$`"\\'):
                    plain.append(follower)
                elif follower != "\n":
                    plain.append("\\" + follower)
                self.position += 2
            elif char in "$`":
                part = self._dollar(quoted=True)
                if isinstance(part, str):
                    plain.append(part)
                    continue
                if plain:
                    parts.append(Literal("".join(plain), True))
                    plain = []
                parts.append(part)
            else:
                plain.append(char)
                self.position += 1
        if end and self.position >= len(text):
            raise ShellSyntaxError("unterminated quoted string")
        self.position += len(end)
        if plain:
            parts.append(Literal("".join(plain), True))
        return parts

    def _dollar(self, quoted: bool) -> Part | str:
        """The expansion at the position, or a literal dollar sign."""
        text, start = self.text, self.position
        if text[start] == "`":
            return self._backquoted(quoted)
        follower = text[start + 1 : start + 2]
        if text.startswith("$((", start):
            arithmetic = self._arithmetic(quoted)
            if arithmetic is not None:
                return arithmetic
        if follower == "(":
            script, self.position = self._parse_nested(text, start + 2)
            return CommandSubstitution(script, quoted)
        if follower == "{":
            return self._braced(quoted)
        if follower == "'" and not quoted:
            return self._ansi_quoted()
        name = _NAME.match(text, start + 1)
        if name:
            self.position = name.end()
            return Parameter(name[0], quoted)
        if follower and follower in _SPECIAL_PARAMETERS:
            self.position = start + 2
            return Parameter(follower, quoted)
        self.position = start + 1
        return "$"

    def _backquoted(self, quoted: bool) -> Part:
        text, position, content = self.text, self.position + 1, list[str]()
        while position < len(text) and text[position] != "`":
            if text[position] == "\\" and text[position + 1 : position + 2] in ("$", "`", "\\"):
                position += 1
            content.append(text[position])
            position += 1
        if position >= len(text):
            raise ShellSyntaxError("EOF in backquote substitution")
        self.position = position + 1
        script, _ = self._parse_nested("".join(content) + "\n)", 0)
        return CommandSubstitution(script, quoted)

    def _arithmetic(self, quoted: bool) -> Part | None:
        """`$((...))`; None if it is a command substitution that starts with a subshell."""
        depth, position = 0, self.position + 3
        while position < len(self.text):
            char = self.text[position]
            if char == "(":
                depth += 1
            elif char == ")" and depth:
                depth -= 1
            elif char == ")":
                if not self.text.startswith("))", position):
                    return None
                inner = Lexer(self.text[self.position + 3 : position], 0, self._parse_nested)
                self.position = position + 2
                return Arithmetic(make_word(inner.double_quoted("")), quoted)
            position += 1
        raise ShellSyntaxError("missing '))'")

    def _braced(self, quoted: bool) -> Part:
        text, start = self.text, self.position + 2
        if text.startswith("#", start) and text[start + 1 : start + 2] not in ("}", ""):
            name = self._parameter_name(start + 1)
            if not text.startswith("}", self.position):
                raise ShellSyntaxError("bad substitution")
            self.position += 1
            return Parameter(name, quoted, "length")
        name = self._parameter_name(start)
        if text.startswith("}", self.position):
            self.position += 1
            return Parameter(name, quoted)
        operator = _PARAMETER_OPERATOR.match(text, self.position)
        if operator is None:
            raise ShellSyntaxError("bad substitution" if self.position < len(text) else "missing '}'")
        self.position = operator.end()
        # Inside double quotes the operand keeps its blanks, but nested quotes still delimit.
        operand = self._parts("}")
        if self.position >= len(text):
            raise ShellSyntaxError("missing '}'")
        self.position += 1
        return Parameter(name, quoted, operator[0], make_word(operand))

    def _parameter_name(self, start: int) -> str:
        match = _NAME.match(self.text, start) or _DIGITS.match(self.text, start)
        if match:
            self.position = match.end()
            return match[0]
        if self.text[start : start + 1] and self.text[start] in _SPECIAL_PARAMETERS:
            self.position = start + 1
            return self.text[start]
        raise ShellSyntaxError("bad substitution")

    def _ansi_quoted(self) -> Part:
        text, position, content = self.text, self.position + 2, list[str]()
        while position < len(text) and text[position] != "'":
            if text[position] == "\\" and position + 1 < len(text):
                position += 1
                content.append(_ANSI_ESCAPES.get(text[position], text[position]))
            else:
                content.append(text[position])
            position += 1
        if position >= len(text):
            raise ShellSyntaxError("unterminated quoted string")
        self.position = position + 1
        return Literal("".join(content), True)
