"""The report in a real browser: opening, scrubbing, filters, search, links, printing, and kubectl's output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from kubesim.golang.durations import parse_duration
from tests.support.browser.chromium import BrowserPage, Chromium
from tests.support.browser.node import PACKAGES, needs

SCENARIOS = Path(__file__).parents[3] / "scenarios"
HOSTILE = "<img src=x onerror=document.title=/broken/></script><script>document.title=/broken/</script>"
MOST_ROWS = 20  # of a table on the page


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


@pytest.fixture
def tab(browser: Chromium) -> Iterator[BrowserPage]:
    """In every test the console has no error and the page makes no request."""
    made = browser.page()
    yield made
    assert made.problems() == []
    assert made.requests() == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


def report(folder: Path, name: str) -> Path:
    path = folder / f"{name}.html"
    if not path.exists():
        assert main(["run", "-q", str(SCENARIOS / f"{name}.yaml"), "--report", str(path)]) == 0
    return path


def chosen(tab: BrowserPage) -> int:
    """The number of the shown record."""
    found = re.search(r"record (\d+) of", tab.text("#moment"))
    assert found is not None
    return int(found[1])


def table(tab: BrowserPage, kind: str) -> list[list[str]]:
    return cells(tab, f".kubectl-{kind}")


def cells(tab: BrowserPage, selector: str) -> list[list[str]]:
    rows = f"[...document.querySelectorAll('{selector} tr')]"
    found: list[list[str]] = tab.value(f"{rows}.map((row) => [...row.cells].map((cell) => cell.textContent))")
    return found


def columns(text: str) -> list[list[str]]:
    """The cells of a table printed by kubectl; each column starts under its name."""
    lines = text.rstrip("\n").split("\n")
    begins = [found.start() for found in re.finditer(r"\S+(?: \S+)*", lines[0])]
    ends = [*begins[1:], None]
    return [[line[begin:end].strip() for begin, end in zip(begins, ends, strict=True)] for line in lines]


# -- the state at a moment ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        ("crashloop", ["1s", "25s", "2m30s"]),
        ("probes", ["3s", "20s", "50s"]),
        ("graceful-delete", ["1s", "12s"]),
        ("two-nodes", ["2s", "9s"]),
        ("job", ["2s", "20s"]),
    ],
)
def test_it_shows_what_kubectl_prints_at_a_given_time(
    name: str, moments: list[str], tab: BrowserPage, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = report(folder, name)
    for moment in moments:
        seconds = parse_duration(moment) / 1_000_000
        tab.open(path, f"#t={seconds:g}&tab=kubectl")
        for kind, flags in (("pods", ["-A"]), ("nodes", []), ("events", ["-A"])):
            capsys.readouterr()
            file = str(SCENARIOS / f"{name}.yaml")
            assert main(["get", kind, *flags, "-o", "wide", "--at", moment, file]) == 0
            printed = capsys.readouterr().out
            shown = table(tab, kind)
            assert shown == (columns(printed)[: MOST_ROWS + 1] if printed else []), (moment, kind)


# -- scrubbing ------------------------------------------------------------------------------------------------------


def test_keys_and_the_scrubber_step_forward_and_back_through_every_record(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "crashloop"))
    assert chosen(tab) == 1
    tab.press("ArrowRight")
    tab.press("ArrowRight")
    assert chosen(tab) == 3
    tab.press("ArrowLeft")
    assert chosen(tab) == 2
    tab.press("End")
    last = chosen(tab)
    assert f"record {last} of {last}" in tab.text("#moment")
    tab.value("scrub.value = '13'; scrub.dispatchEvent(new Event('input'))")
    assert chosen(tab) == 14
    assert "decide: create sandbox, start main" in tab.text("#a-panel h2")
    assert "no sandbox exists yet, so one is created" in tab.text("#a-panel")
    assert "kuberuntime_manager.go computePodActions" in tab.text("#a-panel code")


def test_the_list_has_the_usual_keys_of_a_list(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "crashloop"))
    tab.value("document.querySelector('.list').focus()")
    for key, record in (("ArrowDown", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("ArrowRight", 3)):
        tab.press(key)
        assert chosen(tab) == record
    tab.press("PageDown")
    assert chosen(tab) > 6
    active = tab.value("document.querySelector('.list').getAttribute('aria-activedescendant')")
    assert tab.value(f"document.getElementById('{active}').getAttribute('aria-selected')") == "true"
    tab.press("PageUp")
    tab.press("PageUp")
    assert chosen(tab) == 1


def test_a_record_shows_the_state_before_and_after_it_and_its_causes(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "crashloop"), "#seq=44")  # the pod is Running at the API server
    rows = cells(tab, ".changes")
    assert ["status: phase", "Pending", "Running"] in rows
    chain = tab.value("[...document.querySelectorAll('.chain li')].map((each) => each.textContent)")
    assert "sync: SyncPod" in chain[1]
    tab.press("c")
    assert chosen(tab) == 41
    assert tab.value("document.querySelector('#runs [aria-expanded=true]') !== null")


# -- finding --------------------------------------------------------------------------------------------------------


def test_a_search_finds_its_matches_and_steps_through_them(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "crashloop"))
    tab.press("/")
    tab.call("Input.insertText", text="kind:event backoff")
    found = int(tab.text("#found").split()[0])
    assert found > 1
    tab.value("document.activeElement.blur()")
    seen = []
    for _ in range(found):
        tab.press("n")
        assert "BackOff" in tab.text("#a-panel h2")
        seen.append(chosen(tab))
    assert seen == sorted(set(seen))
    tab.press("n")
    assert chosen(tab) == seen[0]


def test_filters_limit_lanes_and_records(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "probes"))
    everything = int(tab.value("scrub.max"))
    select = "document.getElementById('filter-pod')"
    tab.value(f"{select}.value = 'default/sick'; {select}.dispatchEvent(new Event('change'))")
    assert 0 < int(tab.value("scrub.max")) < everything
    labels = tab.value("[...document.querySelectorAll('button.lane-label')].map((each) => each.textContent)")
    assert labels == ["▾ node-1", "▾ sick"]
    rows = tab.value("[...document.querySelectorAll('.list-row .what')].map((each) => each.textContent)")
    assert rows
    assert all(row.startswith("sick") for row in rows)


def test_a_link_opens_its_time_pod_and_tab_and_an_invalid_one_the_start(tab: BrowserPage, folder: Path) -> None:
    path = report(folder, "probes")
    tab.open(path, "#t=42.1&pod=sick&tab=logs")
    assert tab.text("#moment").startswith("42.100s")
    assert tab.value("document.getElementById('filter-pod').value") == "default/sick"
    assert tab.text("[role=tab][aria-selected=true]") == "Logs"
    tab.open(path, "#t=never&pod=<b>&tab=x&seq=99999999")
    assert tab.text("#moment").endswith(f"record {chosen(tab)} of {chosen(tab)}")
    tab.open(path, "#t=never")
    assert chosen(tab) == 1


def test_a_run_without_records_shows_its_cluster(tab: BrowserPage, folder: Path) -> None:
    scenario, path = folder / "empty.yaml", folder / "empty.html"
    scenario.write_text(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: empty}\nspec: {duration: 5s}\n"
    )
    assert main(["run", "-q", str(scenario), "--report", str(path)]) == 0
    tab.open(path, "#t=3&tab=kubectl")
    assert table(tab, "nodes")[1][:4] == ["node-1", "Ready", "<none>", "63s"]
    assert tab.text("#moment") == "3.000s · no records"
    for key in ("1", "2", "4", "5", "ArrowRight", "End", "c", "n"):
        tab.press(key)
    assert accessible(tab) == []


# -- two runs -------------------------------------------------------------------------------------------------------


def test_two_runs_are_shown_next_to_each_other_at_their_first_difference(tab: BrowserPage, folder: Path) -> None:
    path = folder / "diff.html"
    flags = ["--profile", "v1.30", "--profile", "v1.36", "--report", str(path)]
    assert main(["diff", *flags, str(SCENARIOS / "crashloop.yaml")]) == 1
    tab.open(path)
    names = tab.value("[...document.querySelectorAll('.run-name')].map((each) => each.textContent)")
    assert names == ["v1.30", "v1.36"]
    assert "First difference: at 0.525s, pod crash" in tab.text("#difference")
    assert "Pulled" in tab.text("#a-panel h2")
    assert "can be accessed by the pod" in tab.text("#b-panel h2")
    tab.press("End")
    assert tab.text("#b-panel h2") != ""
    assert accessible(tab) == []


def test_two_runs_share_one_time_axis(tab: BrowserPage, folder: Path) -> None:
    path = folder / "lengths.html"
    flags = ["--profile", "v1.12", "--profile", "v1.36", "--report", str(path)]
    assert main(["diff", *flags, str(SCENARIOS / "graceful-delete.yaml")]) == 1
    for moment in ("#t=5", "#t=14", "#t=20"):  # the second run has ended by then
        tab.open(path, moment)
        left, right = tab.value(
            "[...document.querySelectorAll('.playhead')].map((each) => parseFloat(each.style.left))"
        )
        assert abs(left - right) < 2  # pixels: one has a border


def test_saved_traces_are_compared_on_a_page_too(
    tab: BrowserPage, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for seed in ("1", "2"):
        capsys.readouterr()
        assert main(["run", str(SCENARIOS / "hello-pod.yaml"), "--seed", seed, "-o", "jsonl"]) == 0
        files.append(folder / f"{seed}.jsonl")
        files[-1].write_text(capsys.readouterr().out)
    assert main(["diff", *map(str, files), "--report", str(folder / "saved.html")]) in (0, 1)
    tab.open(folder / "saved.html", "#tab=kubectl")
    assert "were not kept" in tab.text("#a-panel")


# -- people and paper -----------------------------------------------------------------------------------------------


def accessible(tab: BrowserPage) -> list[tuple[str, list[str]]]:
    """The rules of axe-core that the page breaks, with the elements."""
    script = PACKAGES / "axe-core" / "axe.min.js"
    needs(script.is_file(), f"the npm package axe-core is not in {PACKAGES}")
    tab.value(script.read_text() + "; true")
    found: list[dict[str, Any]] = tab.value("axe.run().then((done) => done.violations)")
    return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_passes_the_rules_of_accessibility(scheme: str, tab: BrowserPage, folder: Path) -> None:
    tab.prefer(scheme)
    for name in ("decision", "state", "kubectl", "logs", "network"):
        tab.open(report(folder, "probes"), f"#t=25&tab={name}&q=liveness")
        assert accessible(tab) == []


def test_it_uses_the_colours_of_the_system_or_those_that_the_reader_selects(tab: BrowserPage, folder: Path) -> None:
    tab.prefer("dark")
    tab.open(report(folder, "crashloop"))
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = tab.value(paper)
    tab.prefer("light")
    tab.wait(f"{paper} !== '{dark}'")
    light = tab.value(paper)
    assert light == "rgb(255, 255, 255)"
    tab.value("theme.click(); theme.click()")
    assert (tab.text("#theme"), tab.value(paper)) == ("Colours: dark", dark)


def test_a_page_can_be_printed(tab: BrowserPage, folder: Path) -> None:
    tab.open(report(folder, "crashloop"), "#seq=14")
    printed = tab.pdf()
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 3
    tab.prefer("dark", media="print")
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.value("getComputedStyle(document.querySelector('.search')).display") == "none"
    tab.prefer("light")


def test_hostile_names_and_output_are_shown_as_text(tab: BrowserPage, folder: Path) -> None:
    scenario = folder / "hostile.yaml"
    command = json.dumps(["sh", "-c", f"echo '{HOSTILE}'; sleep 100"])
    scenario.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
        f"  - {{name: main, image: 'busybox:1', command: {command}}}\n"
    )
    path = folder / "hostile.html"
    assert main(["run", "-q", "--until", "10s", str(scenario), "--report", str(path)]) == 0
    for name in ("decision", "state", "kubectl", "logs", "network"):
        tab.open(path, f"#t=9&tab={name}&q=<img&pod=<script>")
        assert tab.value("document.querySelectorAll('img').length") == 0
        assert "broken" not in tab.value("document.title")
        if name == "logs":
            assert "<img src=x onerror=" in tab.text("#a-panel")
