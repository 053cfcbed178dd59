"""`kubesim diff`: two versions, seeds, sets of gates, or files; output and exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from tests.support.stepping import SCENARIOS

HELLO = str(SCENARIOS / "hello-pod.yaml")
CRASH = str(SCENARIOS / "crashloop.yaml")
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{{name: main, image: "nginx:1.27"}}]
"""
Output = pytest.CaptureFixture[str]


def diff(capsys: Output, *arguments: str) -> tuple[int, str]:
    code = main(["diff", *arguments])
    said = capsys.readouterr()
    assert said.err == ""
    return code, said.out


def as_json(capsys: Output, *arguments: str) -> dict[str, Any]:
    code, out = diff(capsys, *arguments, "-o", "json")
    found: dict[str, Any] = json.loads(out)
    assert code == (0 if found["same"] else 1)
    return found


def error(capsys: Output, *arguments: str) -> str:
    assert main(["diff", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def saved(capsys: Output, path: Path, *arguments: str) -> str:
    main(["run", *arguments, "-o", "jsonl"])
    path.write_text(capsys.readouterr().out)
    return str(path)


# -- the first difference ---------------------------------------------------------------------------------------

ON, OFF = "PodReadyToStartContainersCondition=true", "PodReadyToStartContainersCondition=false"
GATES = ("--feature-gates", OFF, "--feature-gates", ON)
VERSIONS = ("--profile", "v1.30", "--profile", "v1.36")


def test_the_first_difference_with_its_causes_and_gate(capsys: Output) -> None:
    code, out = diff(capsys, *GATES, HELLO)
    assert code == 1
    assert "First difference: at 0.012s, pod hello" in out
    assert "differs  summary.conditions.PodReadyToStartContainers: none → False" in out
    assert "both  from     0.005s #8 status hello: version 1 queued for the API server: Pending" in out
    assert "from     0.000s #1 api hello: user: create pods" in out
    assert f"gate PodReadyToStartContainersCondition: off in {OFF}, on in {ON}" in out
    assert f"verified: {OFF} with this one value of {ON} behaves like {ON} here" in out


def test_the_table_has_a_row_for_each_differing_pod(capsys: Output) -> None:
    """Without relists on demand the kubelet detects a start later."""
    gates = ("--feature-gates", "PLEGOnDemandRelist=false", "--feature-gates", "PLEGOnDemandRelist=true")
    _, out = diff(capsys, *gates, HELLO)
    [row] = [line for line in out.splitlines() if line.startswith("  hello ")]
    assert row.startswith("  hello  Succeeded  0         3.245s → 2.633s  ")
    follows = "Consequences: 1 of 1 pods differ, 1 of them only in times"
    assert f"{follows} (PLEGOnDemandRelist=false → PLEGOnDemandRelist=true)" in out


def test_the_same_as_json(capsys: Output) -> None:
    [found] = as_json(capsys, *GATES, HELLO)["comparisons"]
    first = found["firstDifference"]
    assert (found["timesCompared"], first["pod"], first["t"]) == (True, "default/hello", 0.012)
    assert [cause["kind"] for cause in first["left"]["causes"]][-1] == "api.write"
    assert [rule["name"] for rule in found["rules"]] == ["PodReadyToStartContainersCondition"]
    [pod] = found["pods"]
    assert (pod["pod"], pod["left"]["restarts"]) == ("default/hello", {"main": 0})
    assert pod["left"]["readyAt"] == pod["right"]["readyAt"]


# -- two versions -----------------------------------------------------------------------------------------------


def test_all_rules_are_found_in_order(capsys: Output) -> None:
    """With all of them equalized, no difference remains."""
    names = ("PodReadyToStartContainersCondition", "PLEGOnDemandRelist")
    off, on = (",".join(f"{name}={value}" for name in names) for value in ("false", "true"))
    sides = ("--feature-gates", off, "--feature-gates", on)
    [found] = as_json(capsys, *sides, "--all-rules", HELLO)["comparisons"]
    assert [rule["name"] for rule in found["rules"]] == [names[0]]
    assert [[rule["name"] for rule in each["rules"]] for each in found["further"]] == [[names[1]]]
    _, out = diff(capsys, *sides, "--all-rules", HELLO)
    assert "Further differences, each with the values above it made equal" in out
    assert f"    gate PLEGOnDemandRelist: off in {off}, on in {on}" in out


@pytest.mark.parametrize("old", ["v1.12", "v1.30"])
def test_the_rules_of_two_versions_are_confirmed_by_runs(old: str, capsys: Output) -> None:
    [found] = as_json(capsys, "--profile", old, "--profile", "v1.36", HELLO)["comparisons"]
    assert [side["profile"] for side in found["sides"]] == [old, "v1.36"]
    assert 1 <= len(found["rules"]) <= 4
    assert all(rule in found["differingValues"] for rule in found["rules"])
    [pod] = found["pods"]
    assert not pod["same"]


def test_the_same_version_twice_is_the_same_run(capsys: Output) -> None:
    code, out = diff(capsys, "--profile", "v1.30", "--profile", "v1.30", HELLO)
    assert code == 0
    assert "No difference: every record is the same (1 pod)" in out


def test_a_directory_is_one_comparison_and_files_are_separate_ones(capsys: Output, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(POD.format(name=name))
    [whole] = as_json(capsys, *VERSIONS, "-f", str(tmp_path))["comparisons"]
    assert [pod["pod"] for pod in whole["pods"]] == ["default/one", "default/two"]
    files = [str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")]
    each = as_json(capsys, *VERSIONS, *files)["comparisons"]
    assert [one["file"] for one in each] == files
    assert all(one["rules"] for one in each)


def test_fifty_pods_are_compared_completely(capsys: Output, tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}.yaml").write_text(POD.format(name=f"web-{number}"))
    _, out = diff(capsys, *VERSIONS, "-f", str(tmp_path))
    assert "Consequences: 50 of 50 pods differ" in out
    assert "verified: v1.30 with th" in out


def test_an_upgrade_in_a_scenario_applies_to_both_sides(capsys: Output, tmp_path: Path) -> None:
    scenario = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "up"},
        "spec": {"duration": "30s", "steps": [{"at": "10s", "upgrade": "v1.36"}]},
    }
    path = tmp_path / "up.yaml"
    path.write_text(json.dumps(scenario))
    assert not as_json(capsys, *VERSIONS, str(path))["same"]


# -- two seeds --------------------------------------------------------------------------------------------------


def test_different_times_of_another_seed_are_no_difference(capsys: Output) -> None:
    code, out = diff(capsys, "--seed", "1", "--seed", "2", CRASH)
    assert code == 0
    assert "No difference: the same happens to each pod, at other times (1 pod)" in out


def test_different_events_of_another_seed_are_a_difference(capsys: Output, tmp_path: Path) -> None:
    scenario = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "luck"},
        "spec": {
            "behaviours": [{"pod": "luck", "runFor": "1s", "exitCode": {"choices": [0, 1]}}],
            "objects": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": "luck"},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]},
                }
            ],
        },
    }
    path = tmp_path / "luck.yaml"
    path.write_text(json.dumps(scenario))
    seeds = [as_json(capsys, "--seed", "0", "--seed", str(seed), str(path))["same"] for seed in range(1, 6)]
    assert set(seeds) == {True, False}


