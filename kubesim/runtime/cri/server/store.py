"""Sandboxes and containers as their clients configured them, by id, and the filters of listings.

The runtime keeps their states; a status shows both. An id may be given by a unique beginning.

Mirrors: containerd internal/cri/store (sandbox.go, container.go), internal/truncindex;
internal/cri/server sandbox_list.go, container_list.go (filters)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from kubesim.runtime.cri.server.failures import failure, missing
from kubesim.runtime.protocol import SandboxConfig
from kubesim.values import part


@part
class ServedSandbox:
    """`message` is the PodSandboxConfig, `config` what the runtime made of it."""

    id: str
    message: Any
    config: SandboxConfig
    runtime_handler: str
    overhead: Any = None  # of UpdatePodSandboxResources
    resources: Any = None


@part
class ServedContainer:
    """`message` is the ContainerConfig; `resources` are the current LinuxContainerResources."""

    id: str
    sandbox_id: str
    message: Any
    image_id: str
    log_path: str
    resources: Any
    blocked_calls: frozenset[str] = frozenset()  # by its seccomp profile
    starting: bool = False
    removing: bool = False


class HasId(Protocol):
    id: str


T = TypeVar("T", bound=HasId)


class Index(Generic[T]):
    """Objects by id, in the order in which they were created."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}

    def add(self, each: T) -> None:
        self._objects[each.id] = each

    def discard(self, identifier: str) -> None:
        self._objects.pop(identifier, None)

    def find(self, given: str, problem: str) -> T | None:
        """The object with this id, or the only one whose id begins so. Raises CriError, with the problem."""
        exact = self._objects.get(given)
        if exact is not None:
            return exact
        if not given:
            raise failure(f"{problem}: prefix can't be empty")
        found = [each for identifier, each in self._objects.items() if identifier.startswith(given)]
        if len(found) > 1:
            raise failure(f"{problem}: multiple IDs found with provided prefix: {given}")
        return found[0] if found else None

    def get(self, given: str, problem: str) -> T:
        """Raises CriError: NotFound if there is none."""
        found = self.find(given, problem)
        if found is None:
            raise missing(problem)
        return found

    def known(self, identifier: str) -> T | None:
        return self._objects.get(identifier)

    def full_id(self, given: str) -> str:
        """The id that a filter means; as it is if there is no such object, or not only one."""
        if given and given not in self._objects:
            found = [identifier for identifier in self._objects if identifier.startswith(given)]
            return found[0] if len(found) == 1 else given
        return given

    def __iter__(self) -> Iterator[T]:
        return iter(list(self._objects.values()))


def has_labels(labels: Mapping[str, str], selector: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in selector.items())
