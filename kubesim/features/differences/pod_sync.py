"""One sync of a pod: when it is retried, what blocks it, how it ends, what the pod's status reports."""

from __future__ import annotations

from kubesim.features.rules import Difference

POD_SYNC = (
    Difference(
        "retries_at_back_off_expiry",
        {"v1.6": False, "v1.12": False, "v1.30": False},
        "A sync that is delayed by a back-off is retried after 10 to 15 s, so containers restart late, and each "
        "retry emits BackOff. In v1.36 the kubelet retries when the back-off ends.",
        "pkg/kubelet/pod_workers.go completeWork, until v1.34",
        "versions/v1.30-crashloop.yaml",
    ),
    Difference(
        "retries_network_soon",
        {"v1.6": False, "v1.12": False},
        "A sync that waits for the network is retried after 10 to 15 s. In v1.36 it is retried after 1 to 1.5 s.",
        "pkg/kubelet/pod_workers.go wrapUp, changed in v1.13",
        "versions/v1.12-network-not-ready.yaml",
    ),
    Difference(
        "backs_off_in_new_sandbox",
        {"v1.6": False},
        "A container that waits for its back-off starts immediately when the pod gets a new infra container. In v1.36 "
        "it continues to wait.",
        "pkg/kubelet/dockertools/docker_manager.go SyncPod, removed in v1.7",
        "versions/v1.6-new-infra.yaml",
    ),
    Difference(
        "app_armor_rejects_pod",
        {"v1.6": False, "v1.12": False, "v1.30": False},
        "A pod whose AppArmor profile cannot be enforced stays Pending with containers in state Blocked, and is "
        "retried. In v1.36 it is rejected with phase Failed.",
        "pkg/kubelet/kubelet.go canRunPod, until v1.30",
        "versions/v1.30-apparmor.yaml",
    ),
    Difference(
        "admits_finished_pods",
        {"v1.30": True},
        "A starting kubelet admits finished pods like new ones: a pod that no longer fits the node becomes Failed, "
        "even if it had succeeded. In v1.36 finished pods are not admitted again.",
        "pkg/kubelet/kubelet.go HandlePodAdditions, changed in v1.30.5",
        "versions/v1.30-finished-pod.yaml",
    ),
    Difference(
        "decides_resizes_at_sync",
        {"v1.30": True},
        "With the gate InPlacePodVerticalScaling, the sync of a pod decides about its resize and reports it as "
        "`status.resize`: InProgress, Deferred or Infeasible, without Events. The next resync, a minute or more "
        "later, retries the resize or reports that it is done. In v1.36 the kubelet decides immediately and again when "
        "resources become free, and reports the conditions PodResizePending and PodResizeInProgress.",
        "pkg/kubelet/kubelet.go handlePodResourcesResize: status.resize until v1.32, decisions of syncs until v1.33",
        "versions/v1.30-resize.yaml",
    ),
    Difference(
        "proposes_resizes",
        {"v1.30": True},
        "The API server accepts every resize and writes `Proposed` into `status.resize`; the kubelet replaces it "
        "with its decision. In v1.36 the API server rejects a resize that exceeds the node's resources.",
        "pkg/api/pod/util.go MarkPodProposedForResize, until v1.32; plugin/pkg/admission/podresize since v1.36",
        "versions/v1.30-refused-resize.yaml",
    ),
    Difference(
        "starts_with_refused_resources",
        {"v1.30": True},
        "A container whose resize was refused gets the refused resources when it restarts. In v1.36 it starts with "
        "its allocated resources.",
        "pkg/kubelet/kubelet.go handlePodResourcesResize, until v1.31 (kubernetes/kubernetes#126033)",
        "versions/v1.30-refused-resize.yaml",
    ),
    Difference(
        "honours_zero_grace",
        {"v1.30": False},
        "A grace period of 0 counts as not set: the kubelet uses the one in the spec. In v1.36 it uses 1 s.",
        "pkg/kubelet/pod_workers.go calculateEffectiveGracePeriod, until v1.30",
        "versions/v1.30-hard-eviction.yaml",
    ),
    Difference(
        "hard_eviction_grace_s",
        {"v1.6": 0, "v1.12": 0, "v1.30": 0},
        "Hard eviction uses a grace period of 0 s; in v1.36, 1 s.",
        "pkg/kubelet/eviction/eviction_manager.go immediateEvictionGracePeriodSeconds since v1.31",
        "versions/v1.30-hard-eviction.yaml",
    ),
    Difference(
        "soft_eviction_within_pod_grace",
        {"v1.6": False, "v1.12": False, "v1.30": False},
        "Soft eviction uses evictionMaxPodGracePeriod, even if the pod has a shorter grace period. In v1.36 it uses "
        "the shorter of the two.",
        "pkg/kubelet/eviction/eviction_manager.go synchronize, until v1.31",
        "versions/v1.30-soft-eviction.yaml",
    ),
    Difference(
        "reports_sandbox_ready_at_once",
        {"v1.30": False, "v1.35": False},
        "PodReadyToStartContainers becomes True with the first sync after the images are pulled. In v1.36 it "
        "becomes True as soon as the sandbox is ready.",
        "pkg/kubelet/kubelet.go OnPodSandboxReady since v1.36",
        "versions/v1.30-slow-pull.yaml",
    ),
    Difference(
        "repeats_initialization",
        {"v1.6": False},
        "Init containers that succeeded do not run again in a new sandbox. In v1.36 the pod is initialized again.",
        "pkg/kubelet/dockertools/docker_manager.go findActiveInitContainer, removed in v1.7",
        "versions/v1.6-init-once.yaml",
    ),
    Difference(
        "reports_failed_init_containers",
        {"v1.6": True},
        "A sync that restarts an init container returns the error RunInitContainerError and is retried after 10 to "
        "15 s. In v1.36 it succeeds.",
        "pkg/kubelet/dockertools/docker_manager.go SyncPod, removed in v1.7",
        "versions/v1.6-failed-init.yaml",
    ),
    Difference(
        "running_shows_initialized",
        {"v1.6": False, "v1.12": False},
        "When the records of init containers are gone, the first init container runs again in parallel with the "
        "containers of the pod, and the pod is not initialized. In v1.36 a running regular container proves that "
        "the pod was initialized.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go findNextInitContainerToRun, changed in v1.21; "
        "pkg/kubelet/status/generate.go GeneratePodInitializedCondition, changed in v1.28",
        "versions/v1.12-init-again.yaml",
    ),
    Difference(
        "infers_finished_init_containers",
        {"v1.12": False, "v1.30": False, "v1.35": False},
        "An init container without a record is reported as waiting, even in a running pod. In v1.36 it is reported "
        "as Completed.",
        "pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses, until v1.35",
        "versions/v1.30-init-records.yaml",
    ),
    Difference(
        "pending_while_initializing_again",
        {"v1.30": False},
        "A pod that is initialized again in a new sandbox stays Running. In v1.36 it is Pending until it is "
        "initialized.",
        "pkg/kubelet/kubelet_pods.go getPhase, until v1.31",
        "versions/v1.30-reboot-init.yaml",
    ),
)
