from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.errors import InputError
from kubesim.scenario.authoring.formatting import format_text
from kubesim.scenario.load.yaml_source import read_documents

UGLY = """\
---
# header
# two

kind: Scenario
# about the version
apiVersion: kubesim.dev/v1alpha1\x20\x20
spec:
    steps:
    -   at: 5s
        # the pod goes
        delete:
            pod: web   # bye
    - {at: 6s,
       delete: {pod: x}}


    expect:
    - pod: web
      event: "a
        b"
    -
      pod: web
      gone: true
metadata:
    name: ugly
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
      text: |
            one
              two

            three
      folded: >-
            a
            b
# the end
"""
NICE = """\
# header
# two

# about the version
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata:
  name: ugly
spec:
  steps:
    - at: 5s
      # the pod goes
      delete:
        pod: web   # bye
    - {at: 6s,
       delete: {pod: x}}

  expect:
    - pod: web
      event: "a
        b"
    -
      pod: web
      gone: true
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  text: |
        one
          two

        three
  folded: >-
        a
        b
# the end
"""


def test_an_unformatted_file_is_formatted() -> None:
    assert format_text(UGLY, "ugly.yaml") == NICE


def test_a_formatted_file_is_unchanged() -> None:
    assert format_text(NICE, "nice.yaml") == NICE


@pytest.mark.parametrize("path", sorted(Path("scenarios").rglob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_scenarios_are_formatted(path: Path) -> None:
    assert format_text(path.read_text(), str(path)) == path.read_text(), f"run: kubesim scenario fmt {path}"


def test_json_is_unchanged() -> None:
    text = '{"apiVersion": "v1",   "kind": "Namespace",\n"metadata": {"name": "a"}}\n'
    assert format_text(text, "a.json") == text


def test_an_invalid_file_is_reported_with_its_line() -> None:
    with pytest.raises(InputError, match=r"a.yaml:2: malformed YAML"):
        format_text("a: 1\n\tb: 2\n", "a.yaml")


def test_windows_line_ends_are_converted() -> None:
    assert format_text("a: 1\r\nb:\r\n- 2\r\n", "a.yaml") == "a: 1\nb:\n  - 2\n"


VALUES = st.recursive(
    st.one_of(
        st.integers(0, 9),
        st.sampled_from(["web", "a b", "x: y", "# no comment", "- dash", "one\n  two\n\nthree\n", ""]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["apiVersion", "kind", "spec", "a", "b"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.sampled_from(["spec", "kind", "metadata", "apiVersion", "x"]), VALUES, min_size=1),
    indent=st.integers(2, 5),
)
def test_formatting_keeps_values_and_is_idempotent(value: object, indent: int) -> None:
    import yaml

    text = yaml.dump(value, indent=indent, sort_keys=False)
    once = format_text(text, "a.yaml")
    assert [each.value for each in read_documents(once, "")] == [each.value for each in read_documents(text, "")]
    assert format_text(once, "a.yaml") == once
