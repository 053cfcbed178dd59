"""`kubesim conformance`: the table, the differences, JSON, and answers written to files."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.cli.progress.corpora import Observer
from kubesim.conformance.stories.story_files import read_story
from tests.support.fakes.terminal import Terminal

STORIES = Path(__file__).parent.parent / "conformance" / "data" / "traces"

GIVEN = {"container": {"command": ["sleep", "f4"], "env": [{"name": "A", "value": "92a"}], "image": "app:v1",
                       "name": "db-de95"}}  # fmt: skip
ANSWER = {"hash": "2408615832", "hashHex": "8f908f98"}


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """A corpus that passes in part, one without answers, an unknown one."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    cases = [
        {"case": f"hash-{n}", "input": GIVEN, "output": ANSWER | ({"hashHex": "0"} if n > 1 else {})} for n in range(7)
    ]
    write(folder / "container_hash.jsonl", cases)
    write(folder / "weather.jsonl", [{"case": "rain"}])
    return folder


def write(path: Path, cases: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))


def test_the_table_and_the_first_differences(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(corpora)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["hash-2", '    hashHex: expected "0", got "8f908f98"']
    assert "... and 2 more failures of container_hash (--all-failures shows them)" in lines
    assert lines[-3].split() == ["corpus", "cases", "passed", "failed", "seconds"]
    assert lines[-2].split()[:4] == ["container_hash", "7", "2", "5"]
    assert lines[-1] == "weather: not known here"


@pytest.mark.parametrize(("flags", "shown"), [(["--show", "1"], 1), (["--show", "0"], 0), (["--all-failures"], 5)])
def test_how_many_failures_are_shown(
    corpora: Path, flags: list[str], shown: int, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["conformance", str(corpora), *flags])
    assert sum(line.startswith("hash-") for line in capsys.readouterr().out.splitlines()) == shown


def test_cases_that_cannot_run_here_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = {"id": "chain-1", "path": ["@REC999@"], "conflist": {}, "steps": [], "out": []}
    write(tmp_path / "real_chain.jsonl", [case])
    assert main(["conformance", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].endswith("(1 not runnable here)")
    assert lines[-1] == "chain-1: not runnable here: the plugins of @REC999@ are not installed"
    main(["conformance", str(tmp_path), "--json"])
    reported = json.loads(capsys.readouterr().out)["corpora"][0]
    assert reported["notRunnable"] == [{"case": "chain-1", "why": "the plugins of @REC999@ are not installed"}]


def test_json_for_machines(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(corpora / "container_hash.jsonl"), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["corpora"]
    (corpus,) = said["corpora"]
    assert {key: corpus[key] for key in ("name", "cases", "passed", "failed")} == {
        "name": "container_hash", "cases": 7, "passed": 2, "failed": 5,
    }  # fmt: skip
    assert corpus["failures"][0] == {"case": "hash-2", "expected": ANSWER | {"hashHex": "0"}, "actual": ANSWER}
    assert len(corpus["failures"]) == 5


def test_without_answers_all_cases_run_and_none_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "container_hash.jsonl", [{"case": "a", "input": GIVEN}, {"id": "b", "input": GIVEN}])
    out = tmp_path / "new" / "out"
    assert main(["conformance", str(tmp_path / "container_hash.jsonl"), "--emit", str(out)]) == 0
    assert "(2 without an answer: not judged)" in capsys.readouterr().out
    emitted = [json.loads(line) for line in (out / "container_hash.jsonl").read_text().splitlines()]
    assert emitted == [{"case": "a", "output": ANSWER}, {"case": "b", "output": ANSWER}]


def test_only_unknown_corpora_do_not_fail(corpora: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(corpora), "--only", "weather"]) == 0
    assert "weather: not known here" in capsys.readouterr().out


def test_a_corpus_in_two_files_is_written_to_one_file(corpora: Path, tmp_path: Path) -> None:
    more = tmp_path / "more"
    more.mkdir()
    write(more / "container_hash.jsonl", [{"case": "other", "input": GIVEN}])
    main(["conformance", str(corpora), str(more), "--emit", str(tmp_path / "out")])
    assert len((tmp_path / "out" / "container_hash.jsonl").read_text().splitlines()) == 8


@pytest.fixture
def stories(tmp_path: Path) -> Path:
    """A reproducible story, one without its outcome, one that needs something not simulated; and a file without a
    story.
    """
    folder = tmp_path / "stories"
    folder.mkdir()
    story = read_story(STORIES / "job-quick.json.gz")
    (folder / "good.json").write_text(json.dumps(story))
    bare = {key: value for key, value in story.items() if key not in ("statuses", "events")}
    (folder / "bare.json.gz").write_bytes(gzip.compress(json.dumps(bare).encode()))
    (folder / "odd.json").write_text(json.dumps(story | {"actions": [{"at": 0, "do": "dance"}]}))
    (folder / "notes.json").write_text("[]")
    return folder


def test_stories_form_one_corpus(stories: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["conformance", str(stories), "--only", "traces", "--emit", str(out)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["odd", "    could not be replayed: story job-quick: the action 'dance' is not simulated"]
    assert lines[-1].split()[:4] == ["traces", "3", "1", "1"]
    assert sorted(path.name for path in out.iterdir()) == ["bare.json", "good.json"]
    assert json.loads((out / "bare.json").read_text())["seed"] == 1


def test_a_story_is_replayed_with_the_given_seed(stories: Path, tmp_path: Path) -> None:
    main(["conformance", str(stories / "bare.json.gz"), "--seed", "7", "--emit", str(tmp_path / "out")])
    assert json.loads((tmp_path / "out" / "bare.json").read_text())["seed"] == 7


def test_a_file_without_a_story_is_an_error(stories: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(stories / "notes.json")]) == 2
    assert "not a story" in capsys.readouterr().err


def test_the_bar_needs_a_terminal() -> None:
    for screen, drawn in ((Terminal(), True), (io.StringIO(), False)):
        with Observer(None, screen) as observer:
            observer.begin("pod_phase", 2)
            observer.played("a", {})
            observer.played("b", {})
        assert ("100% pod_phase" in screen.getvalue()) == drawn
        assert screen.getvalue().endswith("\r\x1b[K" if drawn else "")
