"""Reasons of containers and conditions that several modules use.

Mirrors: pkg/kubelet/kubelet.go, container/runtime.go and status/generate/api_pod_status.go (constants).
"""

from __future__ import annotations

CONTAINER_CREATING = "ContainerCreating"
POD_INITIALIZING = "PodInitializing"
CONTAINER_STATUS_UNKNOWN = "ContainerStatusUnknown"
RESTARTING_ALL_CONTAINERS = "RestartingAllContainers"

UNKNOWN_CONTAINER_STATUSES = "UnknownContainerStatuses"
POD_COMPLETED = "PodCompleted"
POD_FAILED = "PodFailed"
CONTAINERS_NOT_READY = "ContainersNotReady"
CONTAINERS_NOT_INITIALIZED = "ContainersNotInitialized"
POD_SANDBOX_NOT_READY = "PodSandboxNotReady"
READINESS_GATES_NOT_READY = "ReadinessGatesNotReady"
RESTART_ALL_CONTAINERS_STARTED = "RestartAllContainersStarted"
