"""Shell patterns (`*`, `?`, `[a-z]`, `[!x]`, backslash) as regular expressions: for case, files, `${x#pattern}`."""

from __future__ import annotations

import re
from functools import lru_cache

MAGIC = re.compile(r"[*?]|\[.+\]")  # a lone bracket, as in the command `[`, is none


def escape(text: str) -> str:
    """Text as a pattern that matches only itself."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """The expression that matches what the whole pattern matches."""
    return re.compile(translate(pattern), re.DOTALL)


def translate(pattern: str) -> str:
    pieces: list[str] = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        position += 1
        if char == "*":
            pieces.append(".*")
        elif char == "?":
            pieces.append(".")
        elif char == "\\" and position < len(pattern):
            pieces.append(re.escape(pattern[position]))
            position += 1
        elif char == "[" and (end := _bracket_end(pattern, position)) > 0:
            pieces.append(_bracket(pattern[position:end]))
            position = end + 1
        else:
            pieces.append(re.escape(char))
    return "".join(pieces)


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
    compiled = compile_pattern(pattern)
    lengths = range(len(text), -1, -1) if longest else range(len(text) + 1)
    for length in lengths:
        if compiled.fullmatch(text, 0, length):
            return text[length:]
    return text


def remove_suffix(text: str, pattern: str, longest: bool) -> str:
    compiled = compile_pattern(pattern)
    starts = range(len(text) + 1) if longest else range(len(text), -1, -1)
    for start in starts:
        if compiled.fullmatch(text, start):
            return text[:start]
    return text


def substitute(text: str, pattern: str, replacement: str, every: bool) -> str:
    """`${x/pattern/replacement}`: the longest match that begins first, or all of them."""
    if not pattern:
        return text
    return re.sub(translate(pattern), lambda _: replacement, text, count=0 if every else 1, flags=re.DOTALL)
