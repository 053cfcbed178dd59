"""`kubesim attach --replay`: a recording of a real node, damaged recordings, and invalid flags."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.attach.replay.recording import read_recording
from kubesim.attach.replay.replay import visits
from kubesim.cli.main import main
from tests.support.attach.recorded_node import RECORDING as NODE
from tests.support.attach.recorded_node import recording as lines

Line = dict[str, Any]


def written(path: Path, values: list[Line]) -> str:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return str(path)


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    code = main(["attach", "--replay", *arguments])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err


def test_a_real_node_has_no_divergence(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = replayed(capsys, str(NODE))
    found = re.fullmatch(r"0 divergences, (\d+) predictions kept, (\d+) statements", out[-1])
    assert found is not None, out
    assert int(found[1]) >= 120
    assert int(found[2]) > 300
    assert (code, err) == (0, "")
    assert out[0].split() == ["PREDICTION", "KEPT", "MISSED"]
    kept, missed = (sum(int(line.split()[column]) for line in out[1:-2]) for column in (1, 2))
    assert out[-2].split()[:3] == ["all", str(kept), str(missed)]
    assert kept == int(found[1])
    assert kept >= 0.95 * (kept + missed)


def test_a_follower_may_start_late(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = replayed(capsys, str(NODE), "--from", "5m")
    found = re.fullmatch(r"0 divergences, (\d+) predictions kept, \d+ statements", out[-1])
    assert found is not None
    assert 10 <= int(found[1]) < 120
    assert code == 0


def test_followers_that_start_at_intervals() -> None:
    recording = read_recording(str(NODE))
    found = list(visits(recording, late_by=60 * SECOND, interval=300 * SECOND))
    assert [(visit.begin - recording.begin) // SECOND for visit in found] == [60, 360, 660, 960]
    assert [(visit.end - visit.begin) // SECOND for visit in found[1:]] == [120, 120, 64]
    assert found[0].end == found[-1].end == recording.end


def test_each_follower_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    _, alone, _ = replayed(capsys, str(NODE))
    _, out, _ = replayed(capsys, str(NODE), "--every", "5m")
    assert [line[:13] for line in out if line.startswith("-- ")] == ["-- a follower"] * 4
    assert _statements(out) > _statements(alone)


def _statements(out: list[str]) -> int:
    return int(out[-1].split(", ")[2].split()[0])


def test_an_altered_status_is_detected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = lines()
    altered = next(v for v in values if v.get("type") == "MODIFIED" and _is_running(v["object"], "start-ok"))
    altered["object"]["status"]["phase"] = "Pending"
    path = written(tmp_path / "tampered.jsonl", values)
    code, out, _ = replayed(capsys, path)
    assert code == 3
    assert re.match(r"\d\d:\d\d:\d\d\.\d{3} \(\+.*\) \w+ market/start-ok: ", out[0])
    assert not out[-1].startswith("0 divergences")
    code, out, _ = replayed(capsys, path, "-o", "jsonl")
    first = json.loads(out[0])
    assert (code, first["type"], first["pod"]) == (3, "divergence", "market/start-ok")


def _is_running(obj: Line, name: str) -> bool:
    return bool(obj.get("metadata", {}).get("name") == name and obj.get("status", {}).get("phase") == "Running")


def test_the_delay_of_a_stopped_kubelet_is_shown_and_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All pods of the node stop changing; one copy of the recording has a note that the kubelet was stopped."""
    values = lines()
    begin = next(v["t"] for v in values if v.get("type") == "LIST" and v["kind"] == "Pod")
    silent = [v for v in values if v.get("kind") in ("Node", "Lease") or v["t"] < begin + 40 or "action" in v]
    code, out, _ = replayed(capsys, written(tmp_path / "silent.jsonl", silent))
    assert code == 3
    assert " late market/" in out[0]
    stop = {"t": begin + 40, "action": "restart kubelet", "phase": "stop"}
    actions = [v for v in silent if v.get("action") != "restart kubelet"]
    reported = sorted([*actions, stop], key=lambda value: float(value["t"]))
    code, out, _ = replayed(capsys, written(tmp_path / "stopped.jsonl", reported))
    assert code == 0
    assert out[0].endswith("[the kubelet was stopped; not counted]")
    assert out[-1].startswith("0 divergences")


