"""Field errors: kind, path, value and detail, formatted as by the API server.

A path is plain text (`spec.containers[0].name`). Validators append to an `Errors` in upstream's order.

Mirrors: apimachinery/pkg/util/validation/field errors.go
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from kubesim.golang.json import dumps, quote
from kubesim.golang.text import quoted
from kubesim.values import value_object

JsonObject = dict[str, Any]
ErrorType = Literal[
    "Not found",
    "Required value",
    "Duplicate value",
    "Invalid value",
    "Unsupported value",
    "Forbidden",
    "Too long",
    "Too many",
    "Internal error",
]
_WITHOUT_VALUE = {"Required value", "Forbidden", "Too long", "Internal error"}

# The machine-readable reason in the details of an API error.
CAUSES: dict[ErrorType, str] = {
    "Not found": "FieldValueNotFound",
    "Required value": "FieldValueRequired",
    "Duplicate value": "FieldValueDuplicate",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
}


class Named(str):
    """A value of a named string type (a policy, an operator). Upstream prints it as JSON, and plain strings as Go
    text."""

    __slots__ = ()


class Raw(str):
    """A value that is printed unchanged."""

    __slots__ = ()


OMITTED = Raw()  # the value of errors without a printed value


@value_object
class FieldError:
    type: ErrorType
    field: str
    value: Any = ""
    detail: str = ""

    def body(self) -> str:
        """The message without the field's name."""
        text: str = self.type
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {_printed(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


def _printed(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Named):
        return quote(value)
    return quoted(value) if isinstance(value, str) else dumps(value)


class Errors(list[FieldError]):
    """The errors found so far, in order."""

    def required(self, path: str, detail: str = "") -> None:
        self.append(FieldError("Required value", path, detail=detail))

    def forbidden(self, path: str, detail: str) -> None:
        self.append(FieldError("Forbidden", path, detail=detail))

    def invalid(self, path: str, value: Any, detail: str) -> None:
        self.append(FieldError("Invalid value", path, value, detail))

    def all_invalid(self, path: str, value: Any, details: Iterable[str]) -> None:
        for detail in details:
            self.invalid(path, value, detail)

    def duplicate(self, path: str, value: Any) -> None:
        self.append(FieldError("Duplicate value", path, value))

    def not_found(self, path: str, value: Any, detail: str = "") -> None:
        self.append(FieldError("Not found", path, value, detail))

    def unsupported(self, path: str, value: str, supported: Iterable[str]) -> None:
        """Add an error for an unsupported value of an enumerated type."""
        detail = "supported values: " + ", ".join(quoted(text) for text in supported)
        self.append(FieldError("Unsupported value", path, Named(value), detail))

    def too_long(self, path: str, limit: int) -> None:
        self.append(FieldError("Too long", path, detail=f"may not be more than {limit} bytes"))

    def too_many(self, path: str, count: int, limit: int) -> None:
        self.append(FieldError("Too many", path, count, f"must have at most {limit} items"))

    def unless_one_of(self, path: str, value: str, supported: Collection[str], listed: Collection[str] = ()) -> None:
        """Add an error unless the value is supported. The message lists `supported` in the given order, or `listed`."""
        if value not in supported:
            self.unsupported(path, value, listed or supported)

    def nonnegative(self, path: str, value: int) -> None:
        if value < 0:
            self.invalid(path, value, "must be greater than or equal to 0")

    def positive(self, path: str, value: int) -> None:
        if value <= 0:
            self.invalid(path, value, "must be greater than zero")

    def __str__(self) -> str:
        return "[" + " ".join(str(error) for error in self) + "]"
