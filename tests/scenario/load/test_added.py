"""Steps and faults added to a scenario during its run: parsing and errors."""

from __future__ import annotations

import pytest

from kubesim.errors import UsageError
from kubesim.scenario.load.assembly.added import AddedItem
from kubesim.scenario.load.loader import load_runs
from tests.support.stepping import SCENARIOS

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "kind", "item"),
    [
        ("kill: {pod: web}", "steps", {"at": "2000001us", "kill": {"pod": "web"}}),
        ("{kill: {pod: web, signal: TERM}}", "steps", {"at": "2000001us", "kill": {"pod": "web", "signal": "TERM"}}),
        ("stop: kubelet", "steps", {"at": "2000001us", "stop": "kubelet"}),
        (
            "operation: CreateContainer, error: no space, times: 1",
            "faults",
            {"begin": "2000001us", "operation": "CreateContainer", "error": "no space", "times": 1},
        ),
    ],
)
def test_valid_items(text: str, kind: str, item: dict[str, object]) -> None:
    added = AddedItem.parse(text, 2 * SECOND)
    assert (added.list, added.item) == (kind, item)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "give a step such as kill"),
        ("kill", "give a step such as kill"),
        ("kill: {pod: web", "kill: {pod: web: "),
        ("at: 3s, kill: {pod: web}", "at: an injected item takes effect now"),
        ("when: {pod: web, condition: Ready}, stop: kubelet", "when: an injected item"),
        ("operation: CreateContainer, error: x, begin: 3s", "begin: an injected item"),
    ],
)
def test_invalid_items(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem.replace("{", r"\{")):
        AddedItem.parse(text, 0)


def test_it_is_appended_to_the_items_of_the_file_and_checked_like_them() -> None:
    path = str(SCENARIOS / "graceful-delete.yaml")
    ((_, own),), items = load_runs([path]), [AddedItem.parse("stop: kubelet", SECOND)]
    ((_, changed),) = load_runs([path], added=items)
    assert len(changed.spec.steps) == len(own.spec.steps) + 1
    kept, last = changed.without_last_steps(1)
    assert [step.text for step in kept.spec.steps] == [step.text for step in own.spec.steps]
    assert [(step.action, step.at) for step in last] == [("stop", SECOND + 1)]
    with pytest.raises(UsageError, match="there is no node typo"):
        load_runs([path], added=[AddedItem.parse("reboot: {node: typo}", SECOND)])


def test_plain_manifests_get_a_scenario_for_it(tmp_path: object) -> None:
    from pathlib import Path

    file = Path(str(tmp_path)) / "pod.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: nginx}]}\n")
    ((_, changed),) = load_runs([str(file)], added=[AddedItem.parse("kill: {pod: web}", SECOND)])
    assert changed.name == "pod"
    assert len(changed.spec.objects) == 1
    assert [step.action for step in changed.spec.steps] == ["kill"]
