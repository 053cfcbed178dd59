"""CEL expressions about devices. Adapted from parts of: dynamic-resource-allocation/cel/compile_test.go TestCEL."""

from __future__ import annotations

import pytest

from kubesim.api.workloads.device_cel import CelError, compile_expression, device_matches

DRIVER = "dra.example.com"
DEVICE = {
    "attributes": {
        "name": {"string": "fish"},
        "someDriver.example.com/name": {"string": "cow"},
        "count": {"int": 10},
        "fast": {"bool": True},
        "version": {"version": "1.10.0"},
    },
    "capacity": {"memory": {"value": "1Mi"}},
}


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("true", True),
        ("false", False),
        (f'device.driver == "{DRIVER}"', True),
        (f'device.driver != "{DRIVER}"', False),
        (f'device.attributes["{DRIVER}"].name == "fish"', True),
        ('device.attributes["someDriver.example.com"].name.matches("^c")', True),
        (f'device.attributes["{DRIVER}"].count > 9 && device.attributes["{DRIVER}"].count <= 10', True),
        (f'device.attributes["{DRIVER}"].count == -10', False),
        (f'device.attributes["{DRIVER}"].fast', True),
        (f'!device.attributes["{DRIVER}"].fast', False),
        (f'device.attributes["{DRIVER}"].version.isGreaterThan(semver("1.9.0"))', True),
        (f'device.attributes["{DRIVER}"].version.isLessThan(semver("1.10.0-rc.1"))', False),
        (f'device.attributes["{DRIVER}"].version.compareTo(semver("1.10.0")) == 0', True),
        (f'device.capacity["{DRIVER}"].memory.isGreaterThan(quantity("1Ki"))', True),
        (f'device.capacity["{DRIVER}"].memory.compareTo(quantity("1Mi")) == 0', True),
        (f'device.attributes["{DRIVER}"].name in ["fish", "cow"]', True),
        ('"name" in device.attributes["no.such.domain"]', False),
        ('has(device.attributes["no.such.domain"].name)', False),
        (f'has(device.attributes["{DRIVER}"].name) ? 1 < 2 : false', True),
        (f'cel.bind(dra, device.attributes["{DRIVER}"], dra.fast && dra.count == 10)', True),
        ('device.attributes["no.such.domain"].name == "x" || true', True),
        ('false && device.attributes["no.such.domain"].name == "x"', False),
        ("device.driver == 'it\\'s'", False),
        ("device.allowMultipleAllocations", False),
        (f'device.attributes["{DRIVER}"].name.startsWith("fi") && device.driver.endsWith(".com")', True),
    ],
)
def test_matches(expression: str, matches: bool) -> None:
    assert device_matches(expression, DRIVER, DEVICE) == matches


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ('device.attributes["no.such.domain"].name == "x"', "no such key: name"),
        (f'device.attributes["{DRIVER}"].name', "CEL result of type string could not be converted to bool"),
        (f'device.attributes["{DRIVER}"].name > 1', "no such overload"),
        (f'device.attributes["{DRIVER}"].count && true', "no such overload"),
    ],
)
def test_evaluation_errors(expression: str, problem: str) -> None:
    with pytest.raises(CelError) as caught:
        device_matches(expression, DRIVER, DEVICE)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("noSuchVar == 1", "undeclared reference to 'noSuchVar' (in container '')"),
        ("device.noSuchField == 1", "undefined field 'noSuchField'"),
        ("device.driver ==", "Syntax error: the expression ends too early"),
        ("(device.driver", 'Syntax error: expected ")", found the end'),
        ("device.driver + 'x' == 'y'", '"+" is not supported here'),
        ("device.attributes.all(a, true)", '"all()" is not supported here'),
        ("", "Syntax error: the expression ends too early"),
    ],
)
def test_compile_errors(expression: str, problem: str) -> None:
    with pytest.raises(CelError) as caught:
        compile_expression(expression)
    assert str(caught.value).startswith(f"compilation failed: {problem}")


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ("(true)", True),
        ("(device.driver) == device.driver", True),
        ("true == 1", False),
        ('semver("1.10.0") == semver("1.10.0")', True),
        ("[1, 2][1] == 2", True),
        ('device.driver.contains("example")', True),
    ],
)
def test_compared_values(expression: str, matches: bool) -> None:
    assert device_matches(expression, DRIVER, DEVICE) == matches


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 in 2", "no such overload"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ("true[0] == 1", "no such overload"),
        ("has(device.driver.x)", "no such overload"),
        ("semver(1) == semver(1)", "no such overload"),
        ('semver("one") == semver("one")', "parse semantic version: one is not a version"),
        ("device.driver.startsWith(1)", "no such overload"),
    ],
)
def test_errors_of_values(expression: str, problem: str) -> None:
    with pytest.raises(CelError) as caught:
        device_matches(expression, DRIVER, DEVICE)
    assert str(caught.value) == problem


def test_an_attribute_without_a_value() -> None:
    with pytest.raises(CelError, match=r"^attribute none: unsupported attribute value$"):
        device_matches("true", DRIVER, {"attributes": {"none": {}}})


def test_an_invalid_regular_expression() -> None:
    with pytest.raises(CelError, match=r"^error parsing regexp: "):
        device_matches('device.driver.matches("(")', DRIVER, DEVICE)


def test_an_invalid_quantity() -> None:
    with pytest.raises(CelError, match="quantities must match"):
        device_matches('quantity("x").isLessThan(quantity("1"))', DRIVER, DEVICE)


@pytest.mark.parametrize(
    ("expression", "unsupported"),
    [
        ("true true", "true"),
        ("-device.driver == 1", "device"),
        ("device.1 == 1", "1"),
        ("* == 1", "*"),
        ("cel.block([], true)", "cel.block()"),
    ],
)
def test_unsupported_expressions(expression: str, unsupported: str) -> None:
    with pytest.raises(CelError) as caught:
        compile_expression(expression)
    assert str(caught.value).startswith(f'compilation failed: "{unsupported}" is not supported here')
