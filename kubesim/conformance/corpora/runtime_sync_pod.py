"""Corpus `runtime_sync_pod`: one SyncPod of the runtime manager with a recording runtime; the clock is stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, cast

from kubesim.api.pod import Container, HTTPGetAction, Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.api.pods.sidecars import init_and_regular_containers
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.clock import LoopClock, run_virtual
from kubesim.conformance.decode import Json, runtime_pod_status
from kubesim.conformance.frame import differences
from kubesim.conformance.narrowing import without_purge_order
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.cm.container_manager import ContainerManager
from kubesim.runtime.helper import PodDNS, RunContainerOptions
from kubesim.runtime.images.image_manager import ImageManager, ImagePullSettings
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.kuberuntime.act.manager import ProbeResults, RuntimeManager
from kubesim.runtime.kuberuntime.decide.backoff import new_crash_loop_backoff
from kubesim.runtime.kuberuntime.labels import CONTAINER_HASH
from kubesim.runtime.kuberuntime.naming import backoff_key
from kubesim.runtime.kuberuntime.results import PodSyncResult
from kubesim.runtime.protocol import (
    CallContext,
    ContainerConfig,
    ContainerInfo,
    ExecResult,
    ImageInfo,
    Runtime,
    SandboxConfig,
    SandboxInfo,
    UserNamespace,
)
from kubesim.runtime.types import RuntimePodStatus, SandboxNetwork, bare_id
from kubesim.trace import Recorder

NEW_SANDBOX = "sb-new"
_PULL_TIMES = re.compile(r" in [\d.a-zµ]+ \([\d.a-zµ]+ including waiting\)\. Image size: \d+ bytes\.")


def play(case: Json) -> Json:
    return run_virtual(_play, case)


def judge(case: Json, expected: Json, actual: Json) -> Iterator[str]:
    yield from differences(without_purge_order(expected), without_purge_order(actual))


async def _play(case: Json) -> Json:
    given = case["input"]
    clock = LoopClock(parse_time(case["now"]))
    pod = Pod.from_json(given["pod"])
    status = runtime_pod_status(given["runtime"], pod)
    recording = _Recording(given, pod, status)
    runtime = cast(Runtime, recording)
    backoff = new_crash_loop_backoff()
    for container in init_and_regular_containers(pod.spec):
        entry = given.get("backoff", {}).get(container.name)
        if entry is not None:
            wait, moment = entry["backoffSeconds"] * SECOND, parse_time(entry["lastUpdate"])
            backoff.restore(backoff_key(pod, container), wait, moment)
    manager = RuntimeManager(
        runtime,
        clock,
        Recorder(clock),
        recording,
        recording,
        ImageManager(runtime, recording, clock, settings=ImagePullSettings(qps=0)),
        backoff,
        recording.http_get,
    )
    for container in init_and_regular_containers(pod.spec):
        manager.actuated.started(pod, container)
    manager.actuated.pod_cgroup_made(pod)
    probes = ProbeResults(given["liveness"], given["startup"])
    restart_all = given["restartAllContainers"]
    result = await manager.sync_pod(pod, status, probes, restart_all_containers=restart_all)
    out: Json = {
        # An empty slice is nil in Go, and null in its JSON.
        "calls": (recording.calls if restart_all else _with_sorted_calls(recording.calls)) or None,
        "results": _results(result) if restart_all else _with_sorted_kills(_results(result)),
        "events": _with_sorted_events(recording.events),
    }
    if result.error():
        out["error"] = result.error()
    waits = {c.name: backoff.get(backoff_key(pod, c)) // SECOND for c in init_and_regular_containers(pod.spec)}
    if any(waits.values()):
        out["backoffAfterSeconds"] = {name: wait for name, wait in waits.items() if wait}
    return out


def _results(result: PodSyncResult) -> list[Json]:
    shown = []
    for one in result.results:
        entry = {"action": one.action, "target": one.target}
        if one.error:
            entry |= {"error": one.error, "message": one.message}
        shown.append(entry)
    return shown


def _with_sorted_kills(results: list[Json]) -> list[Json]:
    return _with_sorted_runs(results, lambda r: "kill" if r["action"] == "KillContainer" else "", lambda r: r["target"])


def _with_sorted_calls(calls: list[Json]) -> list[Json]:
    kinds = {"StopContainer": "stop", "ExecSync": "stop", "RemoveContainer": "remove"}
    return _with_sorted_runs(calls, lambda call: kinds.get(call["call"], ""), lambda call: call["id"])


def _with_sorted_events(events: list[str]) -> list[str]:
    killing = ("Normal Killing", "Warning FailedPreStopHook")
    return _with_sorted_runs(events, lambda event: "kill" if event.startswith(killing) else "", lambda event: event)


def _with_sorted_runs(items: Iterable[Any], run_of: Callable[[Any], str], key: Callable[[Any], str]) -> list[Any]:
    """The actions, with those sorted that have no fixed order."""
    out: list[Any] = []
    for run, group in groupby(items, run_of):
        members = list(group)
        out += sorted(members, key=key) if run else members
    return out


class _Recording:
    """The runtime, the event recorder and the kubelet of one case; records their calls."""

    name = "recording"

    def on_change(self, listener: Callable[[str], None]) -> None:
        """Ignored: nothing changes."""

    def __init__(self, given: Json, pod: Pod, status: RuntimePodStatus) -> None:
        self.calls: list[Json] = []
        self.events: list[str] = []
        self._given = given
        self._pod = pod
        self._status = status
        self._present = set(given["imagesPresent"])
        self._names = {bare_id(record.id): record.name for record in status.containers}

    def _call(self, call: str, fault: str = "", **args: Any) -> None:
        self.calls.append({"call": call, **args})
        text = (self._given.get("errors") or {}).get(f"{call}:{fault}")
        if text is not None:
            raise RuntimeCallError(text)

    # -- sandboxes and containers

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        self._call("RunPodSandbox", attempt=config.attempt, name=config.pod.metadata.name)
        return NEW_SANDBOX

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo:
        self._call("PodSandboxStatus", id=sandbox_id)
        meta = self._pod.metadata
        network = SandboxNetwork(self._given["newSandboxIP"])
        return SandboxInfo(sandbox_id, meta.uid, meta.name, meta.namespace, 0, True, 0, network=network)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        self._call("StopPodSandbox", sandbox_id, id=sandbox_id)

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        name = config.container.name
        self._call(
            "CreateContainer",
            name,
            attempt=config.attempt,
            hashAnnotation=config.annotations[CONTAINER_HASH],
            image=config.container.image,
            logPath=config.log_path,
            name=name,
            sandbox=sandbox_id,
        )
        identifier = f"new-{name}-{config.attempt}"
        self._names[identifier] = name
        return identifier

    async def start_container(self, container_id: str) -> None:
        self._call("StartContainer", self._names[container_id], id=container_id)

    async def stop_container(self, container_id: str, timeout: int) -> None:
        self._call("StopContainer", container_id, id=container_id, timeout=timeout // SECOND)

    async def remove_container(self, container_id: str) -> None:
        self._call("RemoveContainer", id=container_id)

    async def container_status(self, container_id: str) -> ContainerInfo:
        name = self._names[container_id]
        return ContainerInfo(container_id, "", self._pod.metadata.uid, name, 0, "exited", 0)

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        self._call("ExecSync", command[0], cmd=" ".join(command), id=container_id)
        return ExecResult(0)

    # -- images

    async def image_status(self, image: str) -> ImageInfo | None:
        return ImageInfo(image) if image in self._present else None

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        if self._given.get("pullError"):
            raise RuntimeCallError(self._given["pullError"])
        self._present.add(image)
        return image

    # -- the event recorder and the kubelet

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        self.events.append(f"{type} {reason} {_PULL_TIMES.sub(' in <duration>', message)}")

    swap = None

    @property
    def internal_lifecycle(self) -> ContainerManager:
        return ContainerManager()

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        pass

    def lookup_runtime_handler(self, pod: Pod) -> str:
        return ""

    def is_pod_termination_requested(self, uid: str) -> bool:
        return False

    def on_pod_sandbox_ready(self, pod: Pod) -> None:
        pass

    def request_pod_reinspect(self, uid: str) -> None:
        pass

    def pod_memory_usage(self, uid: str) -> None:
        return None

    def generate_run_container_options(
        self, pod: Pod, container: Container, pod_ips: tuple[str, ...]
    ) -> RunContainerOptions:
        return RunContainerOptions()

    def get_pod_dns(self, pod: Pod) -> PodDNS:
        return PodDNS(DNSConfig())

    def generate_pod_host_name_and_domain(self, pod: Pod) -> tuple[str, str]:
        return pod.metadata.name, ""

    def get_pod_cgroup_parent(self, pod: Pod) -> str:
        return ""

    def get_or_create_user_namespace_mappings(self, pod: Pod) -> UserNamespace | None:
        return None

    async def http_get(self, pod: Pod, container: Container, action: HTTPGetAction) -> None:
        raise RuntimeCallError("the corpus has exec hooks only")
