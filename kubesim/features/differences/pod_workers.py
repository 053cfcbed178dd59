"""Pod workers, the sync loop, and the end of a pod."""

from __future__ import annotations

from kubesim.features.rules import Difference

POD_WORKERS = (
    Difference(
        "pod_worker_states",
        {"v1.12": False, "v1.6": False},
        "A deletion is a sync like any other. A sync is never cancelled, so a shorter grace period does not shorten a "
        "stop that is under way, and the phase stays Running. A static pod that replaces another starts at once. In "
        "v1.36 a pod is terminating, then terminated, and its worker ends the stop that takes too long. The API object "
        "of a deleted pod goes when nothing of it runs and its volumes and its cgroup are gone; in v1.36 its worker's "
        "last sync lets it go.",
        "pkg/kubelet/pod_workers.go, rewritten in v1.22 (kubernetes/kubernetes#102344)",
        "versions/v1.12-shorter-grace.yaml",
    ),
    Difference(
        "emits_sync_errors",
        {"v1.6": True},
        "Each sync that fails emits the Event FailedSync, also one that only waits for a back-off. In v1.36 only a "
        "runtime that does not answer leads to this Event.",
        "pkg/kubelet/pod_workers.go managePodLoop, changed in v1.9",
        "versions/v1.6-failed-sync.yaml",
    ),
    Difference(
        "doubles_loop_pause",
        {"v1.6": False},
        "A kubelet that starts waits for 5 s before it handles its first pod, because the runtime is not known to work "
        "in the first instant, and 5 s each time that the runtime is down. In v1.36 it waits for 0.1 s, then twice as "
        "long each time, up to 5 s.",
        "pkg/kubelet/kubelet.go syncLoop, changed in v1.10",
        "versions/v1.6-slow-start.yaml",
    ),
    Difference(
        "readiness_through_loop",
        {"v1.12": False, "v1.6": False},
        "The probe manager writes readiness into the status, and no sync follows. In v1.36 the sync loop does it and "
        "syncs the pod.",
        "pkg/kubelet/prober/prober_manager.go updateReadiness, removed in v1.21",
        "versions/v1.12-readiness.yaml",
    ),
    Difference(
        "removal_waits_for_records",
        {"v1.12": True},
        "The API object of a deleted pod does not go before the records of its containers are gone, and nothing "
        "reports when that is: up to 10 s later. In v1.36 records do not matter.",
        "pkg/kubelet/kubelet_pods.go PodResourcesAreReclaimed, removed in v1.27",
        "versions/v1.12-slow-removal.yaml",
    ),
    Difference(
        "reports_containers_of_failed",
        {"v1.12": False, "v1.6": False},
        "An eviction and an exceeded deadline replace the status: containers and addresses vanish from it. In v1.36 "
        "they stay.",
        "pkg/kubelet/kubelet_pods.go generateAPIPodStatus, changed in v1.13; pkg/kubelet/kubelet.go syncPod "
        "(SyncPodKill), removed in v1.22",
        "versions/v1.12-deadline.yaml",
    ),
    Difference(
        "containers_ready_condition",
        {"v1.6": False},
        "The status has no condition ContainersReady: Ready alone reports the containers.",
        "pkg/kubelet/status/generate.go GenerateContainersReadyCondition, added in v1.11",
        "versions/v1.6-conditions.yaml",
    ),
    Difference(
        "reports_pod_failed",
        {"v1.12": False, "v1.6": False},
        "A failed pod is not ready because of ContainersNotReady, with the names of its containers. In v1.36 the "
        "reason is PodFailed.",
        "pkg/kubelet/status/generate.go GenerateContainersReadyCondition, changed in v1.25",
        "versions/v1.12-failed-pod.yaml",
    ),
    Difference(
        "keeps_addresses",
        {"v1.6": False},
        "The address of a pod vanishes from its status when its sandbox has stopped. In v1.36 it stays.",
        "pkg/kubelet/pleg/generic.go getPodIP, added in v1.9",
        "versions/v1.6-conditions.yaml",
    ),
    Difference(
        "reports_all_addresses",
        {"v1.12": False, "v1.6": False},
        "The status has one podIP and one hostIP. In v1.36 it has the lists podIPs and hostIPs beside them.",
        "pkg/kubelet/kubelet_pods.go generateAPIPodStatus: podIPs since v1.16, hostIPs since v1.28 (gate PodHostIPs)",
        "versions/v1.6-conditions.yaml",
    ),
    Difference(
        "rejected_status",
        {"v1.12": "Pod {message}", "v1.6": "Pod {message}"},
        "The message of a pod that the kubelet does not admit begins with `Pod `. In v1.36 it begins with `Pod was "
        "rejected: `.",
        "pkg/kubelet/kubelet.go rejectPod, changed in v1.26",
        "versions/v1.6-rejected.yaml",
    ),
    Difference(
        "general_predicates",
        {"v1.12": True, "v1.6": True},
        "A pod is rejected for the reason MatchNodeSelector, HostName or PodFitsHostPorts, without an explanation; "
        "taints and the operating system do not matter. In v1.36 the reasons are NodeAffinity, NodeName, NodePorts and "
        "TaintToleration.",
        "pkg/kubelet/lifecycle/predicate.go Admit, changed in v1.18; taints since v1.24",
        "versions/v1.6-rejected.yaml",
    ),
    Difference(
        "volume_timeout_s",
        {"v1.6": 120},
        "A sync waits for volumes for 120 s; in v1.36 for 123 s, so that it sees the result of an attempt that began "
        "before 120 s.",
        "pkg/kubelet/volumemanager/volume_manager.go podAttachAndMountTimeout, changed in v1.7",
        "versions/v1.6-failed-mount.yaml",
    ),
    Difference(
        "emits_volume_timeouts",
        {"v1.12": True, "v1.6": True},
        "Each sync that waited for volumes in vain emits the Event FailedMount, with a list of them. In v1.36 only the "
        "volumes' own Events report what is wrong.",
        "pkg/kubelet/kubelet.go syncPod, changed in v1.28",
        "versions/v1.12-failed-mount.yaml",
    ),
    Difference(
        "grace_override_is_final",
        {"v1.12": True, "v1.6": True},
        "A preStop hook has the grace period of the pod, also when the pod is evicted. After it, the grace period of "
        "the eviction counts as it is: with 0 s the container is killed at once. In v1.36 that of the eviction counts "
        "for both, and the container has 2 s at least.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go killContainer, changed in v1.28",
        "versions/v1.12-eviction.yaml",
    ),
)
