"""Faults of each kind of operation in a run: the kubelet's reaction, and the records of the faults."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import HashSink
from kubesim.trace.records import ApiWrite, CniExec, CriReturn, Fault
from tests.support.played import Played, pod


def played(*faults: dict[str, Any], **spec: Any) -> Played:
    return Played(**{"objects": [pod("web")], "faults": list(faults), **spec})


def reported(story: Played) -> list[str]:
    return [record.fault for record in story.records if isinstance(record, Fault)]


def test_a_runtime_error_has_its_message_and_a_record_with_the_cause() -> None:
    story = played({"operation": "CreateContainer", "error": "no space left on device", "times": 1})
    [record] = [record for record in story.records if isinstance(record, Fault)]
    assert (record.node, record.pod, record.container) == ("node-1", "default/web", "main")
    assert record.fault == "CreateContainer: error: no space left on device"
    assert record.why == "spec.faults[0], 1st CreateContainer that it is about"
    errors = [r.error for r in story.records if isinstance(r, CriReturn) and r.error]
    assert errors == ["rpc error: code = Unknown desc = no space left on device"]
    assert story.result.phases["default/web"] == "Running"


def test_an_error_after_the_effect_keeps_the_effect() -> None:
    story = played({"operation": "RunPodSandbox", "error": "answer lost", "times": 1, "moment": "after"})
    assert story.calls("web") == ["RunPodSandbox", "CreateContainer", "StartContainer"]  # it exists, so it is used
    assert story.events("web")[0] == "FailedCreatePodSandBox"
    assert story.result.phases["default/web"] == "Running"


def test_a_hanging_call_ends_at_the_callers_timeout() -> None:
    config = {"runtimeRequestTimeout": "15s"}
    story = played({"operation": "StartContainer", "hang": True, "times": 1}, kubeletConfiguration=config)
    late = [r for r in story.records if isinstance(r, CriReturn) and "DeadlineExceeded" in r.error]
    assert [r.call for r in late] == ["StartContainer"]
    assert 15 < late[0].t / 1_000_000 < 17


def test_a_hanging_list_call_has_a_timeout_and_is_retried() -> None:
    fault = {"operation": "ListContainers", "hang": True, "begin": "5s", "times": 1}
    story = played(fault, {"operation": "ListContainers", "latency": "1s", "begin": "20s", "times": 2},
                   kubeletConfiguration={"runtimeRequestTimeout": "10s"})  # fmt: skip
    assert reported(story) == ["ListContainers: hang", "ListContainers: 1s late", "ListContainers: 1s late"]


def test_the_kubelet_crashes_during_a_call_and_restarts() -> None:
    crash = {"what": "kubelet", "downFor": "5s"}
    story = played({"operation": "CreateContainer", "crash": crash, "times": 1, "moment": "after"})
    assert reported(story) == ["CreateContainer: crash of the kubelet, after it has had its effect"]
    assert story.events("web").count("Created") == 1
    assert story.calls("web").count("CreateContainer") == 2  # the first one was never started
    assert story.result.phases["default/web"] == "Running"


@pytest.mark.parametrize("what", ["runtime", "node"])
def test_other_components_crash_too(what: str) -> None:
    story = played({"operation": "StartContainer", "crash": {"what": what, "downFor": "3s"}, "times": 1})
    assert reported(story) == [f"StartContainer: crash of the {what}"]
    assert story.result.phases["default/web"] == "Running"


def test_image_pulls_are_delayed_or_fail() -> None:
    fault = {
        "operation": "PullImage",
        "subject": "busybox*",
        "results": ["error", "late"],
        "error": "429",
        "latency": "7s",
    }
    story = played(fault, images=[])
    assert reported(story) == ["PullImage: 7s late, error: 429", "PullImage: 7s late"]


def test_the_api_server_rejects_and_the_status_is_written_later() -> None:
    story = played({"operation": "api.PatchPodStatus", "times": 2, "error": "try later", "code": 503})
    assert reported(story) == ["api.PatchPodStatus: error: try later"] * 2
    assert story.result.phases["default/web"] == "Running"


def test_a_hanging_request_ends_when_its_connection_times_out() -> None:
    story = played({"operation": "api.PatchPodStatus", "times": 1, "hang": True}, duration="2m")
    assert story.result.phases["default/web"] == "Running"
    first = next(r.t for r in story.records if isinstance(r, ApiWrite) and r.is_pod_status)
    assert 45 < first / 1_000_000 < 60


def test_failing_mounts_emit_an_event_and_slow_ones_delay_the_pod() -> None:
    web = pod("web", volumes=[{"name": "data", "emptyDir": {}}])
    web["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    failing = {"operation": "MountVolume", "subject": "data", "times": 1, "error": "exit status 32"}
    story = played(failing, {"operation": "MountVolume", "subject": "data", "latency": "8s", "times": 1}, objects=[web])
    assert reported(story) == ["MountVolume: error: exit status 32", "MountVolume: 8s late"]
    assert "FailedMount" in story.events("web")
    [sandbox] = [r.t for r in story.records if r.KIND == "cri.call" and getattr(r, "call", "") == "RunPodSandbox"]
    assert sandbox > 8_000_000


def test_a_failing_unmount_is_retried_until_the_pod_is_removed() -> None:
    web = pod("web", volumes=[{"name": "data", "emptyDir": {}}])
    web["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    fault = {"operation": "UnmountVolume", "subject": "data", "times": 3, "error": "busy"}
    story = Played({"at": "10s", "delete": {"pod": "web"}}, objects=[web], faults=[fault],
                   expect=[{"pod": "web", "gone": True}])  # fmt: skip
    assert reported(story) == ["UnmountVolume: error: busy"] * 3
    assert story.result.ok


def test_the_simulated_network_fails_with_containerds_message() -> None:
    story = played({"operation": "cni.ADD", "error": "no addresses left", "times": 1})
    [error] = [r.error for r in story.records if isinstance(r, CriReturn) and r.error]
    assert error.startswith('rpc error: code = Unknown desc = failed to setup network for sandbox "')
    assert error.endswith('": plugin type="bridge" failed (add): no addresses left')


@pytest.mark.parametrize("gone", [False, True])
def test_after_a_crash_in_an_add_the_next_sandbox_gets_a_network(gone: bool) -> None:
    """The sandbox is stored without a container: it is listed as not ready, and DEL releases its address."""
    crash = {"what": "runtime", "downFor": "3s"}
    fault = {"operation": "cni.ADD", "subject": "bridge", "crash": crash, "moment": "after", "times": 1}
    steps = [{"at": "30s", "delete": {"pod": "web"}}] if gone else []
    story = Played(*steps, runtime="cni", objects=[pod("web")], faults=[fault], duration="1m")
    assert reported(story) == ["cni.ADD: crash of the runtime, after it has had its effect"]
    assert story.result.ok
    assert story.calls()[:5] == [
        "RunPodSandbox", "StopPodSandbox", "RunPodSandbox", "CreateContainer", "StartContainer",
    ]  # fmt: skip
    plugins = [r.command for r in story.records if isinstance(r, CniExec) and r.plugin == "bridge"]
    assert plugins[:3] == ["ADD", "DEL", "ADD"]
    assert not [error for error in story.sync_errors("web") if "reserved" in error]
    assert story.result.phases == {"default/web": "Succeeded" if gone else "Running"}


def test_no_plugin_is_called_for_a_host_network_pod() -> None:
    fault = {"operation": "cni.*", "error": "no addresses left"}
    story = Played({"at": "10s", "delete": {"pod": "web"}}, faults=[fault], objects=[pod("web", hostNetwork=True)])
    assert not [r for r in story.records if isinstance(r, CriReturn) and r.error]
    assert story.result.phases == {"default/web": "Succeeded"}


def test_a_truncated_manifest_is_ignored() -> None:
    manifest = pod("static")
    story = Played(
        {"at": "20s", "writeStaticPod": {"file": "a.yaml", "manifest": manifest}},
        faults=[{"operation": "disk.WriteStaticPod", "torn": True, "begin": "10s"}],
        sources={"file": {"manifests": {"a.yaml": manifest}}},
        expect=[{"pod": "static-node-1", "phase": "Running"}, {"pod": "static-node-1", "gone": True}],
    )
    assert reported(story) == ["disk.WriteStaticPod: torn write"]
    assert story.result.ok


def test_a_truncated_device_checkpoint_is_discarded_by_the_next_kubelet() -> None:
    node = {"name": "node-1", "devicePlugins": [{"resource": "example.com/gpu", "devices": ["gpu-0", "gpu-1"]}]}
    web = pod("web")
    web["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    story = Played(
        {"at": "20s", "restart": "kubelet"},
        nodes=[node],
        objects=[web],
        faults=[{"operation": "disk.WriteCheckpoint", "subject": "kubelet_internal_checkpoint", "torn": True}],
    )
    assert "disk.WriteCheckpoint: torn write" in reported(story)


def test_no_fault_happens_before_the_start() -> None:
    """The nodes have been up for a minute then, with calls that no fault counts."""
    story = played({"operation": "ListPodSandbox", "results": ["error"], "error": "first"})
    [record] = [record for record in story.records if isinstance(record, Fault)]
    assert record.why == "spec.faults[0], 1st ListPodSandbox that it is about"


FILE = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: chance}
spec:
  faults:
  - {operation: "runtime.*", probability: 0.2, error: "no luck", latency: {median: 500ms, sigma: 1}}
  - {operation: "api.*", probability: 0.2, error: "no luck either"}
  duration: 2m
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: nginx}]
"""


