"""Finding and running corpora: compared cases, cases without an answer, and errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kubesim.conformance.frame import is_known, read_cases
from kubesim.conformance.runner import find_corpora, run_corpus
from kubesim.errors import InputError

GIVEN = {"container": {"command": ["sleep", "f4"], "env": [{"name": "A", "value": "92a"}], "image": "app:v1",
                       "name": "db-de95"}}  # fmt: skip
ANSWER = {"hash": "2408615832", "hashHex": "8f908f98"}
RIGHT = {"case": "hash-1", "input": GIVEN, "output": ANSWER}


def write(path: Path, *cases: object) -> Path:
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return path


def test_a_case_passes_fails_or_is_not_judged(tmp_path: Path) -> None:
    wrong = RIGHT | {"case": "hash-2", "output": {"hash": "1", "hashHex": "1"}}
    bare = {"case": "hash-3", "input": GIVEN}
    result = run_corpus(write(tmp_path / "container_hash.jsonl", RIGHT, wrong, bare))
    assert (result.cases, result.passed, result.failed, result.not_judged) == (3, 1, 1, 1)
    assert result.failures[0].case == "hash-2"
    assert result.failures[0].actual == ANSWER
    assert any(line.startswith("hash: expected") for line in result.failures[0].differences)


def test_an_error_while_running_fails_only_its_case(tmp_path: Path) -> None:
    broken = {"case": "hash-2", "input": {}, "output": {}}
    result = run_corpus(write(tmp_path / "container_hash.jsonl", broken, RIGHT))
    assert (result.passed, result.failed) == (1, 1)
    problem = "cannot be played: the case is damaged, or of another version (KeyError: 'container')"
    assert result.failures[0].differences == (problem,)


def test_an_error_while_judging_fails_only_its_case(tmp_path: Path) -> None:
    """Its answer does not have the format of the corpus."""
    good = {"case": "n", "input": {"dir": [], "steps": [1]}, "output": {"steps": ["x"]}}
    result = run_corpus(write(tmp_path / "conf_sync.jsonl", good, good | {"case": "m"}))
    assert (result.cases, result.failed) == (2, 2)
    assert all("the case is damaged" in failure.differences[0] for failure in result.failures)


def test_id_and_out_are_synonyms_of_case_and_output(tmp_path: Path) -> None:
    other = {"id": "hash-9", "input": GIVEN, "out": ANSWER}
    assert run_corpus(write(tmp_path / "container_hash.jsonl", other)).passed == 1


def test_an_answer_may_be_beside_the_input(tmp_path: Path) -> None:
    good = {"case": "stderronly", "op": "ADD", "result": None,
            "error": 'plugin type="stderronly" failed (add): netplugin failed: "hello\\n"'}  # fmt: skip
    bad = good | {"error": None}
    bare = {"case": "stderronly", "op": "ADD"}
    result = run_corpus(write(tmp_path / "edge.jsonl", good, bad, bare))
    assert (result.passed, result.failed, result.not_judged) == (1, 1, 1)
    assert result.failures[0].expected == {"error": None, "result": None}


def test_a_case_that_cannot_run_here_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    case = {"id": "chain-1", "path": ["@REC999@"], "conflist": {}, "steps": [], "out": []}
    result = run_corpus(write(tmp_path / "real_chain.jsonl", case))
    assert (result.cases, result.passed, result.failed) == (1, 0, 0)
    assert result.not_runnable == {"chain-1": "the plugins of @REC999@ are not installed"}


def test_corpora_are_found_in_directories_even_compressed(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    plain = write(tmp_path / "b.jsonl")
    packed = inner / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(b""))
    (tmp_path / "README.md").write_text("not a corpus")
    assert find_corpora([tmp_path]) == [packed, plain]
    assert find_corpora([plain, tmp_path]) == [plain, packed]


def test_a_missing_path_or_another_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        find_corpora([tmp_path / "nothing"])
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"must end in \.jsonl"):
        find_corpora([tmp_path / "notes.txt"])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"case": "a"}\n{"case": \n', ":2: not JSON: Expecting value at column"),
        (b'{"case": "a\n', ":1: not JSON: Invalid control character at column 12"),
        (b"[1]\n", ":1: a case is a JSON object, not array"),
        (b"{}\n", ":1: case: a case needs an id"),
        (b'{"case": "a"}\n\xff\n', "not UTF-8 text"),
    ],
)
def test_a_malformed_file_is_an_error_with_its_line(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        list(read_cases(path))


def test_a_damaged_compressed_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"case": "a"}\n' * 1000)[:-20])
    with pytest.raises(InputError, match="damaged gzip file"):
        list(read_cases(path))


def test_only_names_with_a_module_are_known() -> None:
    assert is_known("pod_phase")
    assert not is_known("pod-phase")
    assert not is_known("weather")


def test_an_exception_in_a_callback_fails_its_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = Path(__file__).parent / "data" / "lifecycle_trace.jsonl.gz"
    with gzip.open(data, "rt") as lines:
        case = json.loads(next(lines))
    case["input"]["pod"]["spec"]["containers"] = True
    result = run_corpus(write(tmp_path / "lifecycle_trace.jsonl", case))
    assert (result.cases, result.failed) == (1, 1)
    assert "cannot be played: the case is damaged" in result.failures[0].differences[0]
    assert capsys.readouterr().err == ""


def test_a_case_with_a_negative_delay_is_invalid(tmp_path: Path) -> None:
    data = Path(__file__).parent / "data" / "lifecycle_trace.jsonl.gz"
    with gzip.open(data, "rt") as lines:
        case = json.loads(next(lines))
    case["input"]["delays"]["plegList"] = -5
    result = run_corpus(write(tmp_path / "lifecycle_trace.jsonl", case))
    assert "ValueError: delays.plegList: must not be negative, is -5" in result.failures[0].differences[0]
