"""CEL expressions that select devices, as far as DeviceClasses and ResourceClaims commonly use them.

Supported are literals, lists, `device.driver`, `device.attributes[domain].name`, `device.capacity[domain].name`,
`device.allowMultipleAllocations`, comparisons, `in`, `has`, `&&`, `||`, `!`, `?:`, `cel.bind`, quantities and versions
(`quantity`, `semver`; `compareTo`, `isGreaterThan`, `isLessThan`) and `startsWith`, `endsWith`, `contains` and
`matches`. Any other expression is a `CelError` when it is compiled, so that no selector is silently ignored.

Mirrors: k8s.io/dynamic-resource-allocation/cel/compile.go CompileCELExpression, DeviceMatches
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from kubesim.api.quantity import Quantity, quantity
from kubesim.errors import KubesimError
from kubesim.golang.regexp import BadExpression, TooMuchWork, compile_regexp
from kubesim.golang.text import quoted
from kubesim.values import value_object

Scope = Mapping[str, Any]
Evaluate = Callable[[Scope], Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<mark>&&|\|\||==|!=|<=|>=|[-<>!?:.,()\[\]]))"""
)
_SEMVER = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}
_DEVICE = ("driver", "attributes", "capacity", "allowMultipleAllocations")
_ARITY = {"compareTo": 1, "isGreaterThan": 1, "isLessThan": 1, "startsWith": 1, "endsWith": 1, "contains": 1,
          "matches": 1}  # fmt: skip


class CelError(KubesimError):
    """An expression that cannot be compiled, or a value for which it cannot be evaluated."""


@value_object
class Semver:
    """A semantic version. Numeric identifiers precede alphanumeric ones; a pre-release precedes its release."""

    text: str

    @property
    def order(self) -> tuple[tuple[int, int, int], bool, tuple[tuple[bool, int, str], ...]]:
        found = _SEMVER.fullmatch(self.text)
        assert found is not None
        numbers = (int(found[1]), int(found[2]), int(found[3]))
        parts = (found[4] or "").split(".") if found[4] else []
        return numbers, not parts, tuple((not p.isdigit(), int(p) if p.isdigit() else 0, p) for p in parts)


def semver(text: str) -> Semver:
    if not _SEMVER.fullmatch(text):
        raise CelError(f"parse semantic version: {text} is not a version")
    return Semver(text)


def device_matches(expression: str, driver: str, device: Mapping[str, Any]) -> bool:
    """Whether a device of a ResourceSlice matches; raises CelError."""
    found = compile_expression(expression)({"device": _device(driver, device)})
    if not isinstance(found, bool):
        raise CelError(f"CEL result of type {_type_name(found)} could not be converted to bool")
    return found


def _device(driver: str, device: Mapping[str, Any]) -> Scope:
    attributes, capacity = _Domains(), _Domains()
    for name, value in (device.get("attributes") or {}).items():
        attributes.add(driver, name, _attribute(name, value))
    for name, value in (device.get("capacity") or {}).items():
        capacity.add(driver, name, quantity(value.get("value", "0")))
    multiple = bool(device.get("allowMultipleAllocations"))
    return {"driver": driver, "attributes": attributes, "capacity": capacity, "allowMultipleAllocations": multiple}


def _attribute(name: str, value: Mapping[str, Any]) -> Any:
    for field in ("int", "bool", "string"):
        if value.get(field) is not None:
            return value[field]
    if value.get("version") is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return semver(value["version"])


class _Domains(dict[str, dict[str, Any]]):
    """Attributes or capacities by domain and name. A domain without values is an empty map."""

    def add(self, driver: str, name: str, value: Any) -> None:
        domain, slash, rest = name.partition("/")
        self.setdefault(domain if slash else driver, {})[rest if slash else name] = value

    def __missing__(self, domain: str) -> dict[str, Any]:
        return {}


@lru_cache(maxsize=256)
def compile_expression(expression: str) -> Evaluate:
    """Compile an expression to a function of its variables; raises CelError."""
    parser = _Parser(expression)
    found = parser.ternary()
    parser.end()
    return found


