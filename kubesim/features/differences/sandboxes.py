"""How sandboxes and their networks are created."""

from __future__ import annotations

from kubesim.features.rules import Difference

SANDBOXES = (
    Difference(
        "failed_sandbox_event",
        {"v1.12": "Failed create pod sandbox"},
        "The Event FailedCreatePodSandBox says `Failed create pod sandbox: ...`; in v1.36 `Failed to create pod "
        "sandbox: ...`.",
        "pkg/kubelet/kuberuntime/kuberuntime_manager.go SyncPod, changed in v1.17",
        "versions/v1.12-failed-add.yaml",
    ),
    Difference(
        "network_problem",
        {"v1.12": "runtime network not ready: {problem}", "v1.6": "{problem}"},
        "How the node reports that its network is not ready; in v1.6 only with the text of the network plugin. In "
        "v1.36 the text begins with `container runtime network not ready: `.",
        "pkg/kubelet/kubelet.go updateRuntimeUp, changed in v1.21; pkg/kubelet/kubelet_network.go "
        "syncNetworkStatus (v1.6)",
        "versions/v1.12-network-not-ready.yaml",
    ),
    Difference(
        "network_not_ready",
        dict.fromkeys(("v1.12", "v1.6"), "network is not ready: [{problem}]"),
        "A sync that waits for the network fails with a list of problems. In v1.36 it fails with one problem.",
        "pkg/kubelet/runtime.go networkErrors, changed in v1.14",
        "versions/v1.12-network-not-ready.yaml",
    ),
    Difference(
        "emits_network_not_ready",
        {"v1.6": False},
        "For a pod that waits for the network, the kubelet emits only FailedSync. In v1.36 it emits NetworkNotReady.",
        "pkg/kubelet/kubelet.go syncPod, changed in v1.9",
        "versions/v1.6-network-not-ready.yaml",
    ),
    Difference(
        "network_status_s",
        {"v1.6": 30},
        "The kubelet polls its network plugin every 30 s. The plugin reads its directory only then, "
        "so a new configuration takes effect up to 30 s late. In v1.36 the runtime watches the directory, and "
        "the kubelet "
        "polls the runtime every 5 s.",
        "pkg/kubelet/kubelet_network.go syncNetworkStatus, unused since dockertools was removed in v1.7, "
        "removed in v1.11",
        "versions/v1.6-network-not-ready.yaml",
    ),
    Difference(
        "makes_empty_sandboxes",
        {"v1.12": True},
        "A pod with restartPolicy Never whose sandbox dies gets a new, empty sandbox, which the next sync stops. In "
        "v1.36 the pod is stopped immediately.",
        "pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions, changed in v1.13, v1.16 and v1.20",
        "versions/v1.12-empty-sandbox.yaml",
    ),
    Difference(
        "sandbox_order",
        {"v1.12": "dockershim", "v1.6": "dockertools"},
        "The network plugin is part of the kubelet and is called after the pause container has started. A failed "
        "ADD leaves an exited sandbox, so the next attempt follows within two seconds: v1.12 runs DEL and emits "
        "SandboxChanged, v1.6 kills the infra container without DEL and emits no Event about sandboxes: the sync "
        "fails with SetupNetworkError or RunContainerError. Ids of containers begin with `docker://`, those of "
        "images with `docker-pullable://`. In v1.36 containerd calls CNI before it starts the pause container, and "
        "a failed ADD leaves no sandbox; the kubelet retries after 10 to 15 s.",
        "pkg/kubelet/dockershim/docker_sandbox.go RunPodSandbox, removed in v1.24; "
        "pkg/kubelet/dockertools/docker_manager.go SyncPod, removed in v1.7",
        "versions/v1.12-failed-add.yaml",
    ),
    Difference(
        "containerd",
        {"v1.30": "1.7"},
        "The runtime is containerd 1.7: it creates the pause container first, then the network. With a user "
        "namespace, the task creates the network namespace, so CNI is called after that. A DEL that fails after a "
        "failed ADD leaves the sandbox. The runtime reports no handlers, so the kubelet refuses `hostUsers: false` "
        "unless the node has `userNamespaces: true`. In v1.36 containerd 2 sets up the network first, within the "
        "user namespace, and reports its handlers.",
        "containerd 1.7 pkg/cri/server/sandbox_run.go RunPodSandbox, status.go Status",
        "versions/v1.30-user-namespace.yaml",
    ),
)
