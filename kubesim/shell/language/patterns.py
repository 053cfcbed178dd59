"""Shell patterns (`*`, `?`, `[a-z]`, `[!x]`, backslash) as regular expressions.

Matching takes at most the product of the lengths of pattern and text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kubesim.shell.limits import LONG_TEXT, PATTERN_WORK

MAGIC = re.compile(r"[*?]|\[.+\]")  # a lone bracket, as in the command `[`, is literal
_LONGEST_PATTERN = 16_384


def escape(text: str) -> str:
    """A pattern that matches the text literally."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


class PatternTooLong(Exception):
    """Matching would take too long."""

    def __init__(self) -> None:
        super().__init__("pattern too long for this text")


def compile_pattern(pattern: str, size: int) -> re.Pattern[str]:
    """The regular expression for a whole pattern and a text of this size."""
    if size > LONG_TEXT or len(pattern) > LONG_TEXT:
        if size * len(pattern) > PATTERN_WORK or len(pattern) > _LONGEST_PATTERN:
            raise PatternTooLong
    return _compile(pattern)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(_longest(_chunks(pattern)), re.DOTALL)


def _chunks(pattern: str) -> list[list[str]]:
    """The parts between stars, as expressions for single characters."""
    chunks: list[list[str]] = [[]]
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            if chunks[-1] or len(chunks) == 1:
                chunks.append([])
        elif char == "?":
            chunks[-1].append(".")
        elif char == "\\" and position < len(pattern):
            chunks[-1].append(re.escape(pattern[position]))
            position += 1
        elif char == "[" and (end := _bracket_end(pattern, position)) > 0:
            chunks[-1].append(_bracket(pattern[position:end]))
            position = end + 1
        else:
            chunks[-1].append(re.escape(char))
    return chunks


def _longest(chunks: list[list[str]]) -> str:
    """The expression for the longest match of the parts, with any text between them.

    Each part but the last matches at its first occurrence, without backtracking: if there is a match at all, one exists
    there. So each part is searched once, regardless of the number of stars.
    """
    first, *others = ("".join(chunk) for chunk in chunks)
    if not others:
        return first
    return first + "".join(f"(?>.*?{chunk})" for chunk in others[:-1]) + f".*{others[-1]}"


def _shortest(chunks: list[list[str]]) -> str:
    first, *others = ("".join(chunk) for chunk in chunks)
    return first + "".join(f"(?>.*?{chunk})" for chunk in others)


def _bracket_end(pattern: str, start: int) -> int:
    """The position of the closing bracket, or -1; a bracket right after the opening one is an ordinary member."""
    first = start + 1 if pattern[start : start + 1] in ("!", "^") else start
    position = first + 1
    while position < len(pattern):
        if pattern.startswith("[:", position):
            position = max(position, pattern.find(":]", position) + 1)
        elif pattern[position] == "]":
            return position
        position += 1
    return -1


_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9a-fA-F",
}


def _bracket(members: str) -> str:
    negated = members[:1] in ("!", "^")
    body = re.sub(r"([\\\]\[^&~|])", r"\\\1", members[1:] if negated else members)
    body = re.sub(r"\\\[:([a-z]+):\\\]", lambda match: _CLASSES.get(match[1], ""), body)
    candidate = f"[{'^' if negated else ''}{body}]"
    try:
        re.compile(candidate)
    except re.error:  # a reversed range matches nothing
        return "(?!)"
    return candidate


def remove_prefix(text: str, pattern: str, longest: bool) -> str:
    compile_pattern(pattern, len(text))
    chunks = _chunks(pattern)
    match = re.compile(_longest(chunks) if longest else _shortest(chunks), re.DOTALL).match(text)
    return text[match.end() :] if match else text


def remove_suffix(text: str, pattern: str, longest: bool) -> str:
    """Remove a suffix: a prefix of the reversed text, matched by the reversed parts."""
    compile_pattern(pattern, len(text))
    chunks = [chunk[::-1] for chunk in reversed(_chunks(pattern))]
    match = re.compile(_longest(chunks) if longest else _shortest(chunks), re.DOTALL).match(text[::-1])
    return text[: len(text) - match.end()] if match else text


def substitute(text: str, pattern: str, replacement: str, replace_all: bool) -> str:
    """`${x/pattern/replacement}`: replaces the longest leftmost match, or all matches."""
    if not pattern:
        return text
    compile_pattern(pattern, len(text))
    first, *others = _chunks(pattern)
    head = re.compile("".join(first), re.DOTALL)
    tail = re.compile(_longest([[], *others]), re.DOTALL)
    pieces: list[str] = []
    position = 0
    # If the part after the first star does not match after one position, it does not match after a later one.
    while (
        (position < len(text) or not pieces)
        and (start := head.search(text, position))
        and (end := tail.match(text, start.end()))
    ):
        pieces += (text[position : start.start()], replacement)
        position = end.end()
        if not replace_all:
            break
    return "".join((*pieces, text[position:]))
