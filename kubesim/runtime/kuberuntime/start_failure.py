"""The sync's result for a container that could not be started: reason, message and Event. Pure.

Mirrors: pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer; kubelet v1.6
pkg/kubelet/dockertools/docker_manager.go tryContainerStart, runContainerInPod, runContainer
"""

from __future__ import annotations

from typing import Literal

from kubesim.api.pod import Container, Pod
from kubesim.features.rules import Rules
from kubesim.golang.text import quoted
from kubesim.runtime.kuberuntime.naming import format_pod
from kubesim.runtime.kuberuntime.results import (
    CREATE_CONTAINER_CONFIG_ERROR,
    CREATE_CONTAINER_ERROR,
    RUN_CONTAINER_ERROR,
    VERIFY_NON_ROOT_ERROR,
)
from kubesim.values import value_object

Step = Literal["config", "user", "create", "start"]

SHORT_ID = 12  # digits of a docker id in Events

_REASONS = {
    "config": CREATE_CONTAINER_CONFIG_ERROR,
    "user": CREATE_CONTAINER_CONFIG_ERROR,
    "create": CREATE_CONTAINER_ERROR,
    "start": RUN_CONTAINER_ERROR,
}


@value_object
class StartFailure:
    """Reason and message of the status, and the message of the Event Failed; empty: no Event."""

    reason: str
    message: str
    event: str = ""


def start_failure(
    rules: Rules, pod: Pod, container: Container, step: Step, message: str, identifier: str = ""
) -> StartFailure:
    """The failed step is the reason; dockertools had one reason for almost all steps."""
    if not rules.reports_failed_step:
        return _docker_failure(pod, container, step, message, identifier)
    # The name replaces the id, which would make every Event unique.
    shown = message.replace(identifier, container.name) if identifier else message
    return StartFailure(_REASONS[step], message, f"Error: {shown}")


def _docker_failure(pod: Pod, container: Container, step: Step, message: str, identifier: str) -> StartFailure:
    if step == "user":
        return StartFailure(VERIFY_NON_ROOT_ERROR, message)
    if step == "config":
        return StartFailure(RUN_CONTAINER_ERROR, f"GenerateRunContainerOptions: {message}")
    if step == "create":
        what = f"create docker container {quoted(container.name)} of pod {quoted(format_pod(pod))}"
    else:
        what = f"start container with docker id {identifier[:SHORT_ID]}"
    return StartFailure(RUN_CONTAINER_ERROR, f"runContainer: {message}", f"Failed to {what} with error: {message}")


def post_start_failure(rules: Rules, message: str, cause: str) -> tuple[StartFailure, str]:
    """The failure of a postStart hook, with the message of the kill."""
    text = rules.hook_failed_event.format(hook="PostStartHook", message=message)
    if not rules.reports_failed_step:
        shown = f"PostStart handler: {cause}"
        return StartFailure(RUN_CONTAINER_ERROR, shown, text), shown
    return StartFailure(rules.post_start_error.format(error=cause), message, text), "FailedPostStartHook"
