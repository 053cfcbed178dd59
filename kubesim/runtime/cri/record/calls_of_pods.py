"""The calls of a kubelet to its runtime, in order, per pod. Pure.

Ids and uids differ from run to run: sandboxes and containers are shown by the names of their pods and containers.
Calls of the same method that overlap (a kubelet stops the containers of a pod at the same time) have no order: they are
sorted. A container counts as removed once: both the worker of a pod and the container deletor remove dead attempts of
an init container, and whether the second one still finds one depends on timing (pruneInitContainersBeforeStart,
podContainerDeletor).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from kubesim.runtime.cri.record.recording import RecordedCall
from kubesim.values import mutable, part, value_object

ACTIONS = frozenset(
    """
    RunPodSandbox StopPodSandbox RemovePodSandbox UpdatePodSandboxResources CreateContainer StartContainer StopContainer
    RemoveContainer UpdateContainerResources ReopenContainerLog PullImage
    """.split()  # noqa: SIM905
)
_VOLATILE_ANNOTATIONS = ("kubernetes.io/config.seen",)
_UID = "<uid>"
NODE = ""  # calls about no pod


@value_object
class Ask:
    """One call about a pod. `subject` is the container or image; `request` has names in place of ids."""

    method: str
    subject: str
    outcome: str
    request: Mapping[str, Any]

    @property
    def text(self) -> str:
        outcome = "" if self.outcome in ("OK", "") else f" -> {self.outcome}"
        return f"{self.method}{f' {self.subject}' if self.subject else ''}{outcome}"


@part
class _Names:
    """The objects that the ids of a recording refer to."""

    pods: dict[str, str] = field(default_factory=dict)  # by sandbox id
    uids: dict[str, str] = field(default_factory=dict)  # by pod
    containers: dict[str, tuple[str, str]] = field(default_factory=dict)  # by container id: sandbox id, name

    def learn(self, call: RecordedCall) -> None:
        """From requests with their answers, and from listings of what existed before."""
        request, response = call.request, call.response
        if call.method == "RunPodSandbox" and response.get("pod_sandbox_id"):
            self._sandbox(response["pod_sandbox_id"], request.get("config", {}).get("metadata", {}))
        elif call.method == "CreateContainer" and response.get("container_id"):
            name = request.get("config", {}).get("metadata", {}).get("name", "")
            self.containers[response["container_id"]] = (request.get("pod_sandbox_id", ""), name)
        elif call.method == "ListPodSandbox":
            for item in response.get("items", ()):
                self._sandbox(item.get("id", ""), item.get("metadata", {}))
        elif call.method == "PodSandboxStatus":
            status = response.get("status", {})
            self._sandbox(status.get("id", ""), status.get("metadata", {}))
        elif call.method == "ListContainers":
            for item in response.get("containers", ()):
                name = item.get("metadata", {}).get("name", "")
                self.containers[item.get("id", "")] = (item.get("pod_sandbox_id", ""), name)

    def container(self, identifier: str) -> tuple[str, str]:
        """Its sandbox and its name; clients may give the beginning of an id."""
        found = [known for known in self.containers if known.startswith(identifier)]
        return self.containers[found[0]] if len(found) == 1 else ("", identifier[:12])

    def named(self, key: str, value: Any) -> str:
        """The name for an id in a field of a request; empty if the field has none, or an unknown one."""
        if key in ("container_id", "target_id") and (found := self.container(value))[0]:
            return f"<container {found[1]}>"
        if key == "pod_sandbox_id" and (pod := self.pod(value)):
            return f"<sandbox of {pod}>"
        return ""

    def pod(self, sandbox_id: str) -> str:
        found = [known for known in self.pods if known.startswith(sandbox_id)]
        return self.pods[found[0]] if len(found) == 1 else ""

    def _sandbox(self, identifier: str, metadata: Mapping[str, Any]) -> None:
        pod = _pod(metadata)
        self.pods[identifier] = pod
        self.uids[pod] = metadata.get("uid", "")


def _pod(metadata: Mapping[str, Any]) -> str:
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}" if metadata else NODE


@mutable
class _Entry:
    call: RecordedCall
    ask: Ask


def asks_by_pod(calls: Sequence[RecordedCall], *, all_calls: bool = False) -> dict[str, list[Ask]]:
    """By `namespace/name`, in the order of the pods' first calls. Without `all_calls`, calls that change nothing and
    commands in containers are left out: their number depends on timing."""
    names, entries = _Names(), dict[str, list[_Entry]]()
    for call in calls:
        names.learn(call)
    repeated = set() if all_calls else _repeated_removals(calls)
    for call in calls:
        if all_calls or (call.method in ACTIONS and call.number not in repeated):
            pod = _pod_of(call, names)
            entries.setdefault(pod, []).append(_Entry(call, _ask(call, names, pod)))
    return {pod: list(_ordered(found)) for pod, found in entries.items() if pod or all_calls}


def _repeated_removals(calls: Sequence[RecordedCall]) -> set[int]:
    """The numbers of the RemoveContainer calls that ended after another one, which succeeded, had begun."""
    removals = [(call.request.get("container_id", ""), call) for call in calls if call.method == "RemoveContainer"]
    done = {identifier: call for identifier, call in reversed(removals) if call.code == "OK"}
    ended_after = [call for identifier, call in removals if identifier in done and call.ended > done[identifier].begun]
    return {call.number for call in ended_after} - {call.number for call in done.values()}


def _pod_of(call: RecordedCall, names: _Names) -> str:
    request = call.request
    for config in ("config", "sandbox_config"):
        metadata = request.get(config, {}).get("metadata", {})
        if metadata.get("namespace"):
            return _pod(metadata)
    if request.get("pod_sandbox_id"):
        return names.pod(request["pod_sandbox_id"]) or f"sandbox {request['pod_sandbox_id'][:12]}"
    if request.get("container_id"):
        sandbox, name = names.container(request["container_id"])
        return (names.pod(sandbox) if sandbox else "") or f"container {name}"
    return NODE


def _ask(call: RecordedCall, names: _Names, pod: str) -> Ask:
    request = call.request
    subject = str(request.get("image", {}).get("image", "")) if call.method.endswith("Image") else ""
    if call.method == "CreateContainer":
        subject = request.get("config", {}).get("metadata", {}).get("name", "")
    elif request.get("container_id"):
        subject = names.container(request["container_id"])[1]
    return Ask(call.method, subject, call.code, _normal(request, names, names.uids.get(pod, "")))


def _normal(value: Any, names: _Names, uid: str) -> Any:
    """With names in place of ids, and without what differs from run to run."""
    if isinstance(value, dict):
        return {
            key: names.named(key, each) or _normal(each, names, uid)
            for key, each in sorted(value.items())
            if key not in _VOLATILE_ANNOTATIONS
        }
    if isinstance(value, list):
        return [_normal(each, names, uid) for each in value]
    if not isinstance(value, str):
        return value
    return value.replace(uid, _UID) if uid else value


def _ordered(entries: Sequence[_Entry]) -> Iterator[Ask]:
    group: list[_Entry] = []
    for entry in entries:
        overlaps = group and entry.call.method == group[0].call.method and entry.call.begun < group[-1].call.ended
        if not overlaps:
            yield from _sorted(group)
            group = []
        group.append(entry)
    yield from _sorted(group)


def _sorted(group: Sequence[_Entry]) -> list[Ask]:
    return sorted((entry.ask for entry in group), key=lambda ask: (ask.subject, ask.outcome))
