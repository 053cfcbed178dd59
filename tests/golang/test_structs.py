"""JSON decoded into structs as in encoding/json, with its errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.golang.json import dumps
from kubesim.golang.structs import (
    ANYTHING,
    BOOL,
    BYTES,
    INT,
    OBJECT,
    STRING,
    UINT,
    Array,
    FromText,
    GoType,
    Map,
    Own,
    Pointer,
    Slice,
    Struct,
    unmarshal,
)

INNER = Struct("pkg.Inner", {"names": Slice(STRING), "on": BOOL})
ADDRESS = FromText("pkg.Address", str.lower)
OUTER = Struct(
    "pkg.Outer",
    {"name": STRING, "count": INT, "inner": INNER, "flags": Map(BOOL), "more": Slice(Pointer(INNER)), "any": ANYTHING},
)


def decoded(type_: GoType, text: str) -> Any:
    return unmarshal(type_, text.encode("utf-8", "surrogateescape"))


def problem(type_: GoType, text: str) -> str:
    with pytest.raises(ValueError, match=r".") as raised:
        decoded(type_, text)
    return str(raised.value)


def test_keys_are_case_insensitive_and_the_last_one_wins() -> None:
    assert decoded(OUTER, '{"NAME": "a", "Count": 1}') == {"name": "a", "count": 1}
    assert decoded(OUTER, '{"name": "a", "Name": "b", "name": "c"}') == {"name": "c"}
    assert decoded(OUTER, '{"\\u212aount": 1, "name": "x"}') == {"name": "x"}


def test_a_duplicate_object_is_decoded_into_the_same_value() -> None:
    text = '{"inner": {"on": true}, "inner": {"names": ["x"]}, "flags": {"a": true}, "flags": {"b": false}}'
    assert decoded(OUTER, text) == {"inner": {"on": True, "names": ["x"]}, "flags": {"a": True, "b": False}}
    assert decoded(OBJECT, text)["inner"] == {"names": ["x"]}  # ... but a map keeps only the last


def test_null_is_ignored_or_nil() -> None:
    assert decoded(OUTER, '{"name": null, "count": null, "inner": null}') == {"name": "", "count": 0, "inner": {}}
    assert decoded(OUTER, '{"flags": null, "more": [null]}') == {"flags": None, "more": [None]}
    assert decoded(OBJECT, "null") is None
    assert (decoded(BYTES, "null"), decoded(ADDRESS, "null"), decoded(ADDRESS, '"A"')) == (b"", None, "a")


@pytest.mark.parametrize(
    ("type_", "text", "reported"),
    [
        (OUTER, "[]", "array into Go value of type pkg.Outer"),
        (OUTER, '{"name": 5}', "number into Go struct field Outer.name of type string"),
        (OUTER, '{"count": 1.5}', "number 1.5 into Go struct field Outer.count of type int"),
        (OUTER, '{"flags": []}', "array into Go struct field Outer.flags of type map[string]bool"),
        (OUTER, '{"flags": {"a": 1}}', "number into Go struct field Outer.flags of type bool"),
        (OUTER, '{"inner": {"names": {}}}', "object into Go struct field Inner.inner.names of type []string"),
        (OUTER, '{"more": "x"}', "string into Go struct field Outer.more of type []*pkg.Inner"),
        (OUTER, '{"any": [1e999]}', "number 1e999 into Go struct field Outer.any of type float64"),
        (UINT, "-1", "number -1 into Go value of type uint"),
        (BYTES, '"a!"', "illegal base64 data at input byte 1"),
        (BYTES, "5", "number into Go value of type []uint8"),
        (ADDRESS, "true", "bool into Go value of type pkg.Address"),
        (OUTER, "{", "unexpected end of JSON input"),
        (OUTER, '{"name": "\u00ef"} x', "invalid character 'x' after top-level value"),
        (OUTER, "\ufeff{}", "invalid character 'ï' looking for beginning of value"),
        (OUTER, "[" * 100_000, "exceeded max depth"),
        (OUTER, '{"a":' * 201 + "0" + "}" * 201, "exceeded max depth"),  # Go's limit is 10,000
        (OUTER, "[" + "[]," * 300 + "[]]", "array into Go value of type pkg.Outer"),  # many brackets, but not nested
    ],
)  # fmt: skip
def test_type_errors_have_gos_messages(type_: GoType, text: str, reported: str) -> None:
    assert problem(type_, text).removeprefix("json: cannot unmarshal ") == reported


def test_the_first_type_error_is_reported_but_a_custom_types_error_stops_decoding() -> None:
    def refuse(given: str) -> str:
        raise ValueError(f"refused {given}")

    own = Own("pkg.Own", STRING, refuse, lambda: "")
    both = Struct("pkg.Both", {"a": INT, "b": BOOL, "own": own})
    assert "Both.a" in problem(both, '{"a": "x", "b": 1}')
    assert problem(both, '{"a": "x", "own": "y"}') == "refused y"
    assert problem(both, '{"own": 7}') == "json: cannot unmarshal number into Go struct field Both.own of type string"


def test_invalid_utf8_and_unpaired_surrogates_are_replaced() -> None:
    assert unmarshal(STRING, b'"\xe2\x82x"') == "\ufffd\ufffdx"
    assert decoded(STRING, '"\\ud800y"') == "\ufffdy"


def test_arrays_have_a_fixed_length() -> None:
    assert decoded(Slice(Array(2, STRING)), '[["a"], ["a", "b", "c"], null]') == [["a", ""], ["a", "b"], ["", ""]]


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_round_trip(value: Any) -> None:
    once = dumps(unmarshal(ANYTHING, dumps(value).encode("utf-8", "surrogatepass")))
    assert dumps(unmarshal(ANYTHING, once.encode("utf-8", "surrogatepass"))) == once


@given(JSON)
def test_any_value_is_decoded_or_reported(value: Any) -> None:
    text = dumps({"name": value, "count": value, "inner": value, "flags": value, "more": value})
    reported = ""
    try:
        unmarshal(OUTER, text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        reported = str(error)
    assert not reported or reported.startswith("json: cannot unmarshal ")
