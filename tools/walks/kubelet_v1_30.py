"""Kubelet v1.30 with containerd: how a pod is created, from HandlePodAdditions to its last container."""

from __future__ import annotations

from typing import Final

from tools.walks.controller_start import CONTAINERS, SANDBOX
from tools.walks.steps import Shown, Step, Walk

_HELLO = "kubesim run -v --profile v1.30 scenarios/hello-pod.yaml"
_DELETE = "kubesim run -v --profile v1.30 scenarios/graceful-delete.yaml"
_NO_NETWORK = "--runtime cni --cni-conf-dir tests/tools/walk/net.d --until 3s"
_WITH_CLAIMS = "--feature-gates DynamicResourceAllocation=true"
_KUBELET = "pkg/kubelet/kubelet.go SyncPod"
_WORKERS = "pkg/kubelet/pod_workers.go"

_ADDITIONS = (
    Shown(
        _HELLO,
        (
            Step("A pod arrives on configCh", "kubelet.go syncLoopIteration", "channel config (ready: config) — ADD"),
            Step("HandlePodAdditions takes pods by age", "kubelet.go HandlePodAdditions", "HandlePodAdditions"),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/static-pod.yaml",
        (
            Step(
                "A static pod gets a mirror pod at the API server", "mirror_client.go", "web-node-1 ADD from source api"
            ),
        ),
    ),
    Shown(
        "kubesim run -q --profile v1.30 scenarios/nodes/out-of-memory.yaml",
        (Step("canAdmitPod: the node refuses what does not fit", "kubelet.go rejectPod", "OutOfmemory"),),
    ),
)

_UPDATE = (
    Shown(
        _HELLO,
        (
            Step(
                "UpdatePod: a uid that is new gets a worker with a channel for one update",
                f"{_WORKERS} UpdatePod",
                "UpdatePod(create) — the pod is new to the pod workers, so it gets a worker",
            ),
        ),
    ),
    Shown(
        _DELETE,
        (
            Step(
                "A deletion timestamp begins termination, with a grace period",
                f"{_WORKERS} UpdatePod, calculateEffectiveGracePeriod",
                "UpdatePod(update) — the pod is terminating: the worker stops it with a grace period of 30 s",
            ),
            Step(
                "The state of the worker changes",
                f"{_WORKERS} podSyncStatus",
                "now terminating — the pod must terminate: it was",
            ),
            Step(
                "Updates after the end are ignored",
                f"{_WORKERS} UpdatePod",
                "ignored: the worker has finished with this uid",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/node-shutdown.yaml",
        (
            Step(
                "A kill by the kubelet itself has a function that makes the status",
                f"{_WORKERS} KillPodOptions.PodStatusFunc",
                "Pod was terminated in response to imminent node shutdown.",
            ),
        ),
    ),
)

_WORKER_LOOP = (
    Shown(
        _HELLO,
        (
            Step(
                "The worker waits for a status that is newer than its last sync",
                f"{_WORKERS} podWorkerLoop, cache.GetNewerThan",
                "the worker takes the pending update; the runtime status is newer than its last sync",
            ),
            Step("completeWork: the next sync without cause", f"{_WORKERS} completeWork", "SyncPod done, next in 1m"),
        ),
    ),
    Shown(
        _DELETE,
        (
            Step("SyncTerminatingPod stops the containers", f"{_WORKERS} podWorkerLoop", "┌ SyncTerminatingPod"),
            Step(
                "They are down",
                f"{_WORKERS} completeTerminating",
                "now terminated — no container of the pod is running any more",
            ),
            Step("SyncTerminatedPod cleans up", f"{_WORKERS} podWorkerLoop", "SyncTerminatedPod"),
            Step(
                "Everything is gone",
                f"{_WORKERS} completeTerminated",
                "now finished — everything of the pod is cleaned up",
            ),
        ),
    ),
    Shown(
        "kubesim run -q --metrics - --profile v1.30 scenarios/hello-pod.yaml",
        (
            Step(
                "How long a sync took, from the oldest update that waited",
                f"{_WORKERS} podWorkerLoop, metrics.PodWorkerDuration",
                'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
            ),
            Step(
                "How long a pod waited for its first sync",
                f"{_KUBELET}, firstSeenTime",
                "kubelet_pod_worker_start_duration_seconds_count 1",
            ),
            Step(
                "How long it was until it ran",
                f"{_KUBELET}, PodStartDuration",
                "kubelet_pod_start_duration_seconds_count",
            ),
        ),
    ),
    Shown(
        "kubesim run -q --otlp /dev/stdout --profile v1.30 scenarios/hello-pod.yaml",
        (
            Step("Each sync is a span", f"{_KUBELET}, tracer.Start", '"name":"syncPod"'),
            Step(
                "With the pod and the kind of update",
                _KUBELET,
                '{"key":"k8s.pod.update_type","value":{"stringValue":"create"}}',
            ),
        ),
    ),
)

_SYNC = (
    Shown(
        _HELLO,
        (
            Step(
                "SyncPod computes the status and sends it to the status manager",
                f"{_KUBELET}, generateAPIPodStatus, SetPodStatus",
                "version 1 queued for the API server: Pending",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/job.yaml",
        (
            Step(
                "A pod that has ended is terminal: it terminates",
                _KUBELET,
                "now terminating — SyncPod found that the pod has reached a terminal phase",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.30-apparmor.yaml",
        (
            Step(
                "canRunPod: containers that may not run are Blocked", f"{_KUBELET}, canRunPod", "main: waiting/Blocked"
            ),
            Step(
                "The sync ends with an error and is tried again", _KUBELET, "pod cannot be run: Cannot enforce AppArmor"
            ),
        ),
    ),
    Shown(
        f"kubesim run -q --profile v1.30 {_NO_NETWORK} scenarios/hello-pod.yaml",
        (
            Step(
                "Without a network only pods of the host's network go on",
                f"{_KUBELET}, networkErrors",
                "message:Network plugin returns error: cni plugin not initialized",
            ),
        ),
        exit=1,
    ),
    Shown(
        _HELLO,
        (
            Step(
                "The control group of the pod, below that of its QoS class",
                f"{_KUBELET}, UpdateQOSCgroups, EnsureExists",
                "SyncPod: make the control group /kubepods/besteffort/pod",
            ),
            Step(
                "Its data directories",
                f"{_KUBELET}, makePodDataDirs",
                "SyncPod: make the directories /var/lib/kubelet/pods/",
            ),
        ),
    ),
    Shown(
        "kubesim run --profile v1.30 scenarios/nodes/no-room-for-pod.yaml",
        (
            Step(
                "The control group fails", _KUBELET, "FailedCreatePodContainer: unable to ensure pod container exists"
            ),
            Step("The directories fail", _KUBELET, "Warning Failed: error making pod data directories: mkdir"),
        ),
    ),
    Shown(
        "kubesim run --profile v1.30 scenarios/configmap-missing.yaml",
        (
            Step(
                "The sync waits for volumes",
                f"{_KUBELET}, WaitForAttachAndMount",
                "Warning FailedMount: MountVolume.SetUp failed",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/probes.yaml",
        (
            Step(
                "Probes are added",
                f"{_KUBELET}, probeManager.AddPod",
                "readiness of main begins as failure: the container is new",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.30-crashloop.yaml",
        (
            Step(
                "Back-offs alone should be no error, but a result without one is always among them: the sync fails",
                f"{_KUBELET}, result.SyncResults",
                "with CrashLoopBackOff:",
            ),
        ),
    ),
)

_RESIZE = (
    Shown(
        "kubesim run -v scenarios/versions/v1.30-resize.yaml",
        (
            Step(
                "A resize is decided in the sync, and reported in status.resize",
                "kubelet.go handlePodResourcesResize",
                'status.resize is "InProgress"',
            ),
        ),
    ),
)

_RUNTIME_SYNC = (
    Shown(
        _HELLO,
        (
            Step(
                "1. computePodActions compares what is with what should be",
                "kuberuntime_manager.go computePodActions",
                "create sandbox, start main — no sandbox exists yet, so one is created",
            ),
            Step("4. A sandbox is created", "kuberuntime_manager.go SyncPod", "RunPodSandbox [cri-api RuntimeService]"),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.30-reboot-init.yaml",
        (
            Step(
                "2. A dead sandbox is replaced",
                "SyncPod",
                "SandboxChanged: Pod sandbox changed, it will be killed and re-created.",
            ),
            Step(
                "The whole pod is stopped first",
                "killPodWithSyncResult",
                "stop the whole pod, create sandbox (attempt 1)",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/probes.yaml",
        (
            Step(
                "3. Containers that must not go on are killed",
                "killContainer",
                "Killing: Container main failed liveness probe, will be restarted",
            ),
        ),
    ),
    Shown(
        f"kubesim run -q --profile v1.30 {_WITH_CLAIMS} scenarios/nodes/prepare-fails.yaml",
        (
            Step(
                "Dynamic resources are prepared before the sandbox",
                "PrepareDynamicResources",
                "FailedPrepareDynamicResources: Failed to prepare dynamic resources",
            ),
        ),
    ),
    Shown(
        "kubesim run -q --metrics - --profile v1.30 scenarios/nodes/sandbox-fault.yaml",
        (
            Step("A sandbox that fails is an Event", "SyncPod", "FailedCreatePodSandBox: Failed to create pod sandbox"),
            Step("It is counted", "metrics.StartedPodsErrorsTotal", "kubelet_started_pods_errors_total"),
            Step("So are all sandboxes", "metrics.StartedPodsTotal", "kubelet_started_pods_total"),
            Step(
                "And containers",
                "metrics.StartedContainersTotal",
                'kubelet_started_containers_total{container_type="container"}',
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.30-single-init.yaml",
        (
            Step(
                "6. With the gate SidecarContainers off, one init container at a time",
                "SyncPod, NextInitContainerToStart",
                "start init container second — init container first is done, so second is started",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/crashloop.yaml",
        (
            Step(
                "doBackOff: a container that crashes has to wait",
                "doBackOff",
                "BackOff: Back-off restarting failed container",
            ),
        ),
    ),
)

WALK: Final = Walk(
    "Kubelet v1.30 and containerd: how a pod is created",
    "From the handler of the sync loop through worker, sync, runtime manager and sandbox to the containers.",
    (*_ADDITIONS, *_UPDATE, *_WORKER_LOOP, *_SYNC, *_RESIZE, *_RUNTIME_SYNC, *SANDBOX, *CONTAINERS),
)
