"""What kubelets ask a runtime: our kubelet in front of a real containerd and in the simulation, call by call."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from kubesim.runtime.cri.record.calls_of_pods import asks_by_pod
from kubesim.runtime.cri.record.comparison import compare_calls
from kubesim.runtime.cri.record.recording import read_recording
from tests.support.cri_plugin import play
from tests.support.cri_process import running
from tests.support.machine.containerd import Containerd

SCENARIOS = Path(__file__).parents[4] / "scenarios" / "cri"


@pytest.mark.parametrize("name", ["init-containers", "sidecar"])
def test_the_simulation_asks_what_is_asked_of_containerd(
    containerd: Containerd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    scenario, recording = SCENARIOS / f"{name}.yaml", tmp_path / "real.jsonl"
    socket = containerd.directory / "rec.sock"
    words = ("record", "--endpoint", containerd.endpoint, "-o", str(recording))
    with running(socket, *words) as proxy:
        done = containerd.kubesim(
            "run", str(scenario), "-q", "--runtime", "cri", "--cri-endpoint", f"unix://{socket}", timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        proxy.send_signal(signal.SIGTERM)
        proxy.communicate(timeout=60)
        assert proxy.returncode == 0
    with recording.open() as file:
        real = asks_by_pod(read_recording(file, "the recording"))
    result, calls = play(scenario, tmp_path / "state", monkeypatch)
    assert result.failures == ()
    simulated = asks_by_pod(calls)
    assert [text for asks in simulated.values() for text in (ask.text for ask in asks)]
    assert compare_calls(simulated, real) == []


def test_a_kubelet_that_asks_otherwise_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = play(SCENARIOS / "sidecar.yaml", tmp_path / "state", monkeypatch)
    asks = asks_by_pod(calls)
    (pod,) = asks
    order = [ask.text for ask in asks[pod]]
    assert order[:3] == ["RunPodSandbox", "CreateContainer proxy", "StartContainer proxy"]
    fewer = {pod: [ask for ask in asks[pod] if ask.text != "StartContainer main"]}
    (difference,) = compare_calls(asks, fewer)
    assert (difference.pod, difference.left) == ("default/job", "StartContainer main")
    assert difference.number == order.index("StartContainer main") + 1


# What a kubelet v1.36.4 without an API server asked `kubesim cri serve` for the pod of real_kubelet.yaml, recorded with
# `kubesim cri record`. It was stopped before its garbage collection removed the rest.
REAL_KUBELET = """
    RunPodSandbox
    PullImage busybox:latest, CreateContainer first, StartContainer first
    PullImage nginx:1.27, CreateContainer main, StartContainer main
    PullImage busybox:latest, CreateContainer crash, StartContainer crash
    PullImage busybox:latest, CreateContainer crash, StartContainer crash
    RemoveContainer crash
    PullImage busybox:latest, CreateContainer crash, StartContainer crash
    RemoveContainer crash
    StopContainer main
    StopPodSandbox
"""


def test_our_kubelet_asks_what_the_real_one_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, calls = play(Path(__file__).with_name("real_kubelet.yaml"), tmp_path, monkeypatch)
    assert result.failures == ()
    real = [text.strip() for text in REAL_KUBELET.strip().replace("\n", ",").split(",")]
    ours = [ask.text for ask in asks_by_pod(calls)["default/web-n1"]]
    assert ours[: len(real)] == real
    assert {text.split()[0] for text in ours[len(real) :]} == {"RemoveContainer", "StopPodSandbox", "RemovePodSandbox"}
