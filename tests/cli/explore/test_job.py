"""`kubesim explore FILE --print-job`: the printed Job runs one shard in each of its pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from tests.support.explored import explore, write_two_inits
from tests.support.up import running_up

Output = pytest.CaptureFixture[str]
FLAGS = ("--budget", "40", "--faults", "reboot", "--invariants", "init-order")
# The printed objects, in a cluster whose pods take 5 s.
CLUSTER = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: cluster}
spec:
  duration: 60s
  images:
    - {name: "kubesim:*", present: true}
  behaviours:
    - {pod: "explore-*", exitCode: 0, runFor: 5s}
  expect:
    - {object: Job/%s, condition: Complete, by: 40s}
    - {object: Job/%s, field: status.completedIndexes, equals: "0-3", by: 40s}
---
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_two_inits(tmp_path)
    return tmp_path


def printed(capsys: Output, *words: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The text, the ConfigMap and the Job."""
    assert explore("two-inits.yaml", "--print-job", "--completions", "4", *words) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    config, job = yaml.safe_load_all(shown.out)
    return shown.out, config, job


def test_the_job_has_an_index_for_each_shard(capsys: Output) -> None:
    _, config, job = printed(capsys, "--parallelism", "2", "--image", "registry.example/kubesim:1")
    spec = job["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 4, 2)
    assert spec["backoffLimitPerIndex"] == 3
    assert config["data"] == {"two-inits.yaml": Path("two-inits.yaml").read_text()}
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    assert container["image"] == "registry.example/kubesim:1"
    assert pod["volumes"] == [{"name": "scenario", "configMap": {"name": config["metadata"]["name"]}}]


@pytest.mark.violates_invariants
def test_each_pod_writes_results_that_can_be_merged(
    here: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its arguments, with the scenario where the ConfigMap has it, print the lines of its shard."""
    _, _, job = printed(capsys, *FLAGS)
    [container] = job["spec"]["template"]["spec"]["containers"]
    command, *words = (word.replace("/scenario/", f"{here}/") for word in container["args"])
    assert command == "explore"
    for index in range(4):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", str(index))
        assert explore(*words) == 0
    (here / "logs.jsonl").write_text(capsys.readouterr().out)
    assert explore("merge", "logs.jsonl") == 1
    assert "\n\n1. invariant init-order: reboot after CreateContainer of app:main\n" in capsys.readouterr().out


def test_results_go_to_a_volume_on_request(capsys: Output) -> None:
    _, _, job = printed(capsys, "--claim", "results")
    pod = job["spec"]["template"]["spec"]
    assert {"name": "results", "persistentVolumeClaim": {"claimName": "results"}} in pod["volumes"]
    [container] = pod["containers"]
    assert {"name": "results", "mountPath": "/results"} in container["volumeMounts"]
    assert container["args"][-2:] == ["--output", "/results"]


def test_another_search_is_another_job(capsys: Output) -> None:
    names = [printed(capsys, *words)[2]["metadata"]["name"] for words in ((), ("--seed", "1"), ())]
    assert names[0] == names[2] != names[1]
    assert names[0].startswith("explore-two-inits-")


def test_the_cluster_of_a_scenario_completes_the_job(here: Path, capsys: Output) -> None:
    text, _, job = printed(capsys, *FLAGS)
    name = job["metadata"]["name"]
    (here / "cluster.yaml").write_text(CLUSTER % (name, name) + text)
    result = run_scenario(load_scenario("cluster.yaml"))
    assert not result.failures
    assert len(result.phases) == 4


def test_kubectl_applies_the_job(here: Path, capsys: Output) -> None:
    """And the cluster of `kubesim up` starts a pod for each index."""
    text, config, job = printed(capsys, *FLAGS)
    with running_up(here) as up:
        name = job["metadata"]["name"]
        applied = up.kubectl("apply", "--validate=strict", "-f", "-", input=text)
        assert applied.splitlines() == [f"configmap/{name} created", f"job.batch/{name} created"]
        up.wait_for(lambda: up.get("job", name).get("status", {}).get("active") == 4, "a pod for each shard")
        assert up.get("configmap", name)["data"] == config["data"]
        indexes = [
            pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] for pod in up.get("pods")["items"]
        ]
        assert sorted(indexes) == ["0", "1", "2", "3"]


def test_a_scenario_that_is_too_large_for_a_configmap_is_refused(here: Path, capsys: Output) -> None:
    path = here / "two-inits.yaml"
    path.write_text(path.read_text() + "# a comment\n" * 100_000)
    assert explore("two-inits.yaml", "--print-job") == 2
    assert capsys.readouterr().err == (
        "kubesim: error: two-inits.yaml is larger than 1 MiB, the limit of a ConfigMap\n"
    )
