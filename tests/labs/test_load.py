"""Finding labs, and errors about invalid folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.cli.lab import play
from kubesim.errors import UsageError
from kubesim.labs.lesson import Lesson
from kubesim.labs.load import find_lab, find_labs, labs_directory, load_lab
from kubesim.labs.progress import LabProgress
from kubesim.labs.scaffold import new_lab
from kubesim.labs.validate import problems


def changed(folder: Path, file: str, old: str, new: str) -> Path:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))
    return folder


def test_a_new_lab_is_valid_and_gets_the_next_number(tmp_path: Path) -> None:
    first, second = new_lab(tmp_path, "short-life"), new_lab(tmp_path, "other")
    assert [lab.name for lab in find_labs(tmp_path)] == ["01-short-life", "02-other"]
    assert problems(load_lab(first), play) == []
    assert problems(load_lab(second), play) == []
    assert find_lab(tmp_path, "2").name == find_lab(tmp_path, "other").name == "02-other"


@pytest.mark.parametrize("name", ["Slow", "a b", "../x", ""])
def test_an_invalid_name_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="no name for a lab"):
        new_lab(tmp_path, name)


def test_a_new_lab_never_overwrites_one(tmp_path: Path) -> None:
    new_lab(tmp_path, "07-x")
    with pytest.raises(UsageError, match="exists already"):
        new_lab(tmp_path, "07-x")


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        (
            "lab.yaml",
            "predict: true",
            "predict: false",
            "the first question is the prediction",
        ),
        ("lab.yaml", "title:", "titel:", r"lab.yaml:2: titel: unknown field; did you mean title"),
        ("lab.yaml", "happens: pleg.event", "happens: pleg.evnt", "there is no kind 'pleg.evnt'"),
        ("lab.yaml", "happens: pleg.event", "happens: foo=1", "no record has a field 'foo'"),
        (
            "lab.yaml",
            "happens:",
            "count: note\n    happens:",
            "a question has one of time, count, order, value, values, happens",
        ),
        ("lab.yaml", "id: died", "id: code", "two questions have the same id"),
        ("lab.yaml", "waits: [relist]", "waits: [later]", "'later' is not a wait; known are relist"),
        ("lab.yaml", "id: died", "id: died\n    waits: [relist]", "waits are for a question about a time"),
        ("lab.yaml", "level: beginner", "level: easy", "level: input should be 'beginner'"),
        ("lab.yaml", "id: died", "id: died\n    profile: v9", "must be one of v1.6"),
        ("solution.yaml", "answers:", "answer:", "unknown field; did you mean answers"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, file: str, old: str, new: str, problem: str) -> None:
    folder = changed(new_lab(tmp_path, "x"), file, old, new)
    with pytest.raises(UsageError, match=problem):
        load_lab(folder)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_lab_needs_a_title(tmp_path: Path, text: str) -> None:
    folder = new_lab(tmp_path, "x")
    (folder / "text.md").write_text(text)
    with pytest.raises(UsageError, match=r"text.md: is empty; its first line is the title"):
        load_lab(folder)


def test_a_scenario_copy_that_is_not_text_is_rejected(tmp_path: Path) -> None:
    folder = new_lab(tmp_path, "x")
    (folder / "scenario.yaml").write_bytes(b"kind: \xb7")
    lesson = Lesson(load_lab(folder), LabProgress(), play, tmp_path / "work.yaml")
    with pytest.raises(UsageError, match=r"scenario.yaml:1: is not UTF-8 text"):
        lesson.prepare(lambda path, text: None)


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("lab.yaml", "answer: 10s", "answer: 1s", "second-start: '1s' is listed as wrong, but the run has"),
        ("solution.yaml", "second-start: 1s", "second-start: 20s", "'20s' is wrong: the run has"),
        ("solution.yaml", "  code: terminated/0/Completed\n", "", "solution.yaml: no answer to code"),
        ("solution.yaml", "answers:", "answers:\n  more: x", "there is no question 'more'"),
        ("lab.yaml", "at: pleg.event ContainerDied", "at: event reason=Evicted", "the run has no record for the stop"),
        ("lab.yaml", "choices: [terminated/0/Completed,", "choices: [other,", "which is none of the choices"),
        ("text.md", "is not restarted", "goes away", "does not quote the belief"),
        ("text.md", "## What to know", "## Else", "What to know is missing"),
        ("text.md", "## Picture", "## Else", "Picture is missing"),
        ("lab.yaml", "waits: [relist]", "waits: [resync]", "second-start: the run has"),
        ("lab.yaml", "https://kubernetes.io/", "https://example.org/", "none leads to https://kubernetes.io/"),
        ("lab.yaml", "level: beginner", "level: beginner\nkubectl: describe pod", "only `get TYPE`"),
        ("lab.yaml", "level: beginner", "level: beginner\nkubectl: get pots", "doesn't have a resource type"),
        (
            "scenario.yaml",
            "duration: 20s",
            "duration: 20s\n  expect: [{pod: short, phase: Failed}]",
            "scenario.yaml: failed",
        ),
        ("scenario.yaml", "sleep 2", "sleep 200", "second-start: the run has no record"),
    ],
)
def test_the_claims_of_a_lab_are_compared_with_its_run(
    tmp_path: Path, file: str, old: str, new: str, problem: str
) -> None:
    folder = changed(new_lab(tmp_path, "x"), file, old, new)
    assert any(problem in reported for reported in problems(load_lab(folder), play))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder = new_lab(tmp_path, "x")
    (folder / "text.md").unlink()
    with pytest.raises(UsageError, match=r"text.md: no such file; a lab has"):
        load_lab(folder)


def test_labs_are_found_by_flag_environment_or_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESIM_LABS", str(tmp_path))
    assert labs_directory() == tmp_path
    other = tmp_path / "other"
    other.mkdir()
    assert labs_directory(str(other)) == other
    monkeypatch.delenv("KUBESIM_LABS")
    assert (labs_directory() / "01-first-crash" / "lab.yaml").is_file()
    with pytest.raises(UsageError, match="no such directory of labs"):
        labs_directory(str(tmp_path / "nowhere"))
