"""Shell patterns compared with a brute-force matcher, and their cost."""

from __future__ import annotations

import random
from functools import cache

import pytest

from kubesim.shell.language.patterns import (
    PatternTooLong,
    compile_pattern,
    remove_prefix,
    remove_suffix,
    substitute,
)


@cache
def matches(pattern: str, text: str) -> bool:
    """A brute-force matcher."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(matches(pattern[1:], text[start:]) for start in range(len(text) + 1))
    if pattern.startswith("[ab]"):
        return text[:1] in ("a", "b") and matches(pattern[4:], text[1:])
    return bool(text) and pattern[0] in ("?", text[0]) and matches(pattern[1:], text[1:])


def test_random_patterns_match_like_brute_force() -> None:
    draw = random.Random(24)
    for _ in range(2000):
        pattern = "".join(draw.choice(["a", "b", "*", "*", "?", "[ab]"]) for _ in range(draw.randrange(6)))
        text = "".join(draw.choice("abc") for _ in range(draw.randrange(7)))
        sizes = range(len(text) + 1)
        prefixes = [size for size in sizes if matches(pattern, text[:size])]
        suffixes = [size for size in sizes if matches(pattern, text[len(text) - size :])]
        shown = (pattern, text)
        assert bool(compile_pattern(pattern, len(text)).fullmatch(text)) == matches(pattern, text), shown
        assert remove_prefix(text, pattern, longest=False) == text[min(prefixes, default=0) :], shown
        assert remove_prefix(text, pattern, longest=True) == text[max(prefixes, default=0) :], shown
        assert remove_suffix(text, pattern, longest=False) == text[: len(text) - min(suffixes, default=0)], shown
        assert remove_suffix(text, pattern, longest=True) == text[: len(text) - max(suffixes, default=0)], shown


def test_random_substitutions_replace_the_longest_leftmost_match() -> None:
    draw = random.Random(24)
    for _ in range(1000):
        pattern = "".join(draw.choice(["a", "b", "*", "?"]) for _ in range(1 + draw.randrange(4)))
        text = "".join(draw.choice("abc") for _ in range(1 + draw.randrange(6)))
        spans = [
            (start, -end)
            for start in range(len(text))
            for end in range(start + 1, len(text) + 1)
            if matches(pattern, text[start:end])
        ]
        start, end = min(spans, default=(0, 0))
        expected = f"{text[:start]}-{text[-end:]}" if spans else text
        assert substitute(text, pattern, "-", replace_all=False) == expected, (pattern, text)


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [("a.b.c", ".", "a-b-c"), ("abc", "*", "-"), ("aXbXc", "X*", "a-"), ("", "*", "-"), ("aaa", "aa", "-a")],
)
def test_all_matches_are_replaced(text: str, pattern: str, expected: str) -> None:
    assert substitute(text, pattern, "-", replace_all=True) == expected


def test_many_stars_are_cheap() -> None:
    """A backtracking matcher would not finish."""
    text, pattern = "a" * 10_000, "*a" * 100 + "b"
    assert not compile_pattern(pattern, len(text)).fullmatch(text)
    assert remove_prefix(text, pattern, longest=True) == remove_suffix(text, pattern, longest=False) == text
    assert substitute(text, "a*b", "-", replace_all=True) == text


def test_long_patterns_with_long_texts_are_rejected() -> None:
    with pytest.raises(PatternTooLong, match="pattern too long for this text"):
        compile_pattern("?" * 5000, 1 << 20)
