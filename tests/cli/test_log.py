"""`--log`: the kubelet's log of a run, and the log of an attached agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from kubesim.cli.main import main

POD = """
apiVersion: v1
kind: Pod
metadata: {name: hello}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: "busybox:1", command: [sh, -c, "sleep 2; exit 3"]}
"""
SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: hunter2-and-more}
data: {token: dDBrZW4tb2YtdGhlLW5vZGU=}
---
apiVersion: v1
kind: Pod
metadata: {name: talkative}
spec:
  containers:
  - name: main
    image: "busybox:1"
    command: [sh, -c, "sleep 1000"]
    env:
    - {name: PASSWORD, valueFrom: {secretKeyRef: {name: login, key: password}}}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: login, key: token}}}
    - {name: PLAIN, value: in-the-manifest}
    readinessProbe:
      periodSeconds: 1
      exec: {command: [sh, -c, 'echo "$PASSWORD $TOKEN $PLAIN"; exit 1']}
"""
SECRETS = ("hunter2-and-more", "dDBrZW4tb2YtdGhlLW5vZGU", "t0ken-of-the-node", "in-the-manifest")


@pytest.fixture
def pod(tmp_path: Path) -> str:
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "kubelet.log"


def short(line: str) -> str:
    """Shorten uids and the ids of sandboxes and containers."""
    line = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", line)
    return re.sub(r"[0-9a-f]{64}", "ID", line)


def written(log: Path, arguments: Sequence[str]) -> list[str]:
    assert main(["run", "-q", *arguments, "--log", str(log)]) == 0
    return [short(line) for line in log.read_text().splitlines()]


def test_the_log_of_a_pod_at_the_default_verbosity(pod: str, log: Path) -> None:
    pleg = 'kubelet.go:2737] "SyncLoop (PLEG): event for pod" pod="default/hello" event='
    finished = 'generic.go:413] "Generic (PLEG): container finished" podID="UID" containerID="ID"'
    assert written(log, [pod]) == [
        'I0101 00:00:00.005000       1 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["default/hello"]',
        f'I0101 00:00:01.236175       1 {pleg}{{"ID":"UID","Type":"ContainerStarted","Data":"ID"}}',
        f'I0101 00:00:02.625660       1 {pleg}{{"ID":"UID","Type":"ContainerStarted","Data":"ID"}}',
        f"I0101 00:00:05.240175       1 {finished} exitCode=3",
        f'I0101 00:00:05.240175       1 {pleg}{{"ID":"UID","Type":"ContainerDied","Data":"ID"}}',
        f'I0101 00:00:07.242175       1 {pleg}{{"ID":"UID","Type":"ContainerDied","Data":"ID"}}',
        'I0101 00:00:32.637660       1 kubelet.go:2725] "SyncLoop DELETE" source="api" pods=["default/hello"]',
        'I0101 00:00:32.637660       1 kubelet.go:2719] "SyncLoop REMOVE" source="api" pods=["default/hello"]',
    ]


def test_the_documentation_has_a_line_of_the_log(log: Path) -> None:
    first = written(log, ["hello-pod"])[0]
    assert f"\n    {first}\n" in (Path(__file__).parents[2] / "docs" / "how-to.md").read_text()


def test_higher_verbosities_add_lines_and_the_lowest_keeps_errors(pod: str, log: Path) -> None:
    counts = [len(written(log, [pod, "--log-verbosity", str(v)])) for v in (0, 2, 3, 4, 10)]
    assert counts[0] == 0
    assert counts == sorted(set(counts))
    lines = written(log, [pod, "--log-verbosity", "4"])
    assert any('"SyncPod enter" pod="default/hello" podUID="UID"' in line for line in lines)
    assert any("ContainersToStart: [main]" in line for line in lines)
    event = '"Event occurred" object="default/hello" fieldPath="spec.containers{main}" kind="Pod" apiVersion="v1"'
    assert any(f'{event} type="Normal" reason="Started" message="Container started"' in line for line in lines)
    assert main(["run", "-q", "crashloop", "--log", str(log), "--log-verbosity", "0"]) == 0
    assert {line.partition("] ")[2][:29] for line in log.read_text().splitlines()} == {'"Error syncing pod, skipping"'}


def test_both_formats_have_the_same_content(pod: str, log: Path) -> None:
    text = written(log, [pod, "--log-verbosity", "10"])
    values = [json.loads(line) for line in written(log, [pod, "--log-verbosity", "10", "--log-format", "json"])]
    assert len(text) == len(values)
    for line, value in zip(text, values, strict=True):
        assert value["caller"].rpartition("/")[2] in line
        assert json.dumps(value["msg"]) in line
        assert re.findall(r" (\w+)=", re.sub(r'"[^"]*"', '""', line)) == list(value)[4:]
    assert values[0]["ts"] == 946_684_800_005


def test_equal_runs_have_equal_logs(pod: str, log: Path) -> None:
    first = (written(log, [pod, "--seed", "7", "--log-verbosity", "10"]), log.read_bytes())
    assert (written(log, [pod, "--seed", "7", "--log-verbosity", "10"]), log.read_bytes()) == first
    assert (written(log, [pod, "--seed", "8", "--log-verbosity", "10"]), log.read_bytes()) != first


