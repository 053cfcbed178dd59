"""Pod workers, the sync loop, and the end of a pod."""

from __future__ import annotations

from kubesim.features.rules import Difference

POD_WORKERS = (
    Difference(
        "pod_worker_states",
        {"v1.12": False, "v1.6": False},
        "A deletion is a sync like any other. A sync is never cancelled, so a shorter grace period does not shorten "
        "a stop in progress, and the phase stays Running. A static pod that replaces another one starts "
        "immediately. The "
        "API object of a deleted pod is deleted when no container runs and its volumes and cgroup are removed. In "
        "v1.36 a pod is terminating, then terminated; its worker cancels a stop when the grace period becomes "
        "shorter, and the API object is deleted after the worker's last sync.",
        "pkg/kubelet/pod_workers.go, rewritten in v1.22 (kubernetes/kubernetes#102344)",
        "versions/v1.12-shorter-grace.yaml",
    ),
    Difference(
        "emits_sync_errors",
        {"v1.6": True},
        "Each failed sync emits the Event FailedSync, even if it only waits for a back-off. In v1.36 the kubelet "
        "emits this Event only if the runtime does not answer.",
        "pkg/kubelet/pod_workers.go managePodLoop, changed in v1.9",
        "versions/v1.6-failed-sync.yaml",
    ),
    Difference(
        "doubles_loop_pause",
        {"v1.6": False},
        "A starting kubelet waits 5 s before it handles its first pod, because the state of the runtime is not "
        "known yet, and 5 s each time that the runtime is down. In v1.36 it waits 0.1 s, then doubles the wait each "
        "time, up to 5 s.",
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
        "The kubelet deletes the API object of a deleted pod only after the records of its containers are removed, "
        "up to 10 s later. In v1.36 it does not wait for the records.",
        "pkg/kubelet/kubelet_pods.go PodResourcesAreReclaimed, until v1.21",
        "versions/v1.12-slow-removal.yaml",
    ),
    Difference(
        "reports_containers_of_failed",
        {"v1.12": False, "v1.6": False},
        "An eviction and an exceeded deadline replace the status: container statuses and addresses disappear from "
        "it. In v1.36 they stay.",
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
        "The address of a pod disappears from its status when its sandbox has stopped. In v1.36 it stays.",
        "pkg/kubelet/pleg/generic.go getPodIP, added in v1.9",
        "versions/v1.6-conditions.yaml",
    ),
    Difference(
        "reports_all_addresses",
        {"v1.12": False, "v1.6": False},
        "The status has one podIP and one hostIP. In v1.36 it also has the lists podIPs and hostIPs.",
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
        "taints and the operating system are not checked. In v1.36 the reasons are NodeAffinity, NodeName, "
        "NodePorts and TaintToleration.",
        "pkg/kubelet/lifecycle/predicate.go Admit, changed in v1.18; taints since v1.24",
        "versions/v1.6-rejected.yaml",
    ),
    Difference(
        "volume_timeout_s",
        {"v1.6": 120},
        "A sync waits 120 s for volumes. In v1.36 it waits 123 s, to get the result of an attempt that started "
        "before 120 s.",
        "pkg/kubelet/volumemanager/volume_manager.go podAttachAndMountTimeout, changed in v1.7",
        "versions/v1.6-failed-mount.yaml",
    ),
    Difference(
        "emits_volume_timeouts",
        {"v1.12": True, "v1.6": True},
        "Each sync that times out waiting for volumes emits the Event FailedMount with a list of them. In v1.36 "
        "only the Events of the failed operations report the reason.",
        "pkg/kubelet/kubelet.go syncPod, changed in v1.28",
        "versions/v1.12-failed-mount.yaml",
    ),
    Difference(
        "grace_override_is_final",
        {"v1.12": True, "v1.6": True},
        "A preStop hook gets the grace period of the pod, even if the pod is evicted. After the hook, the container "
        "gets exactly the grace period of the eviction: with 0 s it is killed immediately. In v1.36 the grace "
        "period of "
        "the eviction applies to both, and the container gets at least 2 s.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go killContainer, changed in v1.28",
        "versions/v1.12-eviction.yaml",
    ),
)
