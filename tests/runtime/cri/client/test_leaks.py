"""Runs that are killed: what they leave in a real containerd is found again, listed, and removed on request."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.runtime.cri.client.connection import HeldCalls
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls
from tests.support.machine.containerd import Containerd
from tests.support.processes import kubesim

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  volumes: [{name: work, emptyDir: {}}]
  containers:
    - name: main
      image: busybox:1.36
      command: [sh, -c, "echo begun; sleep 100000"]
      volumeMounts: [{name: work, mountPath: /data}]
"""


def call(containerd: Containerd, name: str, request: object) -> object:
    async def main() -> object:
        calls = GrpcCalls(containerd.socket)
        try:
            return await HeldCalls(calls, LoopClock()).call(name, request)
        finally:
            await calls.close()

    return run_virtual(main)


@pytest.fixture
def foreign(containerd: Containerd) -> Iterator[str]:
    """A sandbox of another client of the runtime."""
    metadata = pb.PodSandboxMetadata(name="foreign", uid="u", namespace="default")
    config = pb.PodSandboxConfig(metadata=metadata, labels={"app": "foreign"}, linux=pb.LinuxPodSandboxConfig())
    answer = call(containerd, "RunPodSandbox", pb.RunPodSandboxRequest(config=config))
    assert isinstance(answer, pb.RunPodSandboxResponse)
    yield answer.pod_sandbox_id
    call(containerd, "RemovePodSandbox", pb.RemovePodSandboxRequest(pod_sandbox_id=answer.pod_sandbox_id))


def killed(containerd: Containerd, awaited: str, *words: str) -> None:
    """Start kubesim, and kill it when it has printed the text."""
    line = containerd.command(*kubesim(*words))
    with subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=containerd.environment()
    ) as process:
        assert process.stdout is not None
        assert any(awaited in text for text in process.stdout)
        process.kill()


def leaks(containerd: Containerd, *words: str) -> tuple[int, list[str]]:
    done = containerd.kubesim("cri", "leaks", *words, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def cgroups() -> set[str]:
    return {str(path) for path in Path("/sys/fs/cgroup").glob("*/kubesim-*/node-1")}


def test_a_later_run_finds_the_containers_and_leaks_removes_them(
    containerd: Containerd, foreign: str, tmp_path: Path
) -> None:
    manifest, state, objects = tmp_path / "pod.yaml", tmp_path / "cri", tmp_path / "objects"
    manifest.write_text(POD)
    before = cgroups()
    cluster = ["up", "--runtime", "cri", "--cri-state", str(state), "--state", str(objects), "--timeline"]
    killed(containerd, "main: waiting/ContainerCreating → running", *cluster, str(manifest))
    ours = sorted(set(containerd.containers()) - {foreign})
    assert len(ours) == 2  # the sandbox and its container

    code, lines = leaks(containerd)
    assert code == 1
    assert lines == [f"sandbox {lines[0].split()[1]} of pod default/web", f"state directory {state}"]
    assert any(identifier.startswith(lines[0].split()[1]) for identifier in ours)

    killed(containerd, "serves a cluster", *cluster)
    assert sorted(set(containerd.containers()) - {foreign}) == ours

    assert leaks(containerd, "--clean") == (0, ["nothing is left behind"])
    assert containerd.containers() == [foreign]
    assert not state.exists()
    assert cgroups() == before


def test_only_a_run_that_has_ended_leaks_and_what_is_kept_is_removed_on_request(
    containerd: Containerd, tmp_path: Path
) -> None:
    manifest, state = tmp_path / "pod.yaml", tmp_path / "cri"
    manifest.write_text(POD)
    line = containerd.command(*kubesim("run", str(manifest), "--runtime", "cri", "--keep", "--cri-state", str(state)))
    with subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=containerd.environment()
    ) as process:
        assert process.stdout is not None
        assert any("Pending → Running" in text for text in process.stdout)
        running = containerd.containers()
        assert leaks(containerd, "--clean") == (0, ["nothing is left behind"])
        assert containerd.containers() == running
        process.terminate()
        process.stdout.read()
    assert process.returncode == 130
    assert containerd.containers() == running
    [of_pod, of_state] = leaks(containerd)[1]
    assert of_pod.endswith("of pod default/web (--keep)")
    assert of_state == f"state directory {state} (--keep)"
    assert leaks(containerd, "--clean") == (0, [of_pod, of_state])
    assert leaks(containerd, "--clean", "--kept") == (0, ["nothing is left behind"])
    assert containerd.containers() == []