# -- files ------------------------------------------------------------------------------------------------------


def test_two_saved_traces(capsys: Output, tmp_path: Path) -> None:
    old = saved(capsys, tmp_path / "old.jsonl", HELLO, "--feature-gates", OFF)
    new = saved(capsys, tmp_path / "new.jsonl", HELLO)
    code, out = diff(capsys, old, new)
    assert code == 1
    assert "First difference: at 0.012s, pod hello" in out
    assert "rule" not in out  # the version of a saved trace is unknown
    assert diff(capsys, new, new)[0] == 0


def test_a_saved_trace_and_a_run(capsys: Output, tmp_path: Path) -> None:
    trace = saved(capsys, tmp_path / "hello.jsonl", HELLO)
    assert diff(capsys, trace, HELLO)[0] == 0
    assert diff(capsys, trace, HELLO, "--profile", "v1.30")[0] == 1


def test_saved_traces_of_two_seeds_are_compared_without_times(capsys: Output, tmp_path: Path) -> None:
    traces = [saved(capsys, tmp_path / f"{seed}.jsonl", HELLO, "--seed", seed) for seed in ("1", "2")]
    assert diff(capsys, *traces)[0] == 0


def test_two_scenarios(capsys: Output, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(POD.format(name="web").replace("nginx:1.27", f"nginx:{name}"))
    code, out = diff(capsys, str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml"))
    assert code == 1
    assert 'Pulling image "nginx:one"' in out


def test_control_characters_in_a_name_are_escaped(capsys: Output, tmp_path: Path) -> None:
    left, right = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    left.write_text('{"seq": 1, "t": 0, "kind": "note", "pod": "d/x", "text": "\\u001b[2J"}\n')
    right.write_text('{"seq": 1, "t": 0, "kind": "note", "pod": "d/x\\u001b[1m", "text": "ok"}\n')
    _, out = diff(capsys, str(left), str(right))
    assert "\x1b" not in out


# -- mistakes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "give a FILE, or -f and a file or directory, or two saved traces"),
        ([HELLO], "nothing to compare: give --profile, --seed or --feature-gates twice, or two files"),
        (["--profile", "v1.30", HELLO], "nothing to compare"),
        ([HELLO, HELLO, HELLO], "nothing to compare"),
        (["-f", HELLO, "-f", HELLO], "nothing to compare"),
        (["--profile", "v1.30", "--profile", "v9", HELLO], "must be one of v1.6"),
        (["--seed", "1", "--seed", "2", "--seed", "3", HELLO], "--seed is given 3 times: there are two sides"),
        (["--seed", "1", "--seed", "2", "a.jsonl"], "a saved trace is compared with another file"),
        (["--seed", "1", "--seed", "2", "-"], "save standard input in a file"),
        (["a.jsonl", "b.jsonl"], "a.jsonl: no such file"),
        (["--profile", "v1.12", "--profile", "v1.36", "--feature-gates", "NodeSwap=true", HELLO], "NodeSwap"),
    ],
)
def test_an_error_is_one_line(arguments: list[str], problem: str, capsys: Output) -> None:
    assert problem in error(capsys, *arguments)


def test_a_live_cluster_is_rejected(capsys: Output, tmp_path: Path) -> None:
    path = tmp_path / "live.yaml"
    path.write_text(
        "{apiVersion: kubesim.dev/v1alpha1, kind: Scenario, metadata: {name: live}, "
        "spec: {sources: {apiserver: {node: node-1}}}}"
    )
    said = error(capsys, "--seed", "1", "--seed", "2", "--allow-host", str(path))
    assert "two runs against a live cluster" in said


def test_a_version_in_the_environment_is_checked(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESIM_PROFILE", "v9")
    assert "KUBESIM_PROFILE: must be one of" in error(capsys, "--seed", "1", "--seed", "2", HELLO)
