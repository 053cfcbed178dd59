"""YAML as Kubernetes reads it: YAML 1.1 with the behaviour of Go's package.

Adapted from: sigs.k8s.io/yaml yaml_test.go; go.yaml.in/yaml/v2 decode_test.go
"""

from __future__ import annotations

import pytest

from kubesim.golang.json import dumps
from kubesim.golang.yaml import YamlError, _allowed_through_aliases, yaml_to_json


def json_of(text: str) -> str:
    return dumps(yaml_to_json(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "null"),
        ("~", "null"),
        ("Null", "null"),
        ("nUll", '"nUll"'),
        ("y", "true"),
        ("On", "true"),
        ("NO", "false"),
        ("tRUE", '"tRUE"'),
        ("12", "12"),
        ("+12", "12"),
        ("-0", "0"),
        ("1_000", "1000"),
        ("0x1F", "31"),
        ("-0b11", "-3"),
        ("0o17", "15"),
        ("017", "15"),
        ("08", "8"),  # a float, not an octal number
        ("0b12", '"0b12"'),
        ("12:30", '"12:30"'),
        ("18446744073709551615", "18446744073709551615"),
        ("+18446744073709551615", "18446744073709552000"),
        ("1e3", "1000"),
        ("1.50", "1.5"),
        (".5", "0.5"),
        (".5_0", '".5_0"'),
        ("1e999", '"1e999"'),
        (".5e999", '".5e999"'),
        (".x", '".x"'),
        ("2026-01-31", '"2026-01-31"'),
        ("'12'", '"12"'),
        ("! 12", '"12"'),
        ("!!str 12", '"12"'),
        ("!!float 12", "12"),
        ("!!int '12'", "12"),
        ("!!timestamp 2026-01-31", '"2026-01-31"'),
        ("!mine 12", '"12"'),
        ("!!binary aGVsbG8=", '"hello"'),
        ("!!binary |\n  aGVs\n  bG8=\n", '"hello"'),
    ],
)
def test_scalars(text: str, expected: str) -> None:
    assert json_of(text) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("a", "a"),
        ("1", "1"),
        ("true", "true"),
        ("off", "false"),
        ("1.5", "1.5"),
        ("100.0", "100"),
        ("1e6", "1e+06"),
        ("0.00001", "1e-05"),
        ("0.1", "0.1"),  # as a 32-bit float
        ("1e300", ".inf"),
        ("-1e300", "-.inf"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("!!binary YQ==", "a"),
    ],
)
def test_keys_are_converted_to_text(key: str, expected: str) -> None:
    assert yaml_to_json(f"{key}: x") == {expected: "x"}


def test_only_the_first_document_and_the_last_duplicate_key_count() -> None:
    assert yaml_to_json("# nothing\n---\na: u\na: v\n---\nb: [") == {"a": "v"}
    assert yaml_to_json("# nothing\n") is None


class TestAliases:
    def test_an_alias_is_a_copy(self) -> None:
        assert (
            json_of("a: &x {k: [1, s]}\nb: *x\n? &y c\n: *y\n*y : d") == '{"a":{"k":[1,"s"]},"b":{"k":[1,"s"]},"c":"d"}'
        )

    def test_explicit_keys_override_merged_ones_and_the_first_merge_wins(self) -> None:
        text = "u: &u {a: u, b: u}\nv: &v {a: v, c: v}\n"
        assert yaml_to_json(f"{text}z: {{a: z, <<: *u}}")["z"] == {"a": "u", "b": "u"}
        assert yaml_to_json(f"{text}z: {{<<: *u, a: z}}")["z"] == {"a": "z", "b": "u"}
        assert yaml_to_json(f"{text}z: {{<<: [*u, *v, {{d: i}}]}}")["z"] == {"a": "u", "b": "u", "c": "v", "d": "i"}
        assert yaml_to_json(f"{text}z: {{!!merge <<: *v}}")["z"] == {"a": "v", "c": "v"}
        assert yaml_to_json("z: {<<: {a: i}}") == {"z": {"a": "i"}}

    def test_a_quoted_merge_key_is_a_plain_key(self) -> None:
        assert yaml_to_json("'<<': {a: 1}") == {"<<": {"a": "1"}}

    def test_a_value_used_twice_is_not_a_loop(self) -> None:
        assert yaml_to_json("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]")["c"] == [[["x"], ["x"]], [["x"], ["x"]]]


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcde", "bcdef", strict=True)
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x: y\na: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("[1, 2", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: 1\n\tb: 2", "yaml: line 2: found a tab character that violates indentation"),
        ("a: \x01", "yaml: control characters are not allowed"),
        ("a: *x", "yaml: unknown anchor 'x' referenced"),
        ("&a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a: &a {<<: *a}", "yaml: anchor 'a' value contains itself"),
        ("x: &x [a]\n<<: *x", "yaml: map merge requires map or sequence of maps as the value"),
        ("<<: [a]", "yaml: map merge requires map or sequence of maps as the value"),
        ("<<: a", "yaml: map merge requires map or sequence of maps as the value"),
        ("{a: 1}: b", "yaml: invalid map key: map"),
        ("[a]: b", "yaml: invalid map key: sequence"),
        ("~: b", "unsupported map key of type: %!s(<nil>), key: <nil>"),
        ("!!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("!!bool 1", "yaml: cannot decode !!int `1` as a !!bool"),
        ("!!timestamp 1", "yaml: cannot decode !!int `1` as a !!timestamp"),
        ("!!binary ???", "yaml: !!binary value contains invalid base64 data"),
        (LAUGHS, "yaml: document contains excessive aliasing"),
        ("[" * 5000, "yaml: line 1: did not find expected node content"),
        ("[" * 20_000, "yaml: exceeded max depth of 10000"),
        ("[" * 5000 + "]" * 5000, "yaml: exceeded max depth of 10000"),  # ours is less
    ],
)
def test_invalid_documents(text: str, problem: str) -> None:
    with pytest.raises(YamlError) as error:
        yaml_to_json(text)
    assert str(error.value) == problem


def test_infinity_is_not_json() -> None:
    with pytest.raises(ValueError, match=r"^json: unsupported value: \+Inf$"):
        yaml_to_json("a: .inf")


@pytest.mark.parametrize(("decoded", "ratio"), [(400_000, 0.99), (2_200_000, 0.545), (4_000_000, 0.1)])
def test_aliases_are_limited_relative_to_the_document(decoded: int, ratio: float) -> None:
    assert _allowed_through_aliases(decoded) == pytest.approx(decoded * ratio)
