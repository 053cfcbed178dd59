"""`kubesim lab`: from the list to the end of a lab, for learners and teachers."""

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
    """A progress file of its own, in the XDG state directory."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("KUBESIM_LABS", raising=False)
    return tmp_path / "kubesim"


class Learner:
    """Runs commands and returns their output."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> str:
        assert main(["lab", *arguments]) == code
        reported = self._capsys.readouterr()
        assert bool(reported.err) == (code == 2), reported.err
        return " ".join((reported.err if code == 2 else reported.out).split())


@pytest.fixture
def lab(capsys: pytest.CaptureFixture[str], state: Path) -> Learner:
    return Learner(capsys)


def test_the_list_has_one_line_per_lab_starting_with_its_number(
    capsys: pytest.CaptureFixture[str], state: Path
) -> None:
    assert main(["lab", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line.split()[0]) for line in lines] == [lab.number for lab in LABS]
    assert all(lab.file.title in line and lab.file.about in line for lab, line in zip(LABS, lines, strict=True))
    assert max(map(len, lines)) <= 100


def test_lab_1_from_start_to_end(lab: Learner, state: Path) -> None:
    assert "Predict 1 of 5" in lab("start", "1")
    reported = lab("check", "10s")
    assert re.search(r"Your prediction: 10s\. The run: \d+ms \(with another seed: 0s to 1s\)\. Not quite\.", reported)
    assert re.search(r"The first difference is at \d\.\d+s, record #\d+: runtime crash", reported)
    assert "`kubectl get pods` shows: NAME READY STATUS RESTARTS AGE crash 0/1 Error 0" in reported
    assert "computePodActions" in reported
    assert "Question 2 of 5" in reported
    assert 'Not quite: "1s" is wrong. The first restart did not wait.' in lab("check", "1s", code=1)
    assert "Question 3 of 5" in lab("check", "11s")
    lab("check", "40s", "Running", "6")
    assert "Task: Change the scenario" in lab("start", "1")
    assert "Not quite. These expectations failed: " in lab("check", code=1)
    assert lab("hint").startswith("Hint 1 of 3: ")
    assert lab("hint").startswith("Hint 2 of 3: ")
    assert lab("hint").endswith("spec: + restartPolicy: Never containers:")
    (state / "labs" / "01-first-crash" / "scenario.yaml").write_text((LABS[0].folder / "solved.yaml").read_text())
    assert "Correct: every expectation of the task is met. Lab 1 is done. Try freely: " in lab("check")
    assert "1 The first crash is free done" in lab("list")
    assert "Inside lab 1" in lab("inside")
    assert lab("next").startswith("# When the back-off is reset")


def test_progress_is_saved(lab: Learner) -> None:
    lab("start", "first-crash")
    lab("check", "10s", "11s")
    assert "1 The first crash is free 2/5" in lab("list")
    assert "Question 3 of 5" in lab("start", "1")
    lab("reset", "1")
    assert "1 The first crash is free 0/5" in lab("list")
    assert "no lab in progress" in lab("check", "10s", code=2)
    lab("start", "2")
    lab("reset")
    assert "no lab in progress" in lab("hint", code=2)


def test_answers_before_an_invalid_one_count(lab: Learner) -> None:
    lab("start", "1")
    assert "'Running' is not a duration" in lab("check", "10 seconds", "Running", code=2)
    assert "1 The first crash is free 1/5" in lab("list")


def test_a_closed_pipe_loses_no_answer(state: Path) -> None:
    command = f"{sys.executable} -m kubesim lab start 1 | head -1; {sys.executable} -m kubesim lab check 10s | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.startswith("# The first crash is free\nYour prediction: 10s.")
    progress = json.loads((state / "labs.json").read_text())
    assert progress["labs"]["01-first-crash"]["questions"]["first-restart"]["done"]


