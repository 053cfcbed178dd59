"""A report that is served during its run: its chunks equal the finished report, and the page follows."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.cli.flags.saving_flags import header_of
from kubesim.cli.main import main
from kubesim.cli.pictures.live_report import LiveReport
from kubesim.cli.pictures.report import ReportedRun
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import Record
from kubesim.trace.report.mark import Mark, parse_mark
from tests.support.browser.chromium import Chromium
from tests.support.browser.node import FOLDER, run_node
from tests.support.http_get import get
from tests.support.processes import start

SCENARIOS = Path(__file__).parents[3] / "scenarios"
LONG = """apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: "<i>long</i>"}
spec: {duration: 10h}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: main, image: "busybox:1", command: [sh, -c, "echo hi; sleep 3; exit 1"]}
"""


class _Asking:
    """Requests the additions after every few records, as a page does."""

    def __init__(self, run: ReportedRun, period: int) -> None:
        self._run, self._period = run, period
        self.pieces: list[dict[str, Any]] = []
        self._after = str(Mark())
        self._count = 0

    def record(self, record: Record) -> None:
        self._count += 1
        if self._count % self._period == 0:
            self.ask()

    def ask(self) -> None:
        mark = parse_mark(self._after)
        assert mark is not None
        added, after = self._run.since(mark)
        self.pieces.append(json.loads(json.dumps(added)))
        self._after = str(after)


def growth(tmp_path: Path, name: str, period: int) -> Path:
    scenario = load_scenario(str(SCENARIOS / name))
    run = ReportedRun(header_of(scenario, None))
    asking = _Asking(run, period)
    result = run_scenario(scenario, sinks=(*run.sinks(), asking))
    asking.ask()
    path = tmp_path / f"{Path(name).stem}-{period}.json"
    whole = run.data(result.duration)
    path.write_text(json.dumps({"nothing": run.empty_data(), "pieces": asking.pieces, "whole": whole}))
    return path


def test_the_chunks_of_a_run_equal_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [("probes.yaml", 1), ("two-nodes.yaml", 7), ("job.yaml", 23), ("incidents/labels-after-reboot.yaml", 11)]
    found = [growth(tmp_path, name, period) for name, period in runs]
    monkeypatch.setenv("GROWTH", json.dumps([str(path) for path in found]))
    run_node("--test", str(FOLDER / "report" / "growth.test.mjs"))


def test_a_mark_is_five_numbers() -> None:
    assert parse_mark(str(Mark(5, 10, 4, 20, 9))) == Mark(5, 10, 4, 20, 9)
    for wrong in ("", "1", "1.2.3.4", "1.2.3.4.5.6", "-1.2.3.4.5", "1.2.3.4.x", "1.2.3.4.²", "1.2.3.4." + "9" * 30):
        assert parse_mark(wrong) is None


def test_a_server_returns_the_page_and_the_additions(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    scenario = str(SCENARIOS / "hello-pod.yaml")
    with start("run", "-q", "--speed", "10", "--serve", "0", "--report", str(path), scenario) as run:
        assert run.stderr is not None
        said = re.search(r"serving on (http://\S+), the report on (\S+/report)", run.stderr.readline())
        assert said is not None
        status, html = get(said[2], "")
        assert (status, "connect-src 'self'" in html) == (200, True)
        assert get(said[1], "/report/data?after=1")[0] == 400
        assert get(said[1], "/report/data?before=1.1.1.1.1")[0] == 400
        assert get(said[1], "/report/else")[0] == 404
        assert get(said[1], "/report/data", "POST")[0] == 405
        assert get(said[1], "/reports")[0] == 404
        answer = json.loads(get(said[1], "/report/data")[1])
        seqs = list(answer["records"]["columns"]["seq"])
        while not answer["ended"]:  # a page that follows gets the end
            answer = json.loads(get(said[1], f"/report/data?after={answer['after']}")[1])
            seqs += answer["records"]["columns"]["seq"]
        run.communicate()
    assert run.returncode == 0
    written = path.read_text()
    assert "connect-src" not in written
    assert "fetch(" not in written
    data = json.loads(written.split('id="data">')[1].split("</script>")[0])
    assert data["runs"][0]["records"]["columns"]["seq"] == seqs
    assert data["runs"][0]["end"] == answer["end"]


def test_a_page_follows_its_run_until_the_reader_stops(tmp_path: Path) -> None:
    scenario, path = tmp_path / "long.yaml", tmp_path / "report.html"
    scenario.write_text(LONG)
    with start("run", "-q", "--speed", "30", "--serve", "0", "--report", str(path), str(scenario)) as run:
        assert run.stderr is not None
        said = re.search(r"the report on (\S+/report)", run.stderr.readline())
        assert said is not None
        with Chromium() as browser:
            tab = browser.page()
            tab.open_url(said[1])
            last = "Number(scrub.max)"
            tab.wait(f"{last} > 5")
            seen = tab.value(last)
            tab.wait(f"{last} > {seen} && scrub.value === scrub.max")  # it follows
            tab.press("ArrowLeft")
            stays, seen = tab.value("scrub.value"), tab.value(last)
            tab.value("window.kept = document.querySelector('#a-panel > *'), true")
            tab.wait(f"{last} > {seen + 2}")
            assert tab.value("scrub.value") == stays
            assert tab.value("window.kept.isConnected")  # the record that the reader has open is not replaced
            assert tab.value("follow.getAttribute('aria-pressed')") == "false"
            assert tab.value("document.getElementById('moment').textContent.endsWith(`of ${Number(scrub.max) + 1}`)")
            tab.press("f")
            tab.wait("scrub.value === scrub.max")
            tab.press("3")
            tab.value("window.kept = document.querySelector('#a-panel select'), window.kept.focus()")
            seen = tab.value(last)
            tab.wait(f"{last} > {seen}")
            assert tab.value("window.kept.isConnected")  # an open list stays open
            tab.value("window.kept.blur()")
            tab.wait("scrub.value === scrub.max && !window.kept.isConnected")
            assert tab.value("[...document.querySelectorAll('.lane-label')].length") > 3
            assert (tab.problems(), {url.partition("?")[0] for url in tab.requests()}) == (
                [], {said[1], f"{said[1]}/data"},
            )  # fmt: skip
            run.send_signal(signal.SIGINT)
            run.communicate()
            tab.wait("document.documentElement.dataset.live === 'lost'")
            assert f"is in {path}" in tab.text("#live-state")
            tab.open(path)
            assert tab.value(last) > seen
    assert run.returncode == 130


def test_a_run_without_readers_ends_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    run = ReportedRun(header_of(load_scenario(str(SCENARIOS / "hello-pod.yaml")), None))
    live = LiveReport(run, "t", str(path))
    assert live.page("/report")[0] == 200
    with pytest.raises(StopIteration):
        live.ended().send(None)  # it waits for nothing


def test_serving_a_report_needs_a_speed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = str(SCENARIOS / "hello-pod.yaml")
    assert main(["run", "--report", str(tmp_path / "r.html"), "--serve", "0", scenario]) == 2
    assert "--serve needs --speed" in capsys.readouterr().err
