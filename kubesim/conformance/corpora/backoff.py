"""Corpus `backoff`: crash loops (do_back_off) and image pulls (the image manager with a scripted runtime)."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, cast

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Container, Pod, PodSpec
from kubesim.api.timestamps import SECOND, format_micro_time, parse_time
from kubesim.clock import Clock
from kubesim.conformance.decode import Json, steps_of
from kubesim.errors import RuntimeCallError
from kubesim.runtime.images.image_manager import ImageError, ImageManager, ImagePullSettings
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.kuberuntime.decide.backoff import Backoff, do_back_off
from kubesim.runtime.kuberuntime.naming import backoff_key
from kubesim.runtime.protocol import ImageInfo, Runtime, SandboxConfig
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus


def play(case: Json) -> Json:
    given = case["input"]
    backoff = Backoff(
        given["initialSeconds"] * SECOND,
        given["maxSeconds"] * SECOND,
        reset_after=given["resetAfterSeconds"] * SECOND,
    )
    steps = _crash_loop if case["kind"] == "crashloop" else _image_pulls
    return {"steps": steps(given, steps_of(case), backoff)}


def _crash_loop(given: Json, steps: list[Json], backoff: Backoff) -> list[Json]:
    containers = {c["name"]: Container.from_json(c) for c in given["containers"]}
    meta = ObjectMeta(name=given["podName"], namespace=given["podNamespace"], uid=given["podUID"])
    out = []
    for step in steps:
        now = parse_time(step["at"])
        if step["op"] == "doBackOff":
            pod = Pod(metadata=meta, spec=PodSpec(containers=tuple(containers.values())))
            out.append(_do_back_off(step, backoff, pod, containers[step["container"]], now))
            continue
        if step["op"] == "gc":
            backoff.gc(now)
        else:
            containers[step["container"]] = containers[step["container"]].changed(image=step["image"])
        out.append(step)
    return out


def _do_back_off(step: Json, backoff: Backoff, pod: Pod, container: Container, now: int) -> Json:
    exited = ContainerRecord("containerd://x", container.name, "exited", finished_at=parse_time(step["finishedAt"]))
    status = RuntimePodStatus(pod.metadata.uid, containers=(exited,))
    waiting = do_back_off(backoff, pod, container, status, now)
    key = backoff_key(pod, container)
    out = {name: step[name] for name in ("at", "op", "container", "finishedAt")}
    out |= {"inBackOff": waiting is not None, "key": key, "backoffSeconds": _seconds(backoff.get(key))}
    if waiting is not None:
        out |= {"message": waiting.message, "error": str(waiting.error), "retryAt": _rfc3339(waiting.retry_at)}
        out["events"] = [f"Warning BackOff {waiting.event}"]
    return out


def _rfc3339(micros: int) -> str:
    """A time in Go's RFC 3339 format: the fraction without trailing zeros."""
    text = format_micro_time(micros)[:-1].rstrip("0").removesuffix(".")
    return f"{text}Z"


def _seconds(micros: int) -> int | float:
    return micros // SECOND if micros % SECOND == 0 else micros / SECOND


class _ScriptedImages:
    """Image calls of the runtime, the clock and the event recorder of one case."""

    def __init__(self) -> None:
        self.step: Json = {}
        self.present: set[str] = set()
        self.calls: list[str] = []
        self.events: list[tuple[str, str, str]] = []

    def now(self) -> int:
        return parse_time(self.step["at"])

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        self.events.append((type, reason, message))

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        self.calls.append("PullImage")
        if self.step["pullError"]:
            raise RuntimeCallError(self.step["pullError"])
        self.present.add(image)
        return image

    async def image_status(self, image: str) -> ImageInfo | None:
        # The same CRI call serves two purposes: after a pull it returns the size.
        if "PullImage" in self.calls:
            self.calls.append("GetImageSize")
        else:
            self.calls.append("GetImageRef")
            if self.step.get("inspectError") and image not in self.present:
                raise RuntimeCallError(self.step["inspectError"])
        return ImageInfo(image) if image in self.present else None


def _image_pulls(given: Json, steps: list[Json], backoff: Backoff) -> list[Json]:
    script = _ScriptedImages()
    manager = ImageManager(
        cast(Runtime, script), script, cast(Clock, script), backoff=backoff, settings=ImagePullSettings(qps=0)
    )
    out = []
    for step in steps:
        script.step = step
        if step["op"] == "removeImages":
            script.present.clear()
            out.append(step)
        else:
            out.append(_ensure_image(manager, script, step))
    return out


def _ensure_image(manager: ImageManager, script: _ScriptedImages, step: Json) -> Json:
    script.calls.clear()
    script.events.clear()
    pod = Pod(metadata=ObjectMeta(uid=step["podUID"]))
    given = ("at", "op", "podUID", "image", "pullPolicy", "pullError", "inspectError")
    out: Json = {name: step[name] for name in given if name in step}
    out |= {"imageRef": "", "message": ""}
    try:
        out["imageRef"] = _finish(manager.ensure_image_exists(pod, step["image"], step["pullPolicy"]))
        if "PullImage" not in script.calls:  # the message of a success is that of the Event
            out["message"] = script.events[-1][2]
    except ImageError as error:
        out |= {"error": error.reason, "message": error.message}
    out["calls"] = list(script.calls) or None
    out["events"] = [_event(*event) for event in script.events]
    out["backoffSeconds"] = _seconds(manager.backoff.get(f"{step['podUID']}_{step['image']}"))
    return out


def _event(event_type: str, reason: str, message: str) -> str:
    text = "Succes..." if message.startswith("Successfully pulled") else message
    return f"{event_type} {reason} {text}"


def _finish(coroutine: Coroutine[Any, Any, str]) -> str:
    """Run a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(str, end.value)
    raise AssertionError("the image manager waits, although nothing in this corpus takes time")
