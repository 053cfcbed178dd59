"""Containers of a pod: what restarts them, and the texts of their Events."""

from __future__ import annotations

from kubesim.features.rules import Difference

CONTAINERS = (
    Difference(
        "created_event",
        {"v1.12": "Created container", "v1.30": "Created container {name}"},
        "The text of the Event Created; in v1.36 `Container created`.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, until v1.34",
        "versions/v1.30-crashloop.yaml",
    ),
    Difference(
        "started_event",
        {"v1.12": "Started container", "v1.30": "Started container {name}"},
        "The text of the Event Started; in v1.36 `Container started`.",
        "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer, until v1.34",
        "versions/v1.30-crashloop.yaml",
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
        "A container with ImagePullBackOff does not say why the pull failed. In v1.36 its message repeats the "
        "last error.",
        "pkg/kubelet/images/image_manager.go prevPullErrMsg since v1.32",
        "versions/v1.30-pull-back-off.yaml",
    ),
    Difference(
        "hashes_whole_container",
        {"v1.6": True, "v1.12": True, "v1.30": True},
        "Any change of a container restarts it. In v1.36 only another image does. A kubelet that is upgraded from one "
        "to the other restarts all containers.",
        "pkg/kubelet/container/helpers.go HashContainer, pickFieldsToHash since v1.31",
        "versions/v1.30-container-definition.yaml",
    ),
    Difference(
        "restarts_changed_sidecar",
        {"v1.30": False},
        "A sidecar with another image goes on with the old one. In v1.36 it is restarted.",
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
