"""`kubesim get`, `describe`, `logs` and `events` of scenarios and saved runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tests.support.saved_runs import named, saved_objects

CRASH = "scenarios/crashloop.yaml"
ROLLOUT = "scenarios/workloads/rolling-update-readiness.yaml"
TWO = """
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  initContainers: [{name: first, image: busybox:1.36, command: [sh, -c, "echo init"]}]
  containers:
  - {name: a, image: busybox:1.36, command: [sh, -c, "for i in 1 2 3; do echo line $i; sleep 2; done; sleep 1000"]}
  - {name: b, image: busybox:1.36, command: [sh, -c, "echo from b >&2; sleep 1000"]}
---
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: two}
spec: {duration: 60s}
"""


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_scenario_and_its_saved_run_have_the_same_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(tmp_path / "run.jsonl.gz")
    assert main(["run", "-q", CRASH, "--save", saved]) == 0
    capsys.readouterr()
    for question in (["get", "all,nodes,events", "-A", "-o", "wide"], ["describe", "pods"], ["logs", "crash", "-p"],
                     ["events"], ["get", "pods", "-o", "yaml"]):  # fmt: skip
        for at in ("4s", "25s"):
            code, out, err = asked(capsys, *question, "--at", at, CRASH)
            assert (code, err) == (0, "")
            assert asked(capsys, *question, "--at", at, saved) == (code, out, err)


def test_restarts_and_ages_depend_on_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [asked(capsys, "get", "pod", "crash", "--no-headers", "--at", at, CRASH)[1].split() for at in ("4s", "25s")]
    assert rows == [
        ["crash", "1/1", "Running", "1", "(2s", "ago)", "4s"],
        ["crash", "0/1", "Error", "2", "(20s", "ago)", "25s"],
    ]


def test_another_seed_is_another_run(capsys: pytest.CaptureFixture[str]) -> None:
    path = "-o", "jsonpath={.items[0].metadata.uid}"
    first, other, again = (asked(capsys, "get", "pods", *path, "--seed", n, CRASH)[1] for n in ("0", "7", "7"))
    assert first != other == again


def test_flags_are_allowed_between_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    expected = asked(capsys, "get", "pod", "crash", CRASH, "--at", "5s", "-o", "name")
    assert expected == (0, "pod/crash\n", "")
    assert asked(capsys, "get", "--at", "5s", "pod", "-o", "name", "crash", CRASH) == expected


def test_workloads_at_a_given_time(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = asked(capsys, "get", "deploy,rs", "--at", "10s", ROLLOUT)
    assert [line.split()[0] for line in out.splitlines() if line][:2] == ["NAME", "deployment.apps/web"]
    assert out.count("replicaset.apps/web-") >= 1
    _, out, _ = asked(capsys, "describe", "deploy", "web", ROLLOUT)
    for text in ("StrategyType:", "RollingUpdateStrategy:", "OldReplicaSets:", "NewReplicaSet:", "Pod Template:"):
        assert text in out
    _, out, _ = asked(capsys, "get", "rs", "-o", "custom-columns=N:.metadata.name,R:.spec.replicas", ROLLOUT)
    assert out.splitlines()[0].split() == ["N", "R"]


@pytest.mark.parametrize(
    ("scenario", "types"),
    [
        ("statefulset-claims", ("sts", "pvc", "pv", "sc", "sa", "csidrivers", "nodes", "svc", "ns", "cm")),
        ("cronjob-forbid", ("cj", "jobs", "pods")),
        ("daemonset-taint", ("ds", "pods", "controllerrevisions", "leases")),
        ("drain-pdb", ("pdb", "rs", "nodes", "events")),
    ],
)
def test_every_kind_can_be_listed_and_described(
    scenario: str, types: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = str(tmp_path / "run.jsonl")
    main(["run", "-q", f"scenarios/workloads/{scenario}.yaml", "--save", saved])
    capsys.readouterr()
    for type in types:
        for verb in ("get", "describe"):
            code, out, err = asked(capsys, verb, type, "-A", saved)
            assert (code, err) == (0, "")
            assert out.startswith("Name:  " if verb == "describe" else ("NAME", "LAST SEEN"))


# -- logs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> str:
    (tmp_path / "two.yaml").write_text(TWO)
    return str(tmp_path / "two.yaml")


def test_logs_of_a_pod_with_several_containers(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    remark = 'Defaulted container "a" out of: a, b, first (init)\n'
    assert asked(capsys, "logs", "two", "--at", "30s", two) == (0, "line 1\nline 2\nline 3\n", remark)
    assert asked(capsys, "logs", "pod/two", "-c", "b", "--at", "30s", two) == (0, "from b\n", "")
    assert asked(capsys, "logs", "two", "--all-containers", "--prefix", "--tail", "1", "--at", "30s", two) == (
        0, "[pod/two/first] init\n[pod/two/a] line 3\n[pod/two/b] from b\n", "",
    )  # fmt: skip
    refused = "error: --tail must be greater than or equal to -1\n"
    assert asked(capsys, "logs", "two", "--tail", "-5", "--at", "30s", two) == (1, "", refused)


def test_logs_up_to_a_given_time(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = asked(capsys, "logs", "two", "-c", "a", "--timestamps", "--at", "30s", two)
    times = [line.split()[0] for line in out.splitlines()]
    assert all(len(each) == len("2000-01-01T00:00:00.000000000Z") for each in times)
    second = float(times[1][17:-1])
    assert asked(capsys, "logs", "two", "-c", "a", "--at", f"{second + 0.5:.3f}s", two)[1] == "line 1\nline 2\n"
    assert (
        asked(capsys, "logs", "two", "-c", "a", "--since", "1s", "--at", f"{second + 0.5:.3f}s", two)[1] == "line 2\n"
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["two", "--at", "100ms"],
         'Error from server (BadRequest): container "a" in pod "two" is waiting to start: PodInitializing'),
        (["two", "-c", "a", "-p", "--at", "30s"], 'previous terminated container "a" in pod "two" not found'),
        (["two", "-c", "x"], "error: container x is not valid for pod two out of: a, b, first (init)"),
        (["other"], 'error: error from server (NotFound): pods "other" not found in namespace "default"'),
        (["two", "-c", "a", "--all-containers"], "error: --all-containers=true should not be specified"),
        (["deploy/two"], "error: logs of deploy: give a pod, or its labels with -l"),
    ],
)  # fmt: skip
def test_errors_of_the_kubelet_and_kubectl(
    arguments: list[str], problem: str, two: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = asked(capsys, "logs", *arguments, two)
    assert (code, out) == (1, "")
    assert problem in err


# -- other forms, and mistakes ----------------------------------------------------------------------------------


def test_custom_resources_have_their_own_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"kind": "Gateway", "plural": "gateways", "shortNames": ["gw"]}
    crd = named("CustomResourceDefinition", "gateways.example.com", "", "apiextensions.k8s.io/v1",
                spec={"group": "example.com", "names": names})  # fmt: skip
    run = str(
        saved_objects(
            tmp_path / "run", [crd, named("Gateway", "edge", api_version="example.com/v1", spec={"portCount": 2})]
        )
    )
    for name in ("gateways", "gateway", "gw"):
        assert asked(capsys, "get", name, "-o", "name", run) == (0, "gateway.example.com/edge\n", "")
    out = asked(capsys, "describe", "gw", "--at", "5s", run)[1]
    assert "API Version:  example.com/v1" in out
    assert "  Port Count:          2" in out or "Port Count:  2" in out


def test_events_of_one_object_and_type(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = asked(capsys, "events", "--for", "pod/crash", "--types", "Warning", "--at", "25s", CRASH)
    assert [line.split()[0] for line in out.splitlines()] == ["LAST", "4s"]
    assert "(x2 over 19s)" in out
    assert asked(capsys, "events", "-n", "other", CRASH) == (0, "", "No events found in other namespace.\n")
    code, out, _ = asked(capsys, "events", "-o", "json", CRASH)
    assert (code, json.loads(out)["kind"]) == (0, "EventList")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["get", CRASH], "give what to get, and as the last word the RUN"),
        (["get", "pods", "no-such-file.yaml"], "no such file"),
        (["get", "pods", "--at", "2h", CRASH], "the run ends at"),
        (["get", "pods", "--at", "soon", CRASH], "soon"),
        (["get", "pods", "-o", "xml", CRASH], "must be one of custom-columns, json"),
        (["events", "--types", "Odd", CRASH], "valid --types are Normal or Warning"),
        (["logs", CRASH], "give one POD"),
        (["run", CRASH, "--step", "--save", "x"], "--step cannot be combined with --save"),
        (["run", CRASH, CRASH, "--save", "x"], "--save saves one run"),
        (["run", CRASH, "--save", "/no/such/place/x"], "--save /no/such/place/x: No such file or directory"),
    ],
)
def test_usage_errors(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = asked(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("kubesim: error: ")
    assert problem in err
    assert err.count("\n") == 1


def test_flags_for_scenarios_are_rejected_for_saved_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(saved_objects(tmp_path / "run", []))
    code, _, err = asked(capsys, "get", "pods", "--seed", "1", run)
    assert code == 2
    assert "--seed is for scenarios" in err


def test_the_file_of_a_killed_run_can_be_read(tmp_path: Path) -> None:
    """The run is paced, so that every line is written immediately, and killed after its first records."""
    path = tmp_path / "run.jsonl.gz"
    command = [sys.executable, "-m", "kubesim"]
    process = subprocess.Popen(
        [*command, "run", "-q", CRASH, "--speed", "1", "--save", str(path)], stdout=subprocess.DEVNULL
    )
    try:
        while not path.exists() or path.stat().st_size < 4000:
            assert process.poll() is None
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    done = subprocess.run([*command, "get", "nodes", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("node-1   Ready")
    assert "is incomplete" in done.stderr


def test_a_saved_run_is_compared_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run.bin")  # its name is not informative
    main(["run", "-q", CRASH, "--save", run])
    capsys.readouterr()
    assert asked(capsys, "diff", run, CRASH)[0] == 0
    code, out, _ = asked(capsys, "attach", "--replay", run)
    assert code == 0
    assert out.splitlines()[-1].startswith("0 divergences, 5 predictions kept")
