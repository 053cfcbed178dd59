"""Changes of v1.36 and v1.37 that no feature gate controls."""

from __future__ import annotations

from kubesim.features.rules import Difference

RECENT = (
    Difference(
        "retries_resizes_when_pod_ends",
        {"v1.35": False},
        "A deferred resize is retried when a pod is deleted or shrinks, and every three minutes. In v1.36 it is "
        "also retried when a pod succeeds or fails.",
        "kubelet.go HandlePodReconcile, v1.36",
        "versions/v1.35-deferred-resize.yaml",
    ),
    Difference(
        "old_sandbox_counts_as_initialized",
        {"v1.37": False},
        "Only containers of the current sandbox count for the progress of initialization. In v1.36 a container that "
        "was created but never started before a reboot counts as well, and all init containers except the first are "
        "skipped.",
        "kuberuntime_container.go computeInitContainerActions, #138514 in v1.37",
        "versions/v1.37-reboot-before-start.yaml",
    ),
    Difference(
        "sync_cancels_exec_probes",
        {"v1.30": False, "v1.37": False},
        "A terminating pod is probed until its containers have stopped, and a readiness probe can make it not "
        "ready. In v1.35 and v1.36 exec probes end when the deletion arrives, and Ready keeps its value.",
        "prober_manager.go AddPod, #140882 in v1.37",
        "versions/v1.37-terminating-readiness.yaml",
    ),
    Difference(
        "limits_storage_of_sidecars",
        {"v1.37": True},
        "A sidecar that exceeds its ephemeral-storage limit has its pod evicted. In v1.36 only the limits of regular "
        "containers are enforced one by one.",
        "eviction_manager.go containerEphemeralStorageLimitEviction, #138462 in v1.37",
        "versions/v1.37-sidecar-storage.yaml",
    ),
    Difference(
        "pulls_image_volumes_every_sync",
        {"v1.37": False},
        "Images of volumes are checked only if a container must be started. In v1.36 every sync checks them, with "
        "an Event Pulled each time.",
        "kuberuntime_manager.go SyncPod, #138655 in v1.37",
        "versions/v1.37-image-volume-events.yaml",
    ),
    Difference(
        "explains_missing_sandbox",
        {"v1.37": True},
        "If PodReadyToStartContainers is False, it has the reason PodSandboxNotReady and a message. In v1.36 it has "
        "neither.",
        "status/generate.go GeneratePodReadyToStartContainersCondition, v1.37",
        "versions/v1.37-sandbox-message.yaml",
    ),
    Difference(
        "reports_missing_pull_secrets_every_sync",
        {"v1.37": False},
        "The Event FailedToRetrieveImagePullSecret is emitted only if an image could not be pulled. In v1.36 every "
        "sync of a pod with a missing pull secret emits it.",
        "kubelet.go SyncPod, kubelet_pods.go getPullSecretsForPod, v1.37",
        "versions/v1.37-missing-pull-secret.yaml",
    ),
    Difference(
        "reads_port_name_as_number",
        {"v1.37": False},
        'A probe of a port that the container does not name fails with `port "web" not found`. In v1.36 the Event '
        "shows the attempt to read the name as a number.",
        "pkg/probe/util.go ResolveContainerPort, v1.37",
        "versions/v1.37-unknown-port.yaml",
    ),
    Difference(
        "event_qps_of_zero",
        {"v1.37": 0},
        "`eventRecordQPS: 0` means no limit. In v1.36 it means 5 Events a second, the default of the client.",
        "cmd/kubelet/app/server.go, #117119 in v1.37",
        "versions/v1.37-event-rate.yaml",
    ),
)