def test_a_log_does_not_change_the_run(pod: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", pod]) == 0
    without = capsys.readouterr().out
    assert main(["run", pod, "--log", str(log)]) == 0
    assert capsys.readouterr().out == without


def test_the_kubelet_configuration_sets_format_and_verbosity(
    pod: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = written(log, [pod, "--logging-format=json", "--v=4"])
    assert {json.loads(line)["v"] for line in lines} == {2, 3, 4}
    assert "without effect" not in capsys.readouterr().err
    assert {
        json.loads(line)["v"] for line in written(log, [pod, "--logging-format=json", "--v=4", "--log-verbosity=2"])
    } == {2}


def test_the_lines_of_several_nodes_name_their_node(log: Path) -> None:
    nodes = {re.search(r'node="(.*?)"', line)[1] for line in written(log, ["two-nodes"])}  # type: ignore[index]
    assert nodes == {"node-1", "node-2"}


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_logged(form: str, tmp_path: Path, log: Path) -> None:
    path = tmp_path / "secret.yaml"
    path.write_text(SECRET)
    found = "\n".join(written(log, [str(path), "--until", "20s", "--log-verbosity", "10", "--log-format", form]))
    assert "Readiness probe failed: --- REDACTED --- --- REDACTED ---" in found
    assert not [secret for secret in SECRETS if secret in found]


def test_a_secret_applied_by_a_step_is_not_logged(tmp_path: Path, log: Path) -> None:
    secret, pod = (yaml.safe_load(document) for document in SECRET.split("---"))
    steps = [{"at": "1s", "apply": secret}, {"at": "2s", "apply": pod}]
    metadata = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "later"}}
    path = tmp_path / "later.yaml"
    path.write_text(yaml.safe_dump({**metadata, "spec": {"duration": "20s", "steps": steps}}))
    found = "\n".join(written(log, [str(path), "--log-verbosity", "10"]))
    assert "Readiness probe failed: --- REDACTED ---" in found
    assert not [secret for secret in SECRETS if secret in found]


KLOG = re.compile(r'[IE]0101 \d\d:\d\d:\d\d\.\d{6}       1 [a-z_]+\.go:\d+\] "[^"]+"( \w+=\S.*)?|\t.*| >.*')


@pytest.mark.parametrize(
    "scenario",
    ["init-containers", "kubelet-restart", "memory-pressure", "node-shutdown", "resize", "static-pod", "three-sources"],
)
def test_every_record_of_a_scenario_can_be_logged(scenario: str, log: Path) -> None:
    lines = written(log, [scenario, "--log-verbosity", "10"])
    assert [line for line in lines if not KLOG.fullmatch(line)] == []
    assert any("[RemoteRuntimeService] StartContainer" in line for line in lines)


def test_the_environment_enables_the_log(pod: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBESIM_LOG", str(log))
    monkeypatch.setenv("KUBESIM_LOG_FORMAT", "json")
    monkeypatch.setenv("KUBESIM_LOG_VERBOSITY", "3")
    assert main(["run", "-q", pod]) == 0
    assert {json.loads(line)["v"] for line in log.read_text().splitlines()} == {2, 3}


def test_a_dash_logs_to_stderr(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-q", pod, "--log", "-"]) == 0
    assert capsys.readouterr().err.startswith("I0101 00:00:00.005000")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--log", "x", "--log-format", "xml"], "argument --log-format: must be one of text, json, not 'xml'"),
        (["--log", "x", "--log-verbosity", "-1"], "argument --log-verbosity: must not be negative: '-1'"),
        (["--log", "."], "--log .: Is a directory"),
        (["--log", "no/such/place"], "--log no/such/place: No such file or directory"),
        (["--log-format", "json"], "--log-format and --log-verbosity need --log FILE"),
    ],
)
@pytest.mark.parametrize("command", ["run", "attach"])
def test_invalid_values_are_one_line(
    command: str, arguments: list[str], problem: str, pod: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    what = [pod] if command == "run" else ["--node", "n", "--once", "--kubeconfig", "none"]
    assert main([command, *what, *arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith(f"kubesim: error: {problem}")


def test_a_full_disk_is_reported_at_the_end(pod: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", pod, "--log", "/dev/full"]) == 2
    said = capsys.readouterr()
    assert said.err == "kubesim: error: --log /dev/full: No space left on device\n"
    assert "hello: deleted at" in said.out


def test_structlog_is_imported_only_for_a_log(pod: str, log: Path) -> None:
    program = (
        "import sys; from kubesim.cli.main import main; main(sys.argv[1:]); "
        "print('structlog' in sys.modules, 'kubesim.trace.klog.lines' in sys.modules)"
    )
    for extra, loaded in (([], "False False"), (["--log", str(log)], "True True")):
        ran = subprocess.run(
            [sys.executable, "-c", program, "run", pod, *extra], capture_output=True, text=True, check=True
        )
        assert ran.stdout.splitlines()[-1] == loaded
