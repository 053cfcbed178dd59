from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubesim.testing.cases import collect, parse_seeds
from tests.support.scenario_files import write_scenario


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("7", (7,)), ("1..4", (1, 2, 3, 4)), ("3, 1..2,2", (3, 1, 2)), ("0..0", (0,))],
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "x", "1..", "..3", "4..1", "1..999999999", "-1", "1.5", "²"])
def test_invalid_seeds_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="seed"):
        parse_seeds(text)


def test_a_directory_yields_all_its_scenarios_in_order(tmp_path: Path) -> None:
    for name in ("b", "a", "sub/c"):
        write_scenario(tmp_path, name.replace("/", "-")).rename(_below(tmp_path, f"{name}.yaml"))
    (tmp_path / "values.yaml").write_text("replicas: 3\n")
    (tmp_path / "notes.txt").write_text("kubesim.dev/v1alpha1\n")
    found = collect([str(tmp_path)])
    assert [os.path.relpath(case.file, tmp_path) for case in found.cases] == ["a.yaml", "b.yaml", "sub/c.yaml"]
    assert (found.others, found.problems) == (1, [])


def _below(folder: Path, name: str) -> Path:
    (folder / name).parent.mkdir(exist_ok=True)
    return folder / name


def test_a_file_is_used_once_and_each_seed_is_a_case(tmp_path: Path) -> None:
    path = str(write_scenario(tmp_path, "web"))
    found = collect([path, str(tmp_path), path], seeds=(1, 2))
    assert [(case.file, case.seed, case.named) for case in found.cases] == [(path, 1, True), (path, 2, True)]


def test_each_cell_of_a_matrix_is_a_case() -> None:
    """Unless a seed is given, which replaces the matrix's own."""
    matrix = str(Path(__file__).parents[2] / "scenarios" / "language" / "matrix.yaml")
    cases = collect([matrix], seeds=()).cases
    assert len(cases) == len({case.label for case in cases}) == 8
    assert {(case.scenario.spec.profile, case.seed) for case in cases} == {
        (profile, seed) for profile in ("v1.30", "v1.36") for seed in (0, 1)
    }
    assert len(collect([matrix], seeds=(7,)).cases) == 4


def test_words_filter_by_path_or_name(tmp_path: Path) -> None:
    write_scenario(tmp_path / "shop", "web")
    write_scenario(tmp_path, "job")
    names = [case.scenario.name for case in collect([str(tmp_path)], words=["SHOP", "absent"]).cases]
    assert names == ["web"]


def test_all_errors_of_all_files_are_found(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    wrong = write_scenario(tmp_path, "wrong")
    wrong.write_text(wrong.read_text().replace("duration: 10s", "duration: 10\n  sed: 1"))
    (tmp_path / "broken.yaml").write_text("apiVersion: kubesim.dev/v1alpha1\nkind: [\n")
    found = collect([str(tmp_path), str(tmp_path / "absent.yaml")])
    assert [case.scenario.name for case in found.cases] == ["good"]
    reported = [str(problem).removeprefix(f"{tmp_path}/") for problem in found.problems]
    assert [text.partition(": ")[0] for text in reported] == [
        "broken.yaml:3",
        "wrong.yaml:8",
        "wrong.yaml:9",
        "absent.yaml",
    ]


def test_a_directory_without_scenarios_is_an_error(tmp_path: Path) -> None:
    assert "no file in this directory is of kind Scenario" in str(collect([str(tmp_path)]).problems[0])


def test_only_a_run_with_the_scenarios_own_seed_has_a_snapshot(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "web")
    snapshots = [case.snapshot for case in collect([str(path)], seeds=(0, 1)).cases]
    assert snapshots == [str(tmp_path / "web.timeline"), ""]
