"""Process namespaces that containers share, and ephemeral containers that join one."""

from __future__ import annotations

from typing import Any

from tests.support.played import Played, container, pod


def with_debugger(script: str, delay: str = "5s", **main: Any) -> Played:
    """A pod, and an ephemeral container that joins the process namespace of its container `main`."""
    debugger = {
        "name": "debugger",
        "image": "busybox:1",
        "command": ["sh", "-c", script],
        "targetContainerName": "main",
    }
    step = {
        "at": delay,
        "patch": {
            "pod": "web",
            "subresource": "ephemeralcontainers",
            "patch": {"spec": {"ephemeralContainers": [debugger]}},
        },
    }
    web = pod("web", restartPolicy="Never", containers=[{**container("main", "sleep 15; exit 3"), **main}])
    return Played(step, objects=[web], duration="40s")


def ends(story: Played) -> list[str]:
    return [note for note in story.notes() if "ended" in note]


def test_an_ephemeral_container_sees_the_processes_of_its_target_and_ends_with_it() -> None:
    """PID 1 of the namespace is protected from signals from within."""
    story = with_debugger("ps | grep -q ' 1 root .*sleep' || exit 9; kill -KILL 1; pkill -f exit; sleep 60")
    assert ends(story) == [
        "container debugger ended with exit code 137 (Error)",  # the kernel reaps all others before PID 1
        "container main ended with exit code 3 (Error)",
    ]


def test_a_target_that_does_not_run_any_more_fails_the_creation() -> None:
    web = pod(
        "web",
        restartPolicy="Never",
        containers=[container("main", "exit 0"), container("other", "sleep 30")],
    )
    debugger = {"name": "debugger", "image": "busybox:1", "targetContainerName": "main"}
    step = {
        "at": "8s",
        "patch": {
            "pod": "web",
            "subresource": "ephemeralcontainers",
            "patch": {"spec": {"ephemeralContainers": [debugger]}},
        },
    }
    story = Played(step, objects=[web], duration="15s")
    (message,) = {*story.messages("Failed", "web")}
    assert message.startswith('Error: failed to generate container "')
    assert ' spec: failed to generate spec opts: invalid target container: container "' in message
    assert message.endswith(" is not running - in state CONTAINER_EXITED")