def test_text_of_a_recording_is_shown_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = lines()
    for value in values:
        for obj in [value.get("object"), *value.get("items", [])]:
            if obj and obj.get("metadata", {}).get("name") == "start-ok":
                obj["metadata"]["name"] = "start-ok\x1b[31m\x9b"
                if _is_running(obj, "start-ok\x1b[31m\x9b"):
                    obj["status"]["phase"] = "Pending"
    for form in ("text", "jsonl"):
        code, out, _ = replayed(capsys, written(tmp_path / "escape.jsonl", values), "-o", form)
        assert code == 3
        assert any("[31m" in line for line in out)
        assert all(line.isprintable() for line in out)


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda raw: raw[:-5], ":918: the line is cut off"),
        (lambda raw: raw.replace(b'"kind":"Pod"', b'"kind":"Pud"', 1), "kind: must be one of Pod, Event, Node, Lease"),
        (lambda raw: raw.replace(b'"type":"LIST"', b'"type":"LOST"', 1), "type: must be one of LIST, ADDED"),
        (lambda raw: raw.replace(b'{"t":', b'{"t":"', 1), ":1: not JSON"),
        (lambda raw: raw.split(b"\n", 1)[1], ":1: the first line of a recording is its header"),
        (lambda raw: raw + b"[]\n", ":919: not a JSON object"),
        (lambda raw: raw + b'{"t":1}\n', ":919: neither a message, nor an action, nor a note"),
        (lambda raw: raw + b'{"t":NaN,"note":"x"}\n', ":919: t: must be a time"),
        (lambda raw: raw + b'{"t":1,"kind":"Pod","type":"ADDED","object":{}}\n', ":919: object: not an object"),
        (lambda raw: raw + b'{"t":1,"note":' + b"[" * 99_999 + b"]" * 99_999 + b"}\n", ":919: not JSON that can"),
        (lambda raw: raw + b'{"t":1,"note":' + b"[" * 200 + b"]" * 200 + b"}\n", ":919: nested too deeply"),
        (lambda raw: raw + b'{"t":1,"note":"\xff"}\n', ":919: not JSON that can be read"),
        (lambda raw: b"", ":1: empty"),
        (lambda raw: raw.split(b"\n", 1)[0] + b"\n", "no LIST of Pods"),
    ],
)
def test_a_damaged_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Any, problem: str) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(damage(gzip.decompress(NODE.read_bytes())))
    code, out, err = replayed(capsys, str(path))
    assert (code, out, err.count("\n")) == (2, [], 1)
    assert err.startswith(f"kubesim: error: {path}")
    assert problem in err


@pytest.mark.parametrize("damage", [lambda raw: raw[:-20], lambda raw: b"plain", lambda raw: raw[:999] + b"0" * 99])
def test_a_damaged_compressed_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Any) -> None:
    path = tmp_path / "damaged.jsonl.gz"
    path.write_bytes(damage(NODE.read_bytes()))
    code, out, err = replayed(capsys, str(path))
    assert (code, out, err.count("\n")) == (2, [], 1)
    assert re.search(rf"{re.escape(str(path))}:\d+: ", err)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--replay", str(NODE), "--node", "a"], "--node needs a cluster"),
        (["--replay", str(NODE), "--once"], "--once needs a cluster"),
        (["--replay", str(NODE), "--for", "1s"], "--for needs a cluster"),
        (["--replay", str(NODE), "--record", "x"], "--record needs a cluster"),
        (["--replay", str(NODE), "--agent"], "--agent needs a cluster"),
        (["--replay", str(NODE), "--configz"], "--configz needs a cluster"),
        (["--replay", str(NODE), "--request-timeout", "1s"], "--request-timeout needs a cluster"),
        (["--replay", str(NODE), "--view", "twin"], "use --agent instead of --view twin"),
        (["--replay", str(NODE), "-o", "json"], "use -o jsonl"),
        (["--replay", str(NODE), "--from", "1h"], "is shorter than that"),
        (["--replay", str(NODE) + ".not"], "No such file"),
        (["--node", "a", "--from", "1s"], "--from needs --replay"),
        (["--node", "a", "--every", "1s"], "--every needs --replay"),
        (["--node", "a", "--once", "--request-timeout", "soon"], "must be an integer in seconds"),
    ],
)
def test_flags_that_cannot_be_combined(capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str) -> None:
    assert main(["attach", *arguments]) == 2
    said = capsys.readouterr()
    assert problem in said.err
    assert said.err.count("\n") == 1
