"""The page of a report: one file, safe with any text, and equal for equal runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from kubesim.cli.pictures.report import outcome_of
from kubesim.trace import records as r
from kubesim.trace.lanes.bands import LaneSink
from kubesim.trace.report.data import run_data
from kubesim.trace.report.facts import FactSink
from kubesim.trace.report.page_file import embedded_json, page

SCENARIOS = Path(__file__).parents[3] / "scenarios"
HOSTILE = "</script><script>alert(1)</script><!-- {{script}} \u2028 \u2029 \ud800 ' \" & \x00"


class _Scripts(HTMLParser):
    """The contents of all script elements, as a browser ends them."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            self._inside = True
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "script"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += data


def scripts(html: str) -> list[str]:
    parser = _Scripts()
    parser.feed(html)
    return parser.texts


def report(tmp_path: Path, name: str = "crashloop", *more: str) -> str:
    path = tmp_path / "report.html"
    assert main(["run", "-q", str(SCENARIOS / f"{name}.yaml"), "--report", str(path), *more]) == 0
    return path.read_text()


def test_the_file_loads_nothing(tmp_path: Path) -> None:
    html = report(tmp_path)
    outside = re.findall(r"(?:src|href)=|@import|url\(|https?://[^\s\"'<]+", html)
    assert outside == []


def test_the_policy_allows_only_this_script_and_this_style(tmp_path: Path) -> None:
    html = report(tmp_path)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    script, [style] = scripts(html)[-1], re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    for name, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_no_text_of_a_run_ends_its_html_element() -> None:
    records = [r.Note(seq=1, pod=HOSTILE, container=HOSTILE, text=HOSTILE, why=HOSTILE)]
    data = {"title": HOSTILE, "outcome": [], "difference": [], "runs": [run_data(records)]}
    html = page(HOSTILE, data)
    html.encode()  # the directory is writable
    found = scripts(html)
    assert len(found) == 2
    assert json.loads(found[0]) == json.loads(json.dumps(data))
    assert not re.search("[<>&\u2028\u2029]", embedded_json(data))


def test_equal_runs_give_equal_files(tmp_path: Path) -> None:
    assert report(tmp_path) == report(tmp_path)


def test_probe_calls_without_effect_are_omitted_and_counted() -> None:
    def probe(seq: int, error: str = "") -> list[r.Record]:
        call = r.CriCall(seq=seq, pod="default/web", call="ExecSync")
        return [call, r.CriReturn(seq=seq + 1, cause=seq, pod="default/web", call="ExecSync", error=error)]

    data = run_data([*probe(1), *probe(3, "it hangs"), r.Note(seq=5, text="end")])
    strings, columns = data["strings"], data["records"]["columns"]
    assert [strings[number] for number in columns["text"]] == ["ExecSync failed: it hangs", "end"]
    assert columns["seq"] == [4, 1]
    assert data["records"]["leftOut"] == 3


def test_facts_are_stored_where_they_change() -> None:
    sink = FactSink()
    summary: dict[str, Any] = {"phase": "Pending"}
    about: dict[str, Any] = {"pod": "default/web", "uid": "u"}
    sink.record(r.SyncBegin(seq=1, sync="SyncPod", **about))
    sink.record(r.ApiWrite(seq=2, verb="patch", resource="pods/status", by="kubelet", summary=summary, **about))
    sink.record(r.SyncEnd(seq=3, sync="SyncPod", **about))
    sink.record(r.WorkerState(seq=4, state="finished", **about))
    changes = [(each.seq, each.name, each.text) for each in sink.changes["default/web"]]
    assert changes == [
        (1, "pod worker", "syncing, in SyncPod"),
        (2, "status: phase", "Pending"),
        (3, "pod worker", "syncing"),
        (4, "pod worker", ""),
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hello-pod", "crashloop"], "--report is the page of one run"),
        (["hello-pod", "--step"], "--step cannot be combined with --report"),
    ],
)
def test_a_report_has_exactly_one_run(
    arguments: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word if word.startswith("-") else str(SCENARIOS / f"{word}.yaml") for word in arguments]
    assert main(["run", *words, "--report", str(tmp_path / "r.html")]) == 2
    assert problem in capsys.readouterr().err


def test_an_unwritable_file_is_an_error_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "missing" / "r.html")
    assert main(["run", str(SCENARIOS / "hello-pod.yaml"), "--report", path]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"kubesim: error: --report {path}: No such file or directory\n"


def test_failures_and_counts_are_before_pods() -> None:
    pods = [f"pod-{number}: Running" for number in range(9)]
    lines = [*pods, "FAILED: pod x must be Running", "by 10s", "invariant VIOLATED: y", "run, seed 0: 5 records"]
    outcome = outcome_of(lines)
    assert [each["text"] for each in outcome] == [
        *lines[9:10],
        lines[11],
        lines[12],
        "pod-0: Running",
        "pod-1: Running",
    ]
    assert [each["failed"] for each in outcome] == [True, True, False, False, False]
    assert outcome_of(lines[-1:]) == [{"text": lines[-1], "failed": False}]


def bands_at(data: dict[str, Any], pod: str, t: int) -> dict[str, str]:
    """The texts of the lanes of a pod at a given time, by lane name."""
    text = data["strings"]
    lanes = next(each["lanes"] for each in data["lanes"] if text[each["pod"]] == pod)
    found = {}
    for lane in lanes:
        for begin, length, words, *_ in lane["bands"]:
            if begin <= t < begin + length:
                found[text[lane["name"]] or lane["kind"]] = text[words]
    return found


def test_lanes_include_writes_of_other_clients_than_the_kubelet(tmp_path: Path) -> None:
    """A node is lost at 20 s: its controller sets the pods to not ready, and later the pod is evicted."""
    html = report(tmp_path, "workloads/node-lost")
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])["runs"][0]
    lost = next(
        pod
        for each in data["lanes"]
        if data["strings"][each["node"]] == "node-1" and (pod := data["strings"][each["pod"]])
    )
    before, after = bands_at(data, lost, 15_000_000), bands_at(data, lost, 100_000_000)
    assert (before["Ready"], before["main"]) == ("True", "running, ready")
    assert after["Ready"] == "False"
    assert after["DisruptionTarget"] == "True/DeletionByTaintManager"


def test_lanes_end_when_any_client_deletes_the_pod() -> None:
    sink = LaneSink(sees_objects=True)
    status = {"phase": "Running", "conditions": {"Ready": "True"}}
    sink.show(0, "default/web", "", {"phase": "Pending", "conditions": {}})
    sink.record(r.WorkerState(t=5, seq=1, pod="default/web", node="n", state="syncing"))
    sink.show(10, "default/web", "n", status)
    kubelet = r.ApiWrite(t=20, seq=2, pod="default/web", verb="patch", resource="pods/status", by="kubelet")
    kubelet.summary = {"phase": "Failed"}
    sink.record(kubelet)  # the response to a write that is already among the objects
    sink.show(30, "default/web", "n", None)
    [pod] = sink.pods(50)
    bands = {(lane.kind, lane.name): [(b.begin, b.end, b.text) for b in lane.bands] for lane in pod.lanes}
    assert bands == {
        ("phase", ""): [(0, 10, "Pending"), (10, 30, "Running")],
        ("worker", ""): [(5, 50, "syncing")],
        ("condition", "Ready"): [(10, 30, "True")],
    }
