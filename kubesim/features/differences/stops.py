"""The end of a container: when the Event Killing is emitted, and its message."""

from __future__ import annotations

from kubesim.features.rules import Difference

_KUBERUNTIME = "pkg/kubelet/kuberuntime/kuberuntime_container.go killContainer, until v1.13"
_DOCKER_MANAGER = "pkg/kubelet/dockertools/docker_manager.go"

STOPS = (
    Difference(
        "emits_killing_after_stop",
        {"v1.6": True, "v1.12": True},
        "The Event Killing is emitted after the container has stopped, up to its grace period later than in v1.36.",
        f"{_KUBERUNTIME}; {_DOCKER_MANAGER} killContainer, removed in v1.7",
        "versions/v1.12-killing.yaml",
    ),
    Difference(
        "killing_event",
        {
            "v1.6": "Killing container with docker id {id}: {message}",
            "v1.12": "Killing container with id docker://{name}:{message}",
        },
        "How the Event Killing names the container; in v1.12 it has the name in place of the id.",
        f"{_KUBERUNTIME}, recordContainerEvent; {_DOCKER_MANAGER} killContainer, removed in v1.7",
        "versions/v1.12-killing.yaml",
    ),
    Difference(
        "stopping_message",
        {"v1.6": "Need to kill pod.", "v1.12": "Need to kill Pod"},
        "The text of the Event Killing when the whole pod ends; in v1.36 `Stopping container ...`.",
        f"pkg/kubelet/kuberuntime/kuberuntime_container.go killContainersWithSyncResult, until v1.13; "
        f"{_DOCKER_MANAGER} killPodWithSyncResult, removed in v1.7",
        "versions/v1.12-killing.yaml",
    ),
    Difference(
        "changed_message",
        {
            "v1.6": 'pod "{pod}" container "{name}" hash changed ({old} vs {new}), it will be killed and re-created.',
            "v1.12": "Container spec hash changed ({old} vs {new}).. Container will be killed and recreated.",
        },
        "The text of the Event Killing for a container whose definition changed; in v1.36 `Container ... definition "
        "changed, will be restarted`.",
        f"pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions, until v1.13; {_DOCKER_MANAGER} "
        "computePodContainerChanges, removed in v1.7",
        "versions/v1.12-probe-kill.yaml",
    ),
    Difference(
        "unhealthy_message",
        {
            "v1.6": 'pod "{pod}" container "{name}" is unhealthy, it will be killed and re-created.',
            "v1.12": "Container failed liveness probe.. Container will be killed and recreated.",
        },
        "The text of the Event Killing for a container that failed its liveness probe; in v1.36 `Container ... "
        "failed liveness probe, will be restarted`.",
        f"pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions, until v1.13; {_DOCKER_MANAGER} "
        "computePodContainerChanges, removed in v1.7",
        "versions/v1.12-probe-kill.yaml",
    ),
    Difference(
        "unhealthy_for_good_message",
        {"v1.6": "", "v1.12": "Container failed liveness probe."},
        "The same for a container that is not restarted because restartPolicy is Never; in v1.6 there is no text.",
        f"pkg/kubelet/kuberuntime/kuberuntime_manager.go computePodActions, until v1.13; {_DOCKER_MANAGER} "
        "computePodContainerChanges, removed in v1.7",
        "versions/v1.12-probe-kill.yaml",
    ),
    Difference(
        "emits_unfinished_pre_stop_hooks",
        {"v1.6": True},
        "A preStop hook that takes longer than the grace period causes the Event UnfinishedPreStopHook. In v1.36 "
        "only the log reports it.",
        f"{_DOCKER_MANAGER} killContainer, removed in v1.7",
        "versions/v1.6-pre-stop.yaml",
    ),
)
