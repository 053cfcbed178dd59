"""`Answer`: whether a question is true of an object, with the observed value in words."""

from __future__ import annotations

from kubesim.values import value_object


@value_object
class Answer:
    """The answer to a question. `known` is False if the object lacks the part in question, such as a container.
    `number` is the count, if the question is about a number."""

    holds: bool
    seen: str
    known: bool = True
    number: int = 0


def counted(number: int | str, noun: str) -> str:
    """`1 restart`, `3 restarts`, `at least 1 restart`."""
    one = str(number) == "1" or str(number).endswith(" 1")
    return f"{number} {noun}" if one else f"{number} {noun}s"


def times(number: int) -> str:
    """A number of times in words: `never`, `once`, `3 times`."""
    return {0: "never", 1: "once"}.get(number, f"{number} times")
