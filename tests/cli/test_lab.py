"""`kubesim lab`: from the list to the end of a lab, as a learner and as a teacher."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.labs import LABS

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Progress of this test alone, in the XDG state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBESIM_LABS", raising=False)
    return tmp_path / "kubesim"


class Learner:
    """Types commands and reads what is said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert main(["lab", *arguments]) == code
        told = self._capsys.readouterr()
        assert bool(told.err) == (code == 2), told.err
        return " ".join((told.err if code == 2 else told.out).split())


@pytest.fixture
def lab(capsys: pytest.CaptureFixture[str], state: Path) -> Learner:
    return Learner(capsys)


def test_the_list_has_one_line_for_each_lab_with_its_number_first(
    capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    assert main(["lab", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [lab.number for lab in LABS]
    assert all(lab.file.title in line and lab.file.about in line for lab, line in zip(LABS, lines, strict=True))
    assert max(map(len, lines)) <= 100


def test_from_the_start_of_lab_1_to_its_end(lab: Learner, state: Path) -> None:
    assert "Predict 1 of 5" in lab("start", "1")
    told = lab("check", "10s")
    assert re.search(r"Your prediction: 10s\. The run: \d+ms\. They part at \d\.\d+s, record #\d+: runtime crash", told)
    assert "computePodActions" in told
    assert "Question 2 of 5" in told
    assert "No, not 1s. The first restart was free." in lab("check", "1s", code=1)
    assert "Question 3 of 5" in lab("check", "11s")
    lab("check", "40s", "Running", "6")
    assert "Task: Change the scenario" in lab("start", "1")
    assert "Not yet: not met" in lab("check", code=1)
    assert str(LABS[0].folder / "solved.yaml") in lab("hint")
    (state / "labs" / "01-first-crash" / "scenario.yaml").write_text((LABS[0].folder / "solved.yaml").read_text())
    assert "The task is solved" in lab("check")
    assert "1 The first crash is free done" in lab("list")
    assert "Look inside" in lab("inside")
    assert lab("next").startswith("# The ten-minute amnesty")


def test_progress_outlives_the_command(lab: Learner) -> None:
    lab("start", "first-crash")
    lab("check", "10s", "11s")
    assert "1 The first crash is free 2/5" in lab("list")
    assert "Question 3 of 5" in lab("start", "1")
    lab("reset", "1")
    assert "1 The first crash is free 0/5" in lab("list")
    assert "no lab was begun" in lab("check", "10s", code=2)
    lab("start", "2")
    lab("reset")
    assert "no lab was begun" in lab("hint", code=2)


def test_what_was_answered_before_an_answer_that_cannot_be_read_counts(lab: Learner) -> None:
    lab("start", "1")
    assert "'Running' is not a duration" in lab("check", "10s", "Running", code=2)
    assert "1 The first crash is free 1/5" in lab("list")


def test_a_reader_that_has_seen_enough_takes_nothing_away(state: Path) -> None:
    command = f"{sys.executable} -m kubesim lab start 1 | head -1; {sys.executable} -m kubesim lab check 10s | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("# The first crash is free\nYour prediction: 10s.")
    progress = json.loads((state / "labs.json").read_text())
    assert progress["labs"]["01-first-crash"]["questions"]["first-restart"]["done"]


def test_without_an_answer_it_asks(lab: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    lab("start", "4")
    typed = "app, logger, proxy\nsoon\n0s\n5s\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    told = lab("check")
    assert "They agree." in told
    assert "'soon' is not a duration" in told
    assert "No, not 0s." in told
    assert "Yes: 5.015s." in told
    assert told.endswith("(one of these: kubesim lab check ANSWER)")


def test_hints_are_counted(lab: Learner, state: Path) -> None:
    lab("start", "1")
    lab("check", "10s")
    lab("hint")
    assert "kubesim lab step --break-on" in lab("hint")
    progress = json.loads((state / "labs.json").read_text())
    assert progress["labs"]["01-first-crash"]["questions"]["second-restart"]["hints"] == 2


def test_a_class(lab: Learner, tmp_path: Path) -> None:
    ada = tmp_path / "ada.json"
    lab("start", "1", "--class", str(ada), "--learner", "Ada")
    assert json.loads(ada.read_text()) == {"learner": "Ada", "labs": []}
    lab("check", "10s", "1s", "--class", str(ada), "--learner", "Ada", code=1)
    (entry,) = json.loads(ada.read_text())["labs"]
    assert (entry["lab"], entry["done"]) == ("01-first-crash", False)
    assert entry["questions"][0] == {
        "id": "first-restart", "predict": True, "first": "10s", "right_at_first": False, "done": True, "tries": 1,
        "hints": 0,
    }  # fmt: skip
    assert "Ada 01-first-crash no 1/5 0 2 0" in lab("class", str(ada))
    lab("--class", str(ada), "--learner", "Ada", "hint")  # before the action, too
    assert "Ada 01-first-crash no 1/5 0 2 1" in lab("class", str(ada))
    assert "is no file that --class wrote" in lab("class", str(LABS[0].scenario_path), code=2)


def test_the_environment_names_the_file_of_a_class(
    lab: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bo = tmp_path / "bo.json"
    monkeypatch.setenv("KUBESIM_CLASS", str(bo))
    monkeypatch.setenv("KUBESIM_LEARNER", "Bo")
    lab("start", "1")
    lab("check", "1s")
    assert "Bo 01-first-crash" in lab("class", str(bo))


def test_a_lab_of_ones_own(lab: Learner, tmp_path: Path) -> None:
    mine = str(tmp_path / "mine")
    assert "01-slow-start: change it" in lab("new", "--labs", mine, "slow-start")
    assert lab("validate", "--labs", mine) == "01-slow-start: fine"
    assert "Slow start" in lab("list", "--labs", mine)
    solution = tmp_path / "mine" / "01-slow-start" / "solution.yaml"
    solution.write_text(solution.read_text().replace("1s", "1m"))
    told = lab("validate", f"{mine}/01-slow-start", code=1)
    assert told.startswith("01-slow-start: 1 problems solution.yaml: second-start: '1m' is not what the run says")


def test_the_walk(lab: Learner) -> None:
    told = lab("walk")
    stops = (
        "HandlePodAdditions", "UpdatePod", "podWorkerLoop", "SyncPod", "containerRuntime.SyncPod", "createPodSandbox",
        "RunPodSandbox", "setupPodNetwork", "CNI_COMMAND=ADD", "stdin:", "Start containers", "The first packet",
    )  # fmt: skip
    places = [told.index(stop) for stop in stops]
    assert places == sorted(places)
    assert "SANDBOX web ready" in told
    assert "address 10.88.0.10" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("start", "99"), "no lab '99' in"),
        (("start", "1", "--labs", "nowhere"), "no such directory of labs"),
        (("check", "10s"), "no lab was begun; kubesim lab start 1"),
        (("validate", "nowhere"), "the folder of a lab is named as 07-some-name"),
        (("class", "nowhere.json"), "cannot be read"),
        (("new", "A B"), "no name for a lab"),
    ],
)
def test_wrong_use_is_told_in_one_line(lab: Learner, arguments: tuple[str, ...], problem: str) -> None:
    told = lab(*arguments, code=2)
    assert told.startswith("kubesim: error: ")
    assert problem in told


def test_progress_that_cannot_be_read_is_told_and_not_overwritten(lab: Learner, state: Path) -> None:
    state.mkdir()
    (state / "labs.json").write_text("{not json")
    assert "cannot be read as progress of labs; remove it" in lab("list", code=2)
    assert (state / "labs.json").read_text() == "{not json"
