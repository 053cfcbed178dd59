"""Containers of a pod: their restarts, and the messages of their Events."""

from __future__ import annotations

from kubesim.features.rules import Difference

CONTAINERS = (
    Difference(
        "pulling_event",
        dict.fromkeys(("v1.6", "v1.12"), "pulling image {image}"),
        "The text of the Event Pulling; in v1.36 `Pulling image ...`.",
        "pkg/kubelet/images/image_manager.go EnsureImageExists, until v1.13",
        "versions/v1.12-events.yaml",
    ),
    Difference(
        "pulled_event",
        dict.fromkeys(("v1.6", "v1.12"), "Successfully pulled image {image}"),
        "The text of the Event Pulled; in v1.36 it also has the time that the pull took and the size of the image.",
        "pkg/kubelet/images/image_manager.go EnsureImageExists, changed in v1.19, v1.26 and v1.30",
        "versions/v1.12-events.yaml",
    ),
    Difference(
        "inspects_images_first",
        {"v1.6": True, "v1.12": True, "v1.30": True},
        "A runtime that cannot look up an image prevents the start of a container regardless of its pull "
        "policy, and the "
        "Event InspectFailed names the image. In v1.36 images with the policy Always are pulled without a look-up, and "
        "the Event names no image.",
        "pkg/kubelet/images/image_manager.go imagePullPrecheck, added in v1.32",
        "versions/v1.30-image-inspect.yaml",
    ),
    Difference(
        "created_event",
        {
            "v1.6": "Created container with docker id {id}",
            "v1.12": "Created container",
            "v1.30": "Created container {name}",
        },
        "The text of the Event Created; in v1.36 `Container created`. In v1.6 it has the first 12 digits of the id, "
        "so Events of two containers are never aggregated.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, until v1.34; "
        "pkg/kubelet/dockertools/docker_manager.go runContainer, removed in v1.7",
        "versions/v1.6-events.yaml",
    ),
    Difference(
        "started_event",
        {
            "v1.6": "Started container with docker id {id}",
            "v1.12": "Started container",
            "v1.30": "Started container {name}",
        },
        "The text of the Event Started; in v1.36 `Container started`.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, until v1.34; "
        "pkg/kubelet/dockertools/docker_manager.go runContainer, removed in v1.7",
        "versions/v1.30-crashloop.yaml",
    ),
    Difference(
        "reports_failed_step",
        {"v1.6": False},
        "A container that cannot be created or started waits for the reason RunContainerError, one that would run as "
        "root against its policy for VerifyNonRootError; Events name the docker container. In v1.36 the reason is "
        "CreateContainerConfigError, CreateContainerError or RunContainerError.",
        "pkg/kubelet/dockertools/docker_manager.go tryContainerStart, removed in v1.7",
        "versions/v1.6-failed-start.yaml",
    ),
    Difference(
        "hook_failed_event",
        {"v1.6": "", "v1.12": "{message}"},
        "The Events FailedPostStartHook and FailedPreStopHook have the whole message, with the output of the command; "
        "in v1.6 none, by mistake. In v1.36 they contain `PostStartHook failed` and `PreStopHook failed`.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, executePreStopHook, until v1.25; "
        "pkg/kubelet/lifecycle/handlers.go Run, corrected in v1.9",
        "versions/v1.12-hooks.yaml",
    ),
    Difference(
        "post_start_error",
        {"v1.12": "PostStartHookError: {error}"},
        "The reason for which a container waits after its postStart hook failed includes the error. In v1.36 it is "
        "PostStartHookError.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, until v1.21",
        "versions/v1.12-hooks.yaml",
    ),
    Difference(
        "back_off_event",
        {
            "v1.6": "Back-off restarting failed docker container",
            "v1.12": "Back-off restarting failed container",
        },
        "The text of the Event BackOff; in v1.36 it also names the container and the pod.",
        "pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff, until v1.25; "
        "pkg/kubelet/dockertools/docker_manager.go doBackOff, removed in v1.7",
        "versions/v1.6-events.yaml",
    ),
    Difference(
        "back_off_message",
        dict.fromkeys(("v1.6", "v1.12"), "Back-off {wait} restarting failed container={name} pod={pod}"),
        "The message of a container that waits for CrashLoopBackOff begins with a capital letter.",
        "pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff, until v1.15",
        "versions/v1.12-events.yaml",
    ),
    Difference(
        "counts_restarts_by_logs",
        {"v1.6": False, "v1.12": False},
        "A container whose records are all gone counts its restarts from 0. In v1.36 the number of its newest log file "
        "counts.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go calcRestartCountByLogDir, added in v1.22",
        "versions/v1.12-restart-count.yaml",
    ),
    Difference(
        "probes_started_containers",
        {"v1.6": False, "v1.12": False},
        "A probe worker waits for a random part of its period before its first probe, and probes at its own ticks "
        "only: a container becomes ready up to a period late. In v1.36 a container that has started is probed "
        "immediately, and first probes wait only after a start of the kubelet.",
        "pkg/kubelet/prober/worker.go run, changed in v1.21",
        "versions/v1.12-first-probe.yaml",
    ),
    Difference(
        "probe_error_event",
        dict.fromkeys(("v1.6", "v1.12", "v1.30"), "{kind} probe errored: {error}"),
        "The text of the Event Unhealthy for a probe that could not be carried out. In v1.36 it also names the result.",
        "pkg/kubelet/prober/prober.go probe, until v1.32",
        "versions/v1.30-probe-error.yaml",
    ),
    Difference(
        "repeats_pull_error",
        {"v1.6": False, "v1.12": False, "v1.30": False},
        "The status of a container with ImagePullBackOff does not contain the reason of the failed pull. In "
        "v1.36 its message repeats the "
        "last error.",
        "pkg/kubelet/images/image_manager.go prevPullErrMsg since v1.32",
        "versions/v1.30-pull-back-off.yaml",
    ),
    Difference(
        "container_hash",
        {"v1.6": "dump", "v1.12": "dump", "v1.30": "json"},
        "Any change of its spec restarts a container. In v1.36 only a new image does. v1.30 hashes the "
        "container as JSON, older ones hash a dump of its struct. An upgrade from one to the other restarts all "
        "containers.",
        "pkg/kubelet/container/helpers.go HashContainer, JSON since v1.16, pickFieldsToHash since v1.31",
        "versions/v1.30-container-definition.yaml",
    ),
    Difference(
        "restarts_changed_sidecar",
        {"v1.30": False},
        "A sidecar keeps running with its old image when the spec has a new one. In v1.36 it is restarted.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go computeInitContainerActions, until v1.31",
        "versions/v1.30-sidecar-image.yaml",
    ),
    Difference(
        "restarts_created_init_container",
        {"v1.30": False},
        "A kubelet that finds an init container created but not started waits for it forever. In v1.36 it is "
        "created again.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go computeInitContainerActions, until v1.31",
        "versions/v1.30-created-init.yaml",
    ),
)