def test_without_an_answer_it_prompts_in_a_loop(lab: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    lab("start", "4")
    typed = "app logger proxy\nsoon\n\n0s\nhint\n5s\n25\n20 seconds\nthree\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    reported = lab("check")
    assert "Correct. at " in reported
    assert "'soon' is not a duration" in reported
    assert 'Not quite: "0s" is wrong.' in reported
    assert "Hint 1 of 3: " in reported
    assert "Correct: 5.015s." in reported
    assert "Lab 4 is done. Try freely: " in reported


def test_the_loop_ends_when_the_learner_quits(lab: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    lab("start", "4")
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\napp, logger, proxy\n"))
    assert "Correct" not in lab("check")
    assert "4 Who dies last 0/5" in lab("list")


def test_lists_ranges_and_units_need_no_quotes(lab: Learner) -> None:
    lab("start", "3")
    reported = lab("check", "schema", "proxy", "warmup", "app", "12", "to", "17", "s", "2", "or", "3", "pending")
    assert reported.count("Correct") == 4
    lab("start", "12")
    reported = lab("check", "once", "about", "16", "seconds", "at", "once", "no", "none")
    assert reported.count("Correct") == 5


def test_hints_are_counted(lab: Learner, state: Path) -> None:
    lab("start", "1")
    lab("check", "10s")
    lab("hint")
    assert "kubesim lab step --break-on" in lab("hint")
    assert "the answer is" in lab("hint")
    progress = json.loads((state / "labs.json").read_text())
    assert progress["labs"]["01-first-crash"]["questions"]["second-restart"]["hints"] == 3


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
    lab("--class", str(ada), "--learner", "Ada", "hint")  # also before the action
    assert "Ada 01-first-crash no 1/5 0 2 1" in lab("class", str(ada))
    assert "is not a file that --class wrote" in lab("class", str(LABS[0].scenario_path), code=2)


def test_the_environment_names_the_file_of_a_class(
    lab: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bo = tmp_path / "bo.json"
    monkeypatch.setenv("KUBESIM_CLASS", str(bo))
    monkeypatch.setenv("KUBESIM_LEARNER", "Bo")
    lab("start", "1")
    lab("check", "1s")
    assert "Bo 01-first-crash" in lab("class", str(bo))


def test_a_custom_lab(lab: Learner, tmp_path: Path) -> None:
    mine = str(tmp_path / "mine")
    assert "01-slow-start: a new lab. Change its files, then:" in lab("new", "--labs", mine, "slow-start")
    assert lab("validate", "--labs", mine) == "01-slow-start: ok"
    assert lab("validate", "--labs", mine, "1") == lab("validate", "--labs", mine, "slow-start") == "01-slow-start: ok"
    assert "Slow start" in lab("list", "--labs", mine)
    solution = tmp_path / "mine" / "01-slow-start" / "solution.yaml"
    solution.write_text(solution.read_text().replace("1s", "1m"))
    reported = lab("validate", f"{mine}/01-slow-start", code=1)
    assert reported.startswith("01-slow-start: 1 problem solution.yaml: second-start: '1m' is wrong: the run has")


def test_a_new_lab_is_written_to_the_current_directory(
    lab: Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reported = lab("new", "slow-start")
    assert (tmp_path / "01-slow-start" / "lab.yaml").is_file()
    validate, start = re.findall(r"kubesim lab (validate \S+|start --labs \S+ \d+)", reported)
    assert lab(*validate.split()) == "01-slow-start: ok"
    assert lab(*start.split()).startswith("# Slow start")


def test_a_shipped_lab_is_validated_by_its_number(lab: Learner) -> None:
    assert lab("validate", "3", "first-crash") == "03-init-sidecar-app: ok 01-first-crash: ok"


def test_the_run_with_another_version_can_be_stepped_through(lab: Learner, monkeypatch: pytest.MonkeyPatch) -> None:
    lab("start", "15")
    lab("check", "fetch, server")
    lab("hint")
    command = re.search(r"kubesim lab (step --profile v1.37) --break-on", lab("hint"))
    assert command is not None
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    assert "(v1.37)" not in lab("step")
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    assert "(v1.37)" in lab(*command[1].split(), "--break-on", "cri.call StartContainer container=migrate")


def test_stepping(lab: Learner) -> None:
    reported = lab("walk")
    stops = (
        "HandlePodAdditions", "UpdatePod", "podWorkerLoop", "SyncPod", "containerRuntime.SyncPod", "createPodSandbox",
        "RunPodSandbox", "setupPodNetwork", "CNI_COMMAND=ADD", "stdin:", "Start containers", "The first packet",
    )  # fmt: skip
    places = [reported.index(stop) for stop in stops]
    assert places == sorted(places)
    assert "SANDBOX web ready" in reported
    assert "address 10.88.0.10" in reported


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("start", "99"), "no lab '99' in"),
        (("start", "1", "--labs", "nowhere"), "no such directory of labs"),
        (("check", "10s"), "no lab in progress; start one with: kubesim lab start 1"),
        (("validate", "nowhere"), "no lab 'nowhere' in"),
        (("validate", "./nowhere"), "the folder of a lab has a name such as 07-some-name"),
        (("step", "--profile", "v9"), "v9"),
        (("class", "nowhere.json"), "cannot be read"),
        (("new", "A B"), "no name for a lab"),
    ],
)
def test_usage_errors_are_one_line(lab: Learner, arguments: tuple[str, ...], problem: str) -> None:
    reported = lab(*arguments, code=2)
    assert reported.startswith("kubesim: error: ")
    assert problem in reported


def test_a_damaged_progress_file_is_an_error_and_not_overwritten(lab: Learner, state: Path) -> None:
    state.mkdir()
    (state / "labs.json").write_text("{not json")
    assert "cannot be read as progress of labs; remove it" in lab("list", code=2)
    assert (state / "labs.json").read_text() == "{not json"
