"""Finds the parts of a text that could be the answer itself, without the words around it.

`12s plus up to 5s`, `there is no back-off, so immediately`, `30 - 5 = 25`, `still Pending`. Pure functions over text;
`reading.py` parses the parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
NUMBER_WORDS = {word: value for value, word in enumerate(_ONES)} | _TENS
_COMPOUND = re.compile(rf"\b({'|'.join(_TENS)})[- ]({'|'.join(_ONES[1:10])})\b")
_PARENTHESES = re.compile(r"\s*\([^()]*\)")
_INSIDE_PARENTHESES = re.compile(r"\(([^()]*)\)")
_REJECTED = re.compile(r",?\s*\b(?:not|instead of|rather than|without|but no)\s+(?:the\s+)?[\w./-]+")
_CLAUSE = re.compile(r"[,;:]\s+|[,;:]$|\.\s|\s[-–]\s|\b(?:so|because|since|but|as soon as|which|when|until)\b")
_FILLER = re.compile(
    r"^(?:(?:it|he|this|that|they|there|pod|pods|container|containers|answer|option|phase|reason|state|status|event"
    r"|call|plugin|operation|address|number|count|restartcount|back-off|i think|i guess|is|are|will be|would be|was|has"
    r"|takes|gets|happens|fails|starts|still|stays|both|only|just|exactly|always|all|with|at|after|in|for|the|a|an|of"
    r"|first|then|about|back to|again)\b[\s:=]*)+"
)
_TRAILING = re.compile(
    r"[\s,]+(?:in total|in all|altogether|again|later|first|left|are left|is left|too|then|tops|of them)$"
)


def as_digits(text: str) -> str:
    """Number words as digits: `twenty-five` becomes `25`; other words are unchanged."""
    return _COMPOUND.sub(lambda found: str(_TENS[found[1]] + NUMBER_WORDS[found[2]]), text)


def parts(text: str) -> Iterator[list[str]]:
    """The parts of a text that could be the answer, the most likely first. Every list has parts of one kind."""
    text = as_digits(text.lower())
    if "=" in text:
        yield [text.rpartition("=")[2].strip(" \"'")]
    beside = _INSIDE_PARENTHESES.findall(text)
    text = _REJECTED.sub(" ", _PARENTHESES.sub("", text)).strip(" ,;.")
    if re.search(r"\bso\b", text):
        yield [text.rpartition("so ")[2]]
    clauses = [clause.strip(" .\"'") for clause in _CLAUSE.split(text) if clause.strip()]
    yield [text]
    yield clauses
    yield [_TRAILING.sub("", _FILLER.sub("", clause)).strip() for clause in [text, *clauses]]
    yield beside


def the_one_in(text: str, read: Callable[[str], T | None]) -> T | None:
    """The meaning of the longest run of words that can be parsed; None if the other words contradict it."""
    words = as_digits(_REJECTED.sub(" ", _PARENTHESES.sub("", text.lower()))).replace(",", " ").split()
    for length in range(len(words), 0, -1):
        for first in range(len(words) - length + 1):
            found = read(" ".join(words[first : first + length]).strip(" .;:\"'"))
            if found is not None:
                others = (words[:first], words[first + length :])
                said = [the_one_in(" ".join(other), read) for other in others]
                return None if any(each not in (None, found) for each in said) else found
    return None


def terms(text: str) -> list[str]:
    """The terms of a sum: `25s + 20s plus up to 10s`. A single term means that the text is not a sum."""
    return [term.strip() for term in re.split(r"\s*\+\s*|\s+(?:plus|and another|and then)\s+", text) if term.strip()]
