"""A live pod that changes: the attached agent applies the change like the real kubelet."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Container, Pod
from kubesim.trace.records import Handler
from tests.support.attach.attached import Attached, attached

IMAGE = "nginx:1.27"


def change(first: dict[str, Any], **spec: Any) -> tuple[Pod, Pod, set[str]]:
    """The agent's pod before and ten seconds after the live spec changed, and the handlers called in between."""
    found: list[Pod] = []
    handled: set[str] = set()

    def ours(stage: Attached) -> Pod:
        pod = stage.ours("web")
        assert pod is not None
        return pod

    async def play(stage: Attached) -> None:
        stage.real.create("web", **first)
        await stage.sleep(10)
        found.append(ours(stage))
        count = len(stage.trace.records)
        pod = stage.real.pod("web")
        stage.real.store.replace(pod.changed(spec=pod.spec.changed(**spec)))
        await stage.sleep(10)
        found.append(ours(stage))
        handled.update(r.name for r in stage.trace.records[count:] if isinstance(r, Handler) and r.pods)

    attached(play)
    before, after = found
    return before, after, handled


def container(**fields: Any) -> Container:
    return Container.from_json({"name": "main", "image": IMAGE, "imagePullPolicy": "IfNotPresent", **fields})


def test_another_image_restarts_the_container() -> None:
    before, after, handled = change({}, containers=(container(image="nginx:1.28"),))
    assert before.status.container_statuses[0].image.endswith("nginx:1.27")
    assert after.status.container_statuses[0].image.endswith("nginx:1.28")
    assert after.status.container_statuses[0].restart_count == 1
    assert "HandlePodUpdates" in handled


def test_a_resize_is_carried_out_without_a_restart() -> None:
    first, then = ({"resources": {"requests": {"cpu": cpu}}} for cpu in ("100m", "200m"))
    before, after, _ = change({"container": first}, containers=(container(**then),))
    statuses = [pod.status.container_statuses[0] for pod in (before, after)]
    assert [status.to_json()["resources"]["requests"]["cpu"] for status in statuses] == ["100m", "200m"]
    assert statuses[1].restart_count == 0


def test_an_ephemeral_container_runs_in_the_agent() -> None:
    debugger = Container.from_json({"name": "debug", "image": "busybox", "command": ["sleep", "100"]})
    _, after, _ = change({}, ephemeral_containers=(debugger,))
    assert after.status.ephemeral_container_statuses[0].state.running is not None


def test_a_deadline_that_is_set_later_ends_the_pod() -> None:
    _, after, _ = change({}, active_deadline_seconds=12)
    assert (after.status.phase, after.status.reason) == ("Failed", "DeadlineExceeded")


def test_another_pod_of_the_same_name_replaces_it() -> None:
    async def play(stage: Attached) -> None:
        stage.real.create("web")
        await stage.sleep(10)
        stage.real.store.remove("Pod", "default", "web")
        second = stage.real.create("web")
        await stage.sleep(40)
        ours = stage.ours("web")
        assert ours is not None
        assert (ours.metadata.uid, ours.status.phase) == (second.metadata.uid, "Running")

    attached(play)
