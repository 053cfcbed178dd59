"""Quantities in expectations: numbers with bounds, and texts."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.strict import Strict


def _regular_expression(text: str) -> str:
    from kubesim.golang.regexp import BadExpression, compile_regexp  # most scenarios have no regular expressions

    try:
        compile_regexp(text, "go")
    except BadExpression as error:
        raise PydanticCustomError("pattern", "{problem}", {"problem": str(error)}) from None
    return text


def matches(pattern: str, text: str) -> bool:
    from kubesim.golang.regexp import compile_regexp

    return compile_regexp(pattern, "go").search(text) is not None


Pattern = Annotated[str, AfterValidator(_regular_expression)]
Number = Annotated[int, Field(ge=0)]


class Bounds(Strict):
    """`3` is exactly 3; `{atLeast: 3}`, `{atMost: 5}`, or both."""

    equals: Number | None = None  # exactly this many; `3` is short for `{equals: 3}`
    at_least: Number | None = None  # this many or more: `{atLeast: 3}`
    at_most: Number | None = None  # this many or fewer: `{atMost: 5}`

    @model_validator(mode="after")
    def _say_something(self) -> Bounds:
        if (self.equals is None) == (self.at_least is None and self.at_most is None):
            raise PydanticCustomError("bounds", "give a number, or atLeast and atMost")
        if not self.lowest and self.highest is None:
            raise PydanticCustomError("bounds", "atLeast: 0 is true of every number")
        if self.lowest > (self.highest if self.highest is not None else self.lowest):
            raise PydanticCustomError("bounds", "atLeast is greater than atMost")
        return self

    @property
    def lowest(self) -> int:
        return self.equals if self.equals is not None else self.at_least or 0

    @property
    def highest(self) -> int | None:
        return self.equals if self.equals is not None else self.at_most

    def hold(self, number: int) -> bool:
        return number >= self.lowest and not self.exceeded_by(number)

    def exceeded_by(self, number: int) -> bool:
        return self.highest is not None and number > self.highest

    @property
    def text(self) -> str:
        """The bounds in words: `3`, `at least 3`, `at most 5`, `3 to 5`."""
        if self.equals is not None:
            return str(self.equals)
        if self.at_most is None:
            return f"at least {self.at_least}"
        return f"at most {self.at_most}" if self.at_least is None else f"{self.at_least} to {self.at_most}"


class TextPart(Strict):
    """`some text` is a part of it; `{equals: ...}` is all of it, `{matches: ...}` a regular expression in Go syntax."""

    # A part of the text; `some text` is short for `{contains: some text}`
    contains: str | None = Field(default=None, min_length=1)
    equals: str | None = None  # the whole text: `{equals: "line 1"}`
    matches: Pattern | None = None  # a regular expression that matches some part of it: `{matches: "^GET /.* 200$"}`

    @model_validator(mode="after")
    def _one_way(self) -> TextPart:
        if sum(way is not None for way in (self.contains, self.equals, self.matches)) != 1:
            raise PydanticCustomError("text", "give a text, equals or matches")
        return self

    def fits(self, text: str) -> bool:
        if self.contains is not None:
            return self.contains in text
        if self.equals is not None:
            return self.equals == text
        return matches(self.matches or "", text)

    @property
    def text(self) -> str:
        if self.contains is not None:
            return repr(self.contains)
        return repr(self.equals) + " exactly" if self.equals is not None else f"text that matches {self.matches!r}"
