"""`make bench` of the report of 500 pods for an hour: size, load time, and step time in a browser.

CPU time is that of the page's main thread, which is comparable even on a busy machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kubesim.app import run_scenario
from kubesim.cli.flags.saving_flags import header_of
from kubesim.cli.pictures.report import ReportedRun, write_report
from kubesim.clock.garbage import collected_rarely
from kubesim.clock.stopwatch import Stopwatch
from kubesim.scenario.load.loader import parse_scenario
from kubesim.values import value_object
from tests.support.browser.chromium import BrowserPage, Chromium

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: report}
spec:
  duration: 1h
  kubeletConfiguration: {maxPods: 100000}
  images: [{name: "*", present: true}]
"""
# Each container ends after some minutes, a third with an error: crash loops for most of the hour.
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number:03d}}}
spec:
  containers:
  - {{name: main, image: "busybox:1", command: [sh, -c, "echo up; sleep {seconds}; exit {code}"]}}
"""
# Steps by key and moves of the scrubber, each until the page is laid out; times in milliseconds, ascending.
STEPS = """(async () => {
  const times = [];
  const scrub = document.getElementById("scrub");
  const step = async (action) => {
    const begin = performance.now();
    action();
    document.body.offsetHeight;
    times.push(performance.now() - begin);
    await new Promise((resume) => requestAnimationFrame(() => setTimeout(resume, 0)));
  };
  for (let n = 0; n < 50; n++) {
    await step(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true })));
    scrub.value = String(Math.round((n / 50) * Number(scrub.max)));
    await step(() => scrub.dispatchEvent(new Event("input")));
  }
  return times.sort((one, other) => one - other);
})()"""
TABS = ("decision", "state", "kubectl", "logs", "network")


@value_object
class ReportFigures:
    """`steps`: milliseconds per step and tab: median real time, and mean CPU time with painting."""

    records: int
    megabytes: float
    opens: tuple[float, float]  # real seconds, and CPU seconds
    steps: dict[str, tuple[float, float]]


def figures(pods: int) -> ReportFigures:
    texts = (POD.format(number=number, seconds=300 + 7 * number, code=number % 3 // 2) for number in range(pods))
    scenario = parse_scenario(SCENARIO + "".join(texts), "report.yaml")
    header = header_of(scenario, None)
    run = ReportedRun(header)
    with tempfile.TemporaryDirectory() as folder, collected_rarely():
        path = Path(folder) / "report.html"
        result = run_scenario(scenario, sinks=run.sinks())
        write_report(str(path), run, header, result)
        with Chromium() as browser:
            page = browser.page()
            page.call("Performance.enable", timeDomain="threadTicks")
            watch = Stopwatch()
            page.open(path)
            opens = watch.seconds(), cpu_seconds(page)
            steps = {}
            for number, tab in enumerate(TABS, start=1):
                page.press(str(number))
                before = cpu_seconds(page)
                times = page.value(STEPS)
                steps[tab] = times[len(times) // 2], (cpu_seconds(page) - before) * 1000 / len(times)
        return ReportFigures(result.records, path.stat().st_size / 1_000_000, opens, steps)


def cpu_seconds(page: BrowserPage) -> float:
    found = page.call("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in found if each["name"] == "TaskDuration")
