"""How sandboxes and their networks are made."""

from __future__ import annotations

from kubesim.features.rules import Difference

SANDBOXES = (
    Difference(
        "sandbox_order",
        {"v1.12": "dockershim", "v1.6": "dockertools"},
        "The network plugin lives in the kubelet and is called after pause runs. A failed ADD leaves an exited "
        "sandbox, so that the next attempt follows within two seconds: v1.12 runs DEL and says SandboxChanged, v1.6 "
        "kills the infra container without DEL. In v1.36 containerd calls CNI before pause runs and leaves nothing; "
        "the kubelet retries after 10 to 15 s.",
        "pkg/kubelet/dockershim/docker_sandbox.go RunPodSandbox, removed in v1.24; "
        "pkg/kubelet/dockertools/docker_manager.go SyncPod, removed in v1.7",
        "versions/v1.12-failed-add.yaml",
    ),
)
