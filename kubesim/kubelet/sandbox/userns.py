"""User namespaces: each pod with `hostUsers: false` gets its own range of the node's user ids.

A range is allocated when the sandbox is first configured, stored in the pod directory, restored after a kubelet
restart, and released when the pod has terminated.

Mirrors: pkg/kubelet/userns/userns_manager.go; pkg/registry/core/service/allocator/bitmap.go randomScanStrategy
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.clock.randomness import Stream
from kubesim.features import DEFAULT_GATES, FeatureGates, known_gates
from kubesim.golang import json as go_json
from kubesim.golang.text import quoted
from kubesim.runtime.helper import SandboxConfigError
from kubesim.runtime.protocol import HOST_USERS, IdMapping, UserNamespace

UNIT_LENGTH = 65_536
ALL_IDS = 1 << 32
GATE = "UserNamespacesSupport"

MappingFiles = dict[str, str]  # content of the `userns` file in each pod directory, by UID
Supports = Callable[[str], bool]  # whether a runtime handler supports user namespaces; raises SandboxConfigError


class UsernsManager:
    """Allocates ranges of ids between `first_id` and `first_id + length`. Raises SandboxConfigError for a bad range or
    a bad file: the kubelet would not start.
    """

    def __init__(
        self,
        files: MappingFiles,
        stream: Stream,
        supports: Supports,
        gates: FeatureGates = DEFAULT_GATES,
        *,
        ids_per_pod: int = UNIT_LENGTH,
        mapping: tuple[int, int] | None = None,
        max_pods: int = 110,
    ) -> None:
        first_id, length = (ids_per_pod, ALL_IDS - ids_per_pod) if mapping is None else mapping
        problem = range_problem(first_id, length, ids_per_pod, max_pods)
        if problem:
            raise SandboxConfigError(problem)
        self._files = files
        self._stream = stream
        self._supports = supports
        self._enabled, self._is_known = gates.enabled(GATE), GATE in known_gates(gates.profile)
        self._length = ids_per_pod
        self._offset, self._size = first_id // ids_per_pod, length // ids_per_pod
        self._used_by: dict[str, int] = {}  # UID -> first id of its range
        self._used: set[int] = set()  # indexes of allocated ranges
        for uid in files if self._enabled else ():
            if not files[uid]:
                continue
            try:
                self._read(uid)
            except SandboxConfigError as error:
                text = f"record pod mappings for existing pod {quoted(uid)}: {error}"
                raise SandboxConfigError(text) from error

    def get_or_create(self, pod: Pod, handler: str) -> UserNamespace | None:
        """GetOrCreateUserNamespaceMappings. `handler` is the runtime handler of the pod's RuntimeClass."""
        host_users = pod.spec.host_users if self._is_known else None  # older kubelets do not have the field
        if host_users is None:
            return HOST_USERS if self._enabled else None
        if not self._enabled:
            raise SandboxConfigError(f'the feature gate "{GATE}" is disabled: can\'t set spec.HostUsers')
        if host_users:
            return HOST_USERS
        self._check_support(handler)
        uid = pod.metadata.uid
        try:
            first_id = self._read(uid) if self._files.get(uid) else None
        except SandboxConfigError as error:
            raise SandboxConfigError(f"user namespace: {error}") from error
        mappings = (IdMapping(0, self._create(uid) if first_id is None else first_id, self._length),)
        return UserNamespace(mappings, mappings)

    def _check_support(self, handler: str) -> None:
        problem = "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
        if handler:
            problem = (
                f"can't set `spec.hostUsers: false`, RuntimeClass handler {quoted(handler)} does not support user "
                "namespaces"
            )
        try:
            supported = self._supports(handler)
        except SandboxConfigError as error:
            raise SandboxConfigError(f"{problem}: {error}") from error
        if not supported:
            raise SandboxConfigError(problem)

    def _create(self, uid: str) -> int:
        """Allocate a free range: a random one, or the next free one after it."""
        if len(self._used) >= self._size:
            text = "could not find an empty slot to allocate a user namespace"
            raise SandboxConfigError(f"create user namespace: {text}")
        number = self._stream.randrange(self._size)
        while number in self._used:
            number = (number + 1) % self._size
        first_id = (number + self._offset) * self._length
        self._used.add(number)
        self._used_by[uid] = first_id
        mapping = [{"hostId": first_id, "containerId": 0, "length": self._length}]
        try:
            self._files[uid] = json.dumps({"uidMappings": mapping, "gidMappings": mapping}, separators=(",", ":"))
        except SandboxConfigError:
            self.release(uid)
            raise
        return first_id

    def _read(self, uid: str) -> int:
        """Restore the range in the pod's file; returns its first id."""
        first_id, length = parse_mappings(self._files[uid])
        self.record(uid, first_id, length)
        return first_id

    def record(self, uid: str, first_id: int, length: int) -> None:
        if length != self._length:
            raise SandboxConfigError(f"wrong user namespace length {length}")
        if first_id % self._length:
            raise SandboxConfigError(f"wrong user namespace offset specified {first_id}")
        known = self._used_by.get(uid)
        if known is not None and known != first_id:
            raise SandboxConfigError(f"different user namespace range already used by pod {quoted(uid)}")
        number = first_id // self._length - self._offset
        if not 0 <= number < self._size:
            raise SandboxConfigError(f"id {first_id} is out of range")
        if known is None:
            if number in self._used:
                raise SandboxConfigError(f"range picked for pod {quoted(uid)} already taken")
            self._used.add(number)
            self._used_by[uid] = first_id

    def is_allocated(self, uid: str) -> bool:
        return uid in self._used_by

    def release(self, uid: str) -> None:
        """Release the range of a terminated pod."""
        first_id = self._used_by.pop(uid, None)
        if first_id is not None:
            self._files.pop(uid, None)
            self._used.discard(first_id // self._length - self._offset)

    def clean_up_orphans(self, is_known: Callable[[str], bool]) -> None:
        """CleanupOrphanedPodUsernsAllocations: release ranges without a wanted or running pod, or without a file."""
        if self._used_by:
            for uid in [uid for uid in self._used_by if uid not in self._files or not is_known(uid)]:
                self.release(uid)


def range_problem(first_id: int, length: int, ids_per_pod: int, max_pods: int) -> str:
    """The reason why these ids cannot be allocated to pods; empty if they can (MakeUserNsManager)."""
    if ids_per_pod % UNIT_LENGTH:
        return f"kubelet user namespace length {ids_per_pod} is not a multiple of {UNIT_LENGTH}"
    if first_id % ids_per_pod:
        return f"kubelet user assigned ID {first_id} is not a multiple of {ids_per_pod}"
    if first_id < ids_per_pod:
        return f"kubelet user assigned ID {first_id} must be greater or equal to {ids_per_pod}"
    if length % ids_per_pod:
        return f"kubelet user assigned IDs length {length} is not a multiple of {ids_per_pod}"
    if length // ids_per_pod < max_pods:
        return f"kubelet user assigned IDs are not enough to support {max_pods} pods"
    return ""


def parse_mappings(content: str) -> tuple[int, int]:
    """First id and length from a pod's file. Raises SandboxConfigError if a kubelet cannot have written it."""
    try:
        go_json.loads(content)  # raises Go's error message
    except ValueError as error:
        raise SandboxConfigError(f"invalid user namespace mappings file: {error}") from error
    found: dict[str, Any] = json.loads(content)
    uids, gids = found.get("uidMappings") or [], found.get("gidMappings") or []
    invalid = "invalid user namespace configuration: "
    if len(uids) != 1:
        raise SandboxConfigError(invalid + "no more than one mapping allowed.")
    if len(uids) != len(gids):
        raise SandboxConfigError(invalid + "GID and UID mappings should be identical.")
    if _numbers(uids[0]) != _numbers(gids[0]):
        raise SandboxConfigError(invalid + "GID and UID mapping should be identical")
    host_id, container_id, length = _numbers(uids[0])
    if container_id:
        raise SandboxConfigError(invalid + "UID 0 must be mapped")
    return host_id, length


def _numbers(mapping: dict[str, Any]) -> tuple[int, int, int]:
    return mapping.get("hostId", 0), mapping.get("containerId", 0), mapping.get("length", 0)
