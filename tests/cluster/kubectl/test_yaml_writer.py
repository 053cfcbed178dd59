"""YAML as Kubernetes prints it, and round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.cluster.kubectl.yaml_writer import to_yaml
from kubesim.golang.json import dumps
from kubesim.golang.yaml import yaml_to_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**31), 2**31)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab10-./", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": "x"}, "a: x\nb: 1\n"),
        ({"a10": 1, "a9": 2, "a": {}}, "a: {}\na9: 2\na10: 1\n"),
        (["a", {"b": [1]}], "- a\n- b:\n  - 1\n"),
        ("true", '"true"\n'),
        ({"a": "5", "b": "1.5", "c": "null", "d": "", "e": "yes"}, 'a: "5"\nb: "1.5"\nc: "null"\nd: ""\ne: "yes"\n'),
        ({"t": "2000-01-01T00:00:00Z"}, 't: "2000-01-01T00:00:00Z"\n'),
        ({"t": "12:30"}, 't: "12:30"\n'),
        ({"t": "a: b"}, "t: 'a: b'\n"),
        ({"t": "two\nlines\n"}, "t: |\n  two\n  lines\n"),
        ({"t": "x" * 200 + " y"}, f"t: {'x' * 200} y\n"),
        ({"z": None, "l": [], "b": False, "n": 1}, 'b: false\nl: []\n"n": 1\nz: null\n'),
    ],
)
def test_texts(value: object, text: str) -> None:
    assert to_yaml(value) == text


@given(VALUES.filter(lambda value: isinstance(value, dict | list)))
def test_round_trip(value: object) -> None:
    assert dumps(yaml_to_json(to_yaml(value))) == dumps(value)
