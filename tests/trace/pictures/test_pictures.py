"""Pictures of a run: SVG that any XML parser accepts, and diagrams that Mermaid's own parser accepts."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from kubesim.cli.main import main
from kubesim.cli.pictures.pod_workers import INPUTS, Transition, mermaid, transitions
from kubesim.trace import records as r
from kubesim.trace.lanes.bands import pod_lanes
from kubesim.trace.pictures.mermaid import block, words
from kubesim.trace.pictures.sequence import MOST_LINES, SequenceSink, as_markdown
from kubesim.trace.pictures.timeline import Timeline
from tests.support.browser.node import parsed_mermaid

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</script><img src=x onerror=alert(1)>; end\n%%{init: {}}%% # \x00 \u2028 ``` ]]> & \" '"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().out


def texts(svg: str) -> list[str]:
    return [str(each.text) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_the_timeline_has_the_writes_of_controllers(capsys: pytest.CaptureFixture[str]) -> None:
    found = texts(printed(capsys, str(SCENARIOS / "workloads" / "node-lost.yaml"), "-o", "svg"))
    assert "False" in found  # Ready, when the node is lost


def test_the_picture_of_a_run_has_its_pod_its_containers_and_their_states(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = texts(printed(capsys, str(SCENARIOS / "crashloop.yaml"), "-o", "svg"))
    assert found[0] == "crashloop, seed 0: 5m0s on the node"
    assert {"crash", "Ready", "main", "Events", "Running"} <= set(found)
    assert "terminated/1/Error (restart 5)" in found


def test_the_picture_has_colours_for_light_and_dark(capsys: pytest.CaptureFixture[str]) -> None:
    svg = printed(capsys, str(SCENARIOS / "hello-pod.yaml"), "-o", "svg")
    assert "@media (prefers-color-scheme: dark)" in svg
    assert "<script" not in svg


def test_a_picture_has_exactly_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(SCENARIOS / f"{name}.yaml") for name in ("hello-pod", "crashloop")]
    assert main(["run", *files, "-o", "svg"]) == 2
    assert "-o svg is one picture of one run" in capsys.readouterr().err


def test_many_pods_are_drawn_with_a_row_each() -> None:
    records = [
        r.ApiWrite(t=1, pod=f"default/pod-{n}", verb="patch", resource="pods/status", by="kubelet",
                   summary={"phase": "Running", "conditions": {"Ready": "True"}})
        for n in range(40)
    ]  # fmt: skip
    found = texts(Timeline("many", pod_lanes(records, 9), 9).svg())
    assert "pod-39" in found
    assert "Ready" not in found


def test_hostile_text_is_text_in_the_picture() -> None:
    status = r.ApiWrite(
        t=0, pod=HOSTILE, verb="patch", resource="pods/status", by="kubelet", summary={"phase": HOSTILE}
    )
    event = r.EventRecorded(t=1, pod=HOSTILE, type="Warning", reason="Bad", message=HOSTILE)
    svg = Timeline(HOSTILE, pod_lanes([status, event], 9), 9).svg()
    tree = ElementTree.fromstring(svg)
    assert {each.tag.removeprefix(SVG) for each in tree.iter()} == {"svg", "title", "style", "rect", "line", "text"}


@pytest.mark.parametrize("name", ["crashloop", "probes", "graceful-delete", "init-containers", "static-pod"])
def test_mermaid_parses_the_sequence_diagram_of_each_pod(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    markdown = printed(capsys, str(SCENARIOS / f"{name}.yaml"), "-o", "mermaid")
    assert parsed_mermaid(markdown) == ["sequence"] * markdown.count("## Pod ")
    assert "worker->>runtime: RunPodSandbox" in markdown


def test_mermaid_parses_hostile_text_as_text() -> None:
    sink = SequenceSink()
    sink.record(r.EventRecorded(pod=HOSTILE, type="Warning", reason="Bad", message=HOSTILE))
    sink.record(r.Note(pod=HOSTILE, text=HOSTILE))
    [diagram] = sink.diagrams().values()
    assert parsed_mermaid("\n".join(block(diagram))) == ["sequence"]
    assert len(diagram) == 6  # a line break in a text does not create a line


def test_a_diagram_too_large_for_mermaid_is_truncated_with_a_note() -> None:
    sink = SequenceSink()
    for _ in range(MOST_LINES + 7):
        sink.record(r.EventRecorded(pod="default/web", type="Warning", reason="Bad", message="x" * 500))
    markdown = as_markdown(sink.diagrams())
    assert "Note over api: 7 more lines" in markdown
    assert len(markdown) < 50_000
    assert parsed_mermaid(markdown) == ["sequence"]


def test_a_long_text_is_truncated() -> None:
    assert words("x" * 500, 10) == "x" * 9 + "#8230;"
    assert words(" \n") == "-"


# -- the pod workers' state machine ---------------------------------------------------------------------------------


def test_the_state_machine_is_found_by_calling_it() -> None:
    found = transitions()
    assert Transition("terminating", "SyncTerminatingPod succeeded", "terminated") in found
    assert Transition("terminated", "SyncTerminatedPod succeeded", "finished") in found
    assert {each.input for each in found} == set(INPUTS)
    order = ["[*]", "syncing", "terminating", "terminated", "finished", "[*]"]
    for each in found:  # never back
        assert order.index(each.next, 1) > order.index(each.state)


def test_mermaid_parses_the_state_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--pod-workers"]) == 0
    out = capsys.readouterr().out
    assert out == "\n".join(block(mermaid())) + "\n"
    assert parsed_mermaid(out) == ["stateDiagram"]


def test_the_state_machine_covers_all_pods(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--pod-workers", "web"]) == 2
    assert "leave POD and FILE out" in capsys.readouterr().err
    assert main(["explain"]) == 2
    assert "give a POD or a FILE" in capsys.readouterr().err


# -- the network ----------------------------------------------------------------------------------------------------


def test_the_picture_shows_real_networks_below_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    found = texts(printed(capsys, str(SCENARIOS / "two-nodes.yaml"), "-o", "svg"))
    assert {"node node-1", "node node-2", "cni0 (bridge) 10.88.0.1/24", "pod web", "eth0 10.88.0.2/24"} <= set(found)
    assert "route default via 10.88.0.1 on eth0" in found
    assert "route 10.88.1.0/24 via 10.0.0.2 on eth0" in found
    assert found.index("node node-1") > found.index("web")
