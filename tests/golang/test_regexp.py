"""Regular expressions in linear time: syntax, matches compared with Python's re, and cost."""

from __future__ import annotations

import random
import re

import pytest

from kubesim.golang.regexp import BadExpression, Dialect, TooMuchWork, compile_regexp


@pytest.mark.parametrize(
    ("dialect", "expression", "text", "span"),
    [
        ("basic", "a+b", "xa+b", (1, 4)),
        ("basic", r"a\+b", "aab", (0, 3)),
        ("basic", r"\(ab\)\{2\}", "ababab", (0, 4)),
        ("basic", r"a\|bc", "bc", (0, 2)),
        ("basic", "^*a", "*a", (0, 2)),
        ("basic", "a^b$c", "a^b$c", (0, 5)),
        ("basic", "(a)", "(a)", (0, 3)),
        ("extended", "a|ab|abc", "xabcd", (1, 4)),
        ("extended", "(a|ab)(c|bcd)", "abcd", (0, 4)),
        ("extended", "[[:digit:]]+-[^[:space:]]*", "x 12-ab c", (2, 7)),
        ("extended", "[]a-c-]+", "x]-b", (1, 4)),
        ("extended", r"\<is\>", "this is", (5, 7)),
        ("extended", r"\bb\w*\W", "ab bc!", (3, 6)),
        ("extended", "^$", "", (0, 0)),
        ("extended", "a{2,3}", "aaaa", (0, 3)),
        ("extended", "x*", "aaa", (0, 0)),
        ("go", "a|ab", "ab", (0, 1)),
        ("go", "<.*?>", "<a><b>", (0, 3)),
        ("go", r"(?:a\.)+\d", "a.a.7", (0, 5)),
        ("go", r"[\d.]+", "v1.36", (1, 5)),
    ],
)
def test_the_leftmost_match(dialect: Dialect, expression: str, text: str, span: tuple[int, int]) -> None:
    compiled = compile_regexp(expression, dialect)
    match = compiled.search(text)
    assert match is not None
    assert match.spans[0] == span
    assert compiled.found_in(text)


def test_groups_contain_the_last_repetition() -> None:
    match = compile_regexp(r"\(\([a-z]\)[0-9]\)*\(x\)*", "basic").search("a1b2")
    assert match is not None
    assert [match.group(number) for number in range(4)] == ["a1b2", "b2", "b", ""]


def test_case_can_be_ignored() -> None:
    compiled = compile_regexp("[a-c]x", "extended", ignore_case=True)
    assert compiled.found_in("BX")
    assert not compiled.found_in("DX")


def test_all_matches() -> None:
    spans = [match.spans[0] for match in compile_regexp("a*", "extended").matches("baac")]
    assert spans == [(0, 0), (1, 3), (4, 4)]


@pytest.mark.parametrize(
    ("dialect", "expression", "problem"),
    [
        ("extended", "(a", "Unmatched ( or )"),
        ("extended", "a)", "Unmatched ( or )"),
        ("basic", r"\(a", "Unmatched ( or )"),
        ("basic", "[a", "Unmatched [, [^, [:, [., or [="),
        ("basic", "[b-a]", "Invalid range end"),
        ("basic", "[[:x:]]", "Invalid character class name"),
        ("basic", "a\\", "Trailing backslash"),
        ("basic", r"\(a\)\1", "Invalid back reference"),
        ("extended", "a{3,2}", "Invalid content of \\{\\}"),
        ("extended", "a{256}", "Invalid content of \\{\\}"),
        ("extended", "((a{99}){99}){99}", "Regular expression too big"),
        ("extended", "(" * 99 + ")" * 99, "Regular expression too big"),
        ("go", "*a", "missing argument to repetition operator: `*`"),
        ("go", "(?=a)", "invalid or unsupported Perl syntax: `(?`"),
    ],
)
def test_invalid_expressions(dialect: Dialect, expression: str, problem: str) -> None:
    with pytest.raises(BadExpression, match=re.escape(problem)):
        compile_regexp(expression, dialect)


def _random_expression(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        return draw.choice(["a", "b", "c", ".", "[ab]", "[^a]"])
    inner = _random_expression(draw, depth - 1)
    if kind < 0.5:
        return inner + _random_expression(draw, depth - 1)
    if kind < 0.65:
        return f"({inner}|{_random_expression(draw, depth - 1)})"
    # Python ends a loop at an empty iteration, Go does not.
    return f"({inner})" + ("" if re.fullmatch(inner, "") else draw.choice(["", "*", "+", "?", "{1,2}", "{2}"]))


def _longest_leftmost(expression: str, text: str) -> tuple[int, int] | None:
    compiled = re.compile(expression)
    for start in range(len(text) + 1):
        ends = [end for end in range(start, len(text) + 1) if compiled.fullmatch(text, start, end)]
        if ends:
            return start, max(ends)
    return None


def test_random_expressions_match_like_re() -> None:
    draw = random.Random(24)
    for _ in range(500):
        expression = _random_expression(draw, 3)
        text = "".join(draw.choice("abc") for _ in range(draw.randrange(9)))
        posix, go, python = (
            compile_regexp(expression, "extended"),
            compile_regexp(expression, "go"),
            re.compile(expression),
        )
        longest, first, wanted = posix.search(text), go.search(text), python.search(text)
        assert (longest and longest.spans[0]) == _longest_leftmost(expression, text), (expression, text)
        assert posix.found_in(text) == go.found_in(text) == (wanted is not None), (expression, text)
        assert (first and first.spans) == (wanted and tuple(wanted.regs)), (expression, text)


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|a)*c", "(a*)*b", "(.*)(.*)(.*)(.*)(.*)x", "(a|aa)+$"])
def test_work_is_linear_in_the_text(expression: str) -> None:
    works = []
    for size in (1000, 2000):
        compiled = compile_regexp(f"{expression}{{1}}", "extended")  # one for each test
        before = compiled.work
        assert compiled.search("a" * size + "!") is None
        works.append(compiled.work - before)
    assert works[1] <= 2.1 * works[0]


def test_a_text_that_is_too_long_is_rejected() -> None:
    compiled = compile_regexp("(((a|b|c)*(a|b|c)*){9}){9}$", "extended")
    with pytest.raises(TooMuchWork, match="regular expression too big for this text"):
        compiled.search("abc" * 10_000 + "!")
