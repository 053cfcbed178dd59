"""`spec.include`: items from other files, and errors in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.errors import InputError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.overlay import Overlay

HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: NAME}\nspec:\n"
POD = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: nginx}]\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "own").mkdir()
    return tmp_path / "own"


def write(folder: Path, **specs: str) -> Path:
    for name, spec in specs.items():
        (folder / f"{name}.yaml").write_text(HEAD.replace("NAME", name) + spec)
    return folder / f"{next(iter(specs))}.yaml"


def load(path: Path, *, allow_host: bool = False) -> Scenario:
    return load_scenario(str(path), overlay=Overlay(allow_host=allow_host))


def problem(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_lists_are_joined_own_items_first(files: Path) -> None:
    path = write(files, a="  include: [b.yaml]\n  images: [{name: x}]\n  steps: [{at: 1s, cut: 1s}]\n",
                 b="  images: [{name: z}]\n  steps: [{at: 2s, cut: 1s}]\n" + POD)  # fmt: skip
    spec = load(path).spec
    assert [image.name for image in spec.images] == ["x", "z"]
    assert [step.at for step in spec.steps] == [1_000_000, 2_000_000]
    assert [manifest["metadata"]["name"] for manifest in spec.objects] == ["web"]


def test_mappings_are_merged_and_own_values_win(files: Path) -> None:
    path = write(files, a="  include: [b.yaml, c.yaml]\n  seed: 7\n  kubeletConfiguration: {maxPods: 5}\n",
                 b="  seed: 8\n  duration: 9s\n  kubeletConfiguration: {maxPods: 6, podPidsLimit: 99}\n",
                 c="  duration: 10s\n  profile: v1.35\n")  # fmt: skip
    scenario = load(path)
    spec = scenario.spec
    assert (scenario.name, spec.seed, spec.duration, spec.profile) == ("a", 7, 9_000_000, "v1.35")
    values = spec.kubelet_configuration.values
    assert (values["maxPods"], values["podPidsLimit"]) == (5, 99)


def test_nested_includes_count_once(files: Path) -> None:
    (files / "deep").mkdir()
    path = write(files, a="  include: [b.yaml, deep/c.yaml]\n", b="  include: [deep/c.yaml]\n")
    write(files / "deep", c="  include: [d.yaml]\n  images: [{name: x}]\n", d="  images: [{name: z}]\n")
    assert [image.name for image in load(path).spec.images] == ["x", "z"]


def test_an_error_names_the_included_file_and_its_line(files: Path) -> None:
    path = write(files, a="  include: [b.yaml]\n  steps: [{at: 1s, cut: 1s}]\n", b="  steps:\n  - {at: 1s, cutt: 1s}\n")
    assert problem(path) == "b.yaml:6: spec.steps[1].cutt: unknown field; did you mean cut?"
    write(files, b="  seed: 1\n" + POD.replace("image:", "imag:"))
    assert problem(path) == "b.yaml:11: spec.containers[0].imag: unknown field; did you mean image?"


def test_steps_know_their_file(files: Path) -> None:
    path = write(files, a="  include: [b.yaml]\n  steps: [{at: 1s, cut: 1s}]\n", b="  steps:\n  - {at: 2s, cut: 1s}\n")
    locations = [(Path(step.location[0]).name, step.location[1]) for step in load(path).spec.steps]
    assert locations == [("a.yaml", 6), ("b.yaml", 6)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("  include: b.yaml\n", "a.yaml:5: spec.include: must be a list of files"),
        ("  include: [7]\n", "a.yaml:5: spec.include[0]: must be the name of a file"),
        ("  include: [none.yaml]\n", "a.yaml:5: spec.include[0]: no such file: none.yaml"),
        ("  include: [a.yaml]\n", "a.yaml:5: spec.include[0]: a circle: a.yaml includes a.yaml"),
        (
            "  include: [../b.yaml]\n",
            (
                "a.yaml:5: spec.include[0]: ../b.yaml is outside of the directory of the scenario: move it there, or "
                "allow that with --allow-host"
            ),
        ),
    ],
)
def test_errors(files: Path, spec: str, expected: str) -> None:
    assert problem(write(files, a=spec)) == expected


def test_a_cycle_over_several_files(files: Path) -> None:
    path = write(files, a="  include: [b.yaml]\n", b="  include: [a.yaml]\n")
    assert problem(path) == "b.yaml:5: spec.include[0]: a circle: a.yaml includes b.yaml includes a.yaml"


def test_other_directories_can_be_allowed(files: Path) -> None:
    write(files.parent, b="  images: [{name: z}]\n")
    path = write(files, a="  include: [../b.yaml]\n")
    assert [image.name for image in load(path, allow_host=True).spec.images] == ["z"]


def test_a_link_to_the_outside_is_rejected(files: Path) -> None:
    write(files.parent, b="  images: [{name: z}]\n")
    (files / "link.yaml").symlink_to(files.parent / "b.yaml")
    assert "is outside of the directory" in problem(write(files, a="  include: [link.yaml]\n"))