def test_the_same_seed_gives_the_same_faults() -> None:
    def trace(seed: int) -> str | None:
        return run_scenario(parse_scenario(FILE, "f.yaml"), seed=seed, sinks=(HashSink(),)).trace_hash

    assert trace(1) == trace(1) != trace(2)


def test_a_file_without_faults_does_not_import_them() -> None:
    code = (
        "import sys; from kubesim.cli.main import main; main(['run', '-q', 'scenarios/hello-pod.yaml'])\n"
        "assert not [name for name in sys.modules if name.startswith('kubesim.scenario.faults')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_list_calls_can_be_delayed_hang_and_be_disconnected() -> None:
    steps: list[dict[str, Any]] = [{"at": "4s", "hang": {"for": "1s"}}, {"at": "8s", "restart": "runtime"}]
    faults = [{"operation": "List*", "latency": "100ms"}]
    story = Played(*steps, objects=[pod("web")], faults=faults, duration="30s")
    assert story.result.phases == {"default/web": "Running"}


@pytest.mark.parametrize("wrong", [{"pod": "wbe"}, {"subject": "busybx*"}, {"begin": "50s"}])
def test_an_unused_fault_fails_the_run(wrong: dict[str, str]) -> None:
    story = played({"operation": "PullImage", "error": "no", **wrong}, images=[], duration="40s")
    [failure] = story.result.failures
    assert failure.text == "fault of PullImage"
    assert failure.why == "no operation of the run matched it: check its names and times"


def test_a_fault_skipped_by_probability_fails_nothing() -> None:
    assert played({"operation": "PullImage", "error": "no", "probability": 1e-9}, images=[]).result.ok