class _Parser:
    """A recursive-descent parser by precedence: `?:`, `||`, `&&`, relations, `!`, members."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = list(self._split())
        self._next = 0
        self._variables = ["device"]

    def _split(self) -> list[tuple[str, str]]:
        tokens, position, text = [], 0, self._expression.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None:
                raise self._unsupported(text[position:].strip()[:1])
            assert found.lastgroup is not None
            tokens.append((found.lastgroup, found[found.lastgroup]))
            position = found.end()
        return tokens

    def _unsupported(self, what: str) -> CelError:
        return CelError(
            f"compilation failed: {quoted(what)} is not supported here: use comparisons of device.driver, "
            'device.attributes["domain"].name and device.capacity["domain"].name'
        )

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "")

    def _take(self, *marks: str) -> str:
        kind, text = self._peek()
        if (kind == "mark" or text == "in") and text in marks:
            self._next += 1
            return text
        return ""

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            kind, text = self._peek()
            found = "the end" if kind == "end" else quoted(text)
            raise CelError(f"compilation failed: Syntax error: expected {quoted(mark)}, found {found}")

    def end(self) -> None:
        kind, text = self._peek()
        if kind != "end":
            raise self._unsupported(text)

    def ternary(self) -> Evaluate:
        condition = self._either()
        if not self._take("?"):
            return condition
        chosen = self.ternary()
        self._expect(":")
        other = self.ternary()
        return lambda scope: chosen(scope) if _truth(condition(scope)) else other(scope)

    def _either(self) -> Evaluate:
        found = self._both()
        while self._take("||"):
            found = _logic(found, self._both(), decisive=True)
        return found

    def _both(self) -> Evaluate:
        found = self._relation()
        while self._take("&&"):
            found = _logic(found, self._relation(), decisive=False)
        return found

    def _relation(self) -> Evaluate:
        left = self._unary()
        mark = self._take("==", "!=", "<=", ">=", "<", ">", "in")
        if not mark:
            return left
        right = self._unary()
        if mark in ("==", "!="):
            return lambda scope: _equal(left(scope), right(scope)) == (mark == "==")
        if mark == "in":
            return lambda scope: _contains(right(scope), left(scope))
        return lambda scope: _compare(mark, left(scope), right(scope))

    def _unary(self) -> Evaluate:
        if self._take("!"):
            inner = self._unary()
            return lambda scope: not _truth(inner(scope))
        if self._take("-"):
            kind, text = self._peek()
            if kind != "number":
                raise self._unsupported(text)
            self._next += 1
            value = -_number(text)
            return lambda scope: value
        return self._members()

    def _members(self) -> Evaluate:
        found, path = self._primary()
        while True:
            if self._take("["):
                key = self.ternary()
                self._expect("]")
                found, path = _indexed(found, key), ""
            elif self._take("."):
                kind, name = self._peek()
                if kind != "name":
                    raise self._unsupported(name)
                self._next += 1
                if path == "device" and name not in _DEVICE:
                    raise CelError(f"compilation failed: undefined field '{name}'")
                found = self._called(found, name) if self._take("(") else _selected(found, name)
                path = ""
            else:
                return found

    def _called(self, target: Evaluate, name: str) -> Evaluate:
        if name not in _ARITY:
            raise self._unsupported(f"{name}()")
        argument = self.ternary()
        self._expect(")")
        return lambda scope: _method(name, target(scope), argument(scope))

    def _primary(self) -> tuple[Evaluate, str]:
        if self._take("("):
            found = self.ternary()
            self._expect(")")
            return found, ""
        if self._take("["):
            return self._list(), ""
        kind, text = self._peek()
        self._next += 1
        if kind == "number":
            number = _number(text)
            return lambda scope: number, ""
        if kind == "text":
            literal = re.sub(r"\\(.)", r"\1", text[1:-1])
            return lambda scope: literal, ""
        if kind == "name":
            return self._named(text)
        if kind == "end":
            raise CelError("compilation failed: Syntax error: the expression ends too early")
        raise self._unsupported(text)

    def _list(self) -> Evaluate:
        items: list[Evaluate] = []
        while not self._take("]"):
            if items:
                self._expect(",")
            items.append(self.ternary())
        return lambda scope: [item(scope) for item in items]

    def _named(self, name: str) -> tuple[Evaluate, str]:
        if name in ("true", "false"):
            return lambda scope: name == "true", ""
        if name in self._variables:
            return lambda scope: scope[name], name
        if name == "cel" and self._take("."):
            return self._bind(), ""
        if name in ("quantity", "semver", "has") and self._take("("):
            argument = self.ternary()
            self._expect(")")
            if name == "has":
                return lambda scope: _has(argument, scope), ""
            return lambda scope: _converted(name, argument(scope)), ""
        raise CelError(f"compilation failed: undeclared reference to '{name}' (in container '')")

    def _bind(self) -> Evaluate:
        _, function = self._peek()
        self._next += 1
        self._expect("(")
        kind, name = self._peek()
        if function != "bind" or kind != "name":
            raise self._unsupported(f"cel.{function}()")
        self._next += 1
        self._expect(",")
        value = self.ternary()
        self._expect(",")
        self._variables.append(name)
        body = self.ternary()
        self._variables.pop()
        self._expect(")")
        return lambda scope: body({**scope, name: value(scope)})


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _type_name(value: Any) -> str:
    names = {bool: "bool", int: "int", float: "double", str: "string", list: "list", Quantity: "kubernetes.Quantity"}
    return names.get(type(value), "kubernetes.Semver" if isinstance(value, Semver) else "map")


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def _logic(left: Evaluate, right: Evaluate, *, decisive: bool) -> Evaluate:
    """`&&` or `||`: a side with the `decisive` value determines the result, even if the other side is an error."""

    def evaluate(scope: Scope) -> bool:
        try:
            if _truth(left(scope)) == decisive:
                return decisive
        except CelError:
            if _truth(right(scope)) == decisive:
                return decisive
            raise
        return _truth(right(scope))

    return evaluate


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, Semver) and isinstance(right, Semver):
        return left.order == right.order
    return bool(left == right)


def _compare(mark: str, left: Any, right: Any) -> bool:
    numbers = all(isinstance(side, int | float) for side in (left, right))
    if isinstance(left, bool) != isinstance(right, bool) or not (
        numbers or (isinstance(left, str) and type(left) is type(right))
    ):
        raise CelError("no such overload")
    return _COMPARISONS[mark](left, right)


def _contains(container: Any, item: Any) -> bool:
    if not isinstance(container, dict | list):
        raise CelError("no such overload")
    return any(_equal(each, item) for each in container)


def _indexed(target: Evaluate, key: Evaluate) -> Evaluate:
    return lambda scope: _at(target(scope), key(scope))


def _selected(target: Evaluate, name: str) -> Evaluate:
    return lambda scope: _at(target(scope), name)


def _at(container: Any, key: Any) -> Any:
    if isinstance(container, _Domains) and isinstance(key, str):
        return container[key]
    if isinstance(container, dict) and isinstance(key, str):
        if key not in container:
            raise CelError(f"no such key: {key}")
        return container[key]
    if isinstance(container, list) and isinstance(key, int) and not isinstance(key, bool):
        if not 0 <= key < len(container):
            raise CelError(f"index out of bounds: {key}")
        return container[key]
    raise CelError("no such overload")


def _has(argument: Evaluate, scope: Scope) -> bool:
    try:
        argument(scope)
    except CelError as error:
        if str(error).startswith("no such key"):
            return False
        raise
    return True


def _converted(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise CelError("no such overload")
    if name == "semver":
        return semver(value)
    try:
        return quantity(value)
    except ValueError as error:
        raise CelError(str(error)) from None


def _found(expression: str, text: str) -> bool:
    try:
        return compile_regexp(expression, "go").found_in(text)
    except (BadExpression, TooMuchWork) as problem:
        raise CelError(f"error parsing regexp: {problem}") from None


def _method(name: str, target: Any, argument: Any) -> Any:
    if isinstance(target, str) and isinstance(argument, str):
        match name:
            case "startsWith":
                return target.startswith(argument)
            case "endsWith":
                return target.endswith(argument)
            case "contains":
                return argument in target
            case "matches":
                return _found(argument, target)
    if (
        type(target) is not type(argument)
        or not isinstance(target, Quantity | Semver)
        or name in ("startsWith", "endsWith", "contains", "matches")
    ):
        raise CelError("no such overload")
    left, right = (value.order if isinstance(value, Semver) else value for value in (target, argument))
    order = (left > right) - (left < right)  # type: ignore[operator]
    return {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}[name]
