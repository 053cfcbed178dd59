from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.errors import InputError
from kubesim.scenario.authoring.all_problems import all_problems
from kubesim.scenario.load.loader import SourceText, parse_scenario

FILE = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: bad, extra: 1}
spec:
  duraton: 5s
  duration: 10
  nodes:
    - {name: BAD}
    - {name: good}
  seed: "x"
  kubeletConfiguration:
    maxPods: many
    foo: 1
  steps:
    - {at: 5s, kill: {pod: web, signal: HUP}}
    - {at: 6s}
    - at: 7s
      delete: {pod: web, foo: 1}
    - at: 8s
      patch: {pod: web, patch: {spec: {foo: 1}}}
  expect:
    - {pod: web, phase: Runing}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: main, imag: nginx, foo: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: web_2}
spec:
  containers:
    - {name: A, image: nginx}
"""
PLACES = """\
3:23 metadata.extra
5:3 spec.duraton
6:3 spec.duration
8:8 spec.nodes[0].name
10:3 spec.seed
12:5 spec.kubeletConfiguration.maxPods
13:5 spec.kubeletConfiguration.foo
15:33 spec.steps[0].kill.signal
16:7 spec.steps[1]
18:26 spec.steps[2].delete.foo
20:40 spec.steps[3].patch.patch.spec.foo
22:18 spec.expect[0].phase
29:20 spec.containers[0].imag
29:33 spec.containers[0].foo
33:12 metadata.name
36:8 spec.containers[0].name
""".splitlines()


def places(text: str) -> list[str]:
    return [
        f"{error.line}:{error.column} {error.field}"
        for error in all_problems(SourceText(text, "bad.yaml"))
        if isinstance(error, InputError)
    ]


def test_every_error_is_reported_with_line_and_path() -> None:
    assert places(FILE) == PLACES


def test_follow_up_errors_of_an_invalid_node_are_not_reported() -> None:
    scenario = "kind: Scenario\nmetadata: {name: a}\nspec:\n  nodes: [{name: %s}]\n  steps: [{at: 1s, drain: node-x}]\n"
    plain = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"
    missing = "7:1 spec.containers"
    assert places(scenario % "node-X" + plain) == ["4:12 spec.nodes[0].name", missing]
    assert places(scenario % "node-y" + plain) == ["5:20 spec.steps[0].drain", missing]


def test_the_first_error_is_the_one_that_the_loader_reports() -> None:
    lines = FILE.splitlines(keepends=True)
    for place in PLACES[1:3]:
        # Each error in a separate file.
        number = int(place.partition(":")[0])
        alone = "".join([*lines[:2], "metadata: {name: bad}\n", "spec:\n", lines[number - 1]])
        with pytest.raises(InputError) as reported:
            parse_scenario(alone, "bad.yaml")
        [found] = all_problems(SourceText(alone, "bad.yaml"))
        assert str(found) == str(reported.value)


def test_a_valid_file_has_none() -> None:
    path = Path("scenarios/crashloop.yaml")
    assert all_problems(SourceText(path.read_text(), str(path))) == []


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "bad.yaml: it is empty"),
        ("a: [\n", "bad.yaml:2: malformed YAML"),
        ("- 1\n", "bad.yaml:1: a document must be a mapping"),
        ("kind: Scenario\nmetadata: {name: a}\nspec: 3\n", "bad.yaml:3: spec: must be a mapping of fields"),
        ("kind: Scenario\nmetadata: {}\nspec: {sed: 1}\n", "bad.yaml:2: metadata.name: is needed"),
        ("apiVersion: kubesim.dev/v1alpha1\nkind: Szenario\nmetadata: {name: a}\n", "bad.yaml:2: kind: "),
        ("kind: Scenario\nkind: Scenario\nmetadata: {name: a}\n", "bad.yaml:2: kind: given twice"),
    ],
)
def test_an_error_of_the_whole_file_is_reported_once(text: str, reported: str) -> None:
    errors = all_problems(SourceText(text, "bad.yaml"))
    assert str(errors[0]).startswith(reported)
    assert len({str(error) for error in errors}) == len(errors)


def test_an_error_has_the_position_format_of_editors() -> None:
    error = InputError("a.yaml", "is needed", line=3, field="spec.at", column=7)
    assert error.pointed == "a.yaml:3:7: spec.at: is needed"
    assert str(error) == "a.yaml:3: spec.at: is needed"
