"""JSON decoded and encoded as in Go.

Adapted from: encoding/json scanner_test.go, encode_test.go
"""

from __future__ import annotations

import json

import pytest

from kubesim.golang.json import JsonSyntaxError, Number, dumps, loads, printable_json, whole_characters


def test_numbers_keep_their_text() -> None:
    value = loads("[1, 1.0, 1e3, -0]")
    assert value == ["1", "1.0", "1e3", "-0"]
    assert all(isinstance(number, Number) for number in value)
    assert dumps(value) == "[1,1.0,1e3,-0]"


def test_a_duplicate_key_is_decoded_into_the_same_value() -> None:
    assert loads('{"a": 1, "a": "x"}') == {"a": "x"}
    assert loads('{"a": {"b": 1, "c": {"d": 2}}, "a": {"c": {"e": 3}}}') == {"a": {"b": "1", "c": {"d": "2", "e": "3"}}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[1,2", "unexpected end of JSON input"),
        ('"ab', "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("é", "invalid character 'é' looking for beginning of value"),
        ("\udc81", "invalid character '\\x81' looking for beginning of value"),  # an invalid UTF-8 byte
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("1.5.2", "invalid character '.' after top-level value"),
        ("[1e5.3]", "invalid character '.' after array element"),
        ("[1-]", "invalid character '-' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ('{"a"; 1}', "invalid character ';' after object key"),
        ('{"a": 1; "b": 2}', "invalid character ';' after object key:value pair"),
        ("{'a': 1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a": 1,}', "invalid character '}' looking for beginning of object key string"),
        ('{"a": {}, "b": [], x}', "invalid character 'x' looking for beginning of object key string"),
        ('[1 "a"]', "invalid character '\"' after array element"),
        ("[tru]", "invalid character ']' in literal true (expecting 'e')"),
        ("[nulL]", "invalid character 'L' in literal null (expecting 'l')"),
        ("[true, fals, 1]", "invalid character ',' in literal false (expecting 'e')"),
        ('["a\nb"]', "invalid character '\\n' in string literal"),
        ('["\\x"]', "invalid character 'x' in string escape code"),
        ('["\\u12G4"]', "invalid character 'G' in \\u hexadecimal character escape"),
        ("[-]", "invalid character ']' in numeric literal"),
        ("[01]", "invalid character '1' after array element"),
        ("[1.]", "invalid character ']' after decimal point in numeric literal"),
        ("[1e]", "invalid character ']' in exponent of numeric literal"),
        ("[1E+]", "invalid character ']' in exponent of numeric literal"),
        ("[" * 100_000, "exceeded max depth"),
    ],
)
def test_errors_and_their_offsets(text: str, problem: str) -> None:
    with pytest.raises(JsonSyntaxError) as error:
        loads(text)
    assert str(error.value) == problem


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": [None, True, False], "a": {}}, '{"a":{},"b":[null,true,false]}'),
        ("a<b>&c\u2028\u2029", '"a\\u003cb\\u003e\\u0026c\\u2028\\u2029"'),
        ('é"\\\n\x01', '"é\\"\\\\\\n\\u0001"'),
        (0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.25e22, "1.25e+22"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
    ],
)
def test_encoding(value: object, expected: str) -> None:
    assert dumps(value) == expected


@pytest.mark.parametrize(("value", "name"), [("nan", "NaN"), ("inf", "+Inf"), ("-inf", "-Inf")])
def test_unsupported_values(value: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"^json: unsupported value: \\{name}$" if name[0] == "+" else name):
        dumps(float(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800"', "\ufffd"),
        (r'"\uD83D\uDE00 \ud83d"', "\U0001f600 \ufffd"),
        (r'"\udc00\ud83d"', "\ufffd\ufffd"),
        (r'"\\ud800"', r"\ud800"),
        (r'"a\\\udfffb"', "a\\\ufffdb"),
    ],
)
def test_an_unpaired_surrogate_is_replaced(text: str, value: str) -> None:
    assert json.loads(whole_characters(text)) == value


def test_control_characters_are_escaped_for_a_terminal() -> None:
    assert printable_json({"a": "b\x1b[31m"}, indent=1) == '{\n "a": "b\\u001b[31m"\n}'
    assert printable_json({"a": "\u202e"}) == '{"a": "\\u202e"}'
