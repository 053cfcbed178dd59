"""`spec.matrix`: the runs of one file with their names and values."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.errors import InputError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.variation.matrix_items import Matrix
from kubesim.scenario.load.assembly.matrix import Cell, cells, with_values
from kubesim.scenario.load.loader import load_runs, load_scenario
from kubesim.scenario.load.overlay import Overlay

HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: m}\nspec:\n"
POD = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: nginx}]\n"


def runs(tmp_path: Path, matrix: str, rest: str = "", **how: object) -> list[tuple[str, Scenario]]:
    file = tmp_path / "m.yaml"
    file.write_text(f"{HEAD}  matrix: {matrix}\n{rest}{POD}")
    return load_runs([str(file)], **how)  # type: ignore[arg-type]


def test_every_combination_is_a_named_run(tmp_path: Path) -> None:
    found = runs(tmp_path, "{seeds: 1..2, profiles: [v1.30, v1.36], values: {spec.kubeletConfiguration.maxPods: [5]}}")
    assert [cell for cell, _ in found] == [
        "maxPods=5 profile=v1.30 seed=1",
        "maxPods=5 profile=v1.30 seed=2",
        "maxPods=5 profile=v1.36 seed=1",
        "maxPods=5 profile=v1.36 seed=2",
    ]
    scenario = found[1][1]
    assert scenario.name == "m [maxPods=5 profile=v1.30 seed=2]"
    assert (scenario.spec.seed, scenario.spec.profile) == (2, "v1.30")
    assert scenario.spec.kubelet_configuration.values["maxPods"] == 5


def test_a_value_of_an_object(tmp_path: Path) -> None:
    found = runs(
        tmp_path, '{values: {"pod/web spec.containers[name=main].image": [a, b], "pod/web metadata.labels[x/y]": [z]}}'
    )
    images = [scenario.spec.objects[0]["spec"]["containers"][0]["image"] for _, scenario in found]
    assert images == ["a", "b"]
    assert found[0][1].spec.objects[0]["metadata"]["labels"] == {"x/y": "z"}


def test_yaml_aliases_are_independent_values() -> None:
    shared = {"containers": [{"image": "old"}]}
    pods = [{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": shared} for name in "ab"]
    changed = with_values([{"spec": {"objects": pods}}], Cell((("Pod/a spec.containers[0].image", "new"),)))
    assert [pod["spec"]["containers"][0]["image"] for pod in changed[0]["spec"]["objects"]] == ["new", "old"]
    assert shared == {"containers": [{"image": "old"}]}


def test_flags_fix_the_seed_and_the_profile(tmp_path: Path) -> None:
    matrix = "{seeds: [1, 2], profiles: [v1.30, v1.36]}"
    assert [cell for cell, _ in runs(tmp_path, matrix, has_seed=True)] == ["profile=v1.30", "profile=v1.36"]
    assert [cell for cell, _ in runs(tmp_path, matrix, overlay=Overlay(profile="v1.35"))] == ["seed=1", "seed=2"]


def test_without_a_matrix_there_is_one_unnamed_run(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text(POD)
    assert [cell for cell, _ in load_runs([str(file)])] == [""]


def test_one_scenario_of_the_file_has_the_written_values(tmp_path: Path) -> None:
    runs(tmp_path, "{seeds: [1, 2]}", "  seed: 9\n")
    assert load_scenario(str(tmp_path / "m.yaml")).spec.seed == 9


def test_names_use_whole_paths_where_the_last_word_is_ambiguous() -> None:
    matrix = Matrix.model_validate({"values": {"spec.seed": [1], "pod/web spec.seed": [2]}})
    assert [cell.name for cell in cells(matrix)] == ["spec.seed=1 pod/web spec.seed=2"]


MISTAKES = {
    "{seeds: often}": "5: spec.matrix.seeds: must be a list of numbers, or a range such as 0..4",
    "{seeds: 0..5000}": "5: spec.matrix.seeds: at most 1000 seeds",
    "{seeds: 0..99, profiles: [v1.30, v1.35, v1.36], values: {spec.duration: [1s, 2s, 3s, 4s]}}": (
        "5: spec.matrix: 1200 runs; a matrix has at most 1000"
    ),
    "{}": "5: spec.matrix: give seeds, profiles or values",
    "{seeds: 5..1}": "5: spec.matrix.seeds: seeds has no values",
    "{profiles: []}": "5: spec.matrix.profiles: profiles has no values",
    "{seeds: [1, 1]}": "5: spec.matrix.seeds: seeds has 1 twice",
    "{values: {spec.duration: [1m, 1m]}}": "5: spec.matrix.values.spec.duration: spec.duration has '1m' twice",
    "{values: {spec.seed: [1]}, seeds: 0..3}": (
        "5: spec.matrix.values.spec.seed: spec.seed is also given by seeds: leave one out"
    ),
    "{values: {spec.seed: []}}": "5: spec.matrix.values.spec.seed: spec.seed has no values",
    "{values: {maxPods: [5]}}": (
        "5: spec.matrix.values.maxPods: 'maxPods' must be a field such as spec.profile, or of an object: pod/web spec."
    ),
    "{values: {pod/db spec.nodeName: [a]}}": "5: spec.matrix.values: there is no pod/db in the file (with nodeName=a)",
    '{values: {"pod/web spec.containers[1].image": [a]}}': (
        "5: spec.matrix.values: pod/web spec.containers[1].image does not exist: the list has no item [1]"
        " (with image=a)"
    ),
    "{values: {spec.seed.x.y: [a]}, seeds: [1]}": (
        "5: spec.matrix.values: spec.seed.x.y does not exist: the value before x is no object or list (with y=a"
    ),
    "{values: {spec.maxPods: [a]}}": "4: spec.maxPods: unknown field",
    "{values: {spec.seed: [a]}}": "must be a whole number (with seed=a)",
}


@pytest.mark.parametrize(("matrix", "expected"), MISTAKES.items())
def test_errors(tmp_path: Path, matrix: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        runs(tmp_path, matrix, "  seed: 3\n")
    assert "\n" not in str(caught.value)
    assert expected in str(caught.value)
