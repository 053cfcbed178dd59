"""Shell patterns (`*`, `?`, `[a-z]`, `[!x]`, backslash) as regular expressions: for case, files, `${x#pattern}`.

The expressions are made so that matching takes at most the length of the pattern times that of the text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kubesim.shell.limits import LONG_TEXT, PATTERN_WORK

MAGIC = re.compile(r"[*?]|\[.+\]")  # a lone bracket, as in the command `[`, is none
_LONGEST_PATTERN = 16_384


def escape(text: str) -> str:
    """Text as a pattern that matches only itself."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


class PatternTooLong(Exception):
    """A pattern and a text that would take too long to match."""

    def __init__(self) -> None:
        super().__init__("pattern too long for this text")


def compile_pattern(pattern: str, size: int) -> re.Pattern[str]:
    """The expression that matches what the whole pattern matches, for a text of this size."""
    if size > LONG_TEXT or len(pattern) > LONG_TEXT:
        if size * len(pattern) > PATTERN_WORK or len(pattern) > _LONGEST_PATTERN:
            raise PatternTooLong
    return _compile(pattern)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(_longest(_chunks(pattern)), re.DOTALL)


def _chunks(pattern: str) -> list[list[str]]:
    """What is between the stars: expressions for one character each."""
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
    """The expression for the longest text from here that the chunks match, with any text between them.

    Each part but the last matches at its first occurrence, without backtracking: if there is a match at all, there is
    one with them there. So each chunk is searched for once, however many stars there are.
    """
    first, *others = ("".join(chunk) for chunk in chunks)
    if not others:
        return first
    return first + "".join(f"(?>.*?{chunk})" for chunk in others[:-1]) + f".*{others[-1]}"


def _shortest(chunks: list[list[str]]) -> str:
    first, *others = ("".join(chunk) for chunk in chunks)
    return first + "".join(f"(?>.*?{chunk})" for chunk in others)


def _bracket_end(pattern: str, start: int) -> int:
    """Where the closing bracket is; a bracket right after the opening one is an ordinary member. -1 if none closes."""
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
    except re.error:  # a range that runs backwards matches nothing
        return "(?!)"
    return candidate


def remove_prefix(text: str, pattern: str, longest: bool) -> str:
    compile_pattern(pattern, len(text))
    chunks = _chunks(pattern)
    match = re.compile(_longest(chunks) if longest else _shortest(chunks), re.DOTALL).match(text)
    return text[match.end() :] if match else text


def remove_suffix(text: str, pattern: str, longest: bool) -> str:
    """A suffix is a prefix of the text read backwards, and so are the chunks of its pattern."""
    compile_pattern(pattern, len(text))
    chunks = [chunk[::-1] for chunk in reversed(_chunks(pattern))]
    match = re.compile(_longest(chunks) if longest else _shortest(chunks), re.DOTALL).match(text[::-1])
    return text[: len(text) - match.end()] if match else text


def substitute(text: str, pattern: str, replacement: str, replace_all: bool) -> str:
    """`${x/pattern/replacement}`: the longest match that begins first, or all of them."""
    if not pattern:
        return text
    compile_pattern(pattern, len(text))
    first, *others = _chunks(pattern)
    head = re.compile("".join(first), re.DOTALL)
    tail = re.compile(_longest([[], *others]), re.DOTALL)
    pieces: list[str] = []
    position = 0
    # Where what follows the first star does not match behind one place, it does not match behind a later one either.
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
