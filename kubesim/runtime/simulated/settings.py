"""Durations, names and numbers of the simulated runtime.

The defaults are those of a small real node: sandbox with network 0.1 to 0.25 s, create 0.02 s, start 0.08 s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock.randomness import Stream
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.protocol import UNKNOWN_ERROR, RuntimeConditions, RuntimeHandler
from kubesim.runtime.simulated.containers.security import NO_PROFILES, SecurityProfiles
from kubesim.runtime.simulated.draws import Draw
from kubesim.runtime.types import ContainerUser
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.runtime.simulated.cri.sandbox_steps import SandboxFault


@value_object
class Span:
    """A duration: fixed, or uniformly distributed between two ends."""

    low: int
    high: int | None = None

    def draw(self, stream: Stream) -> int:
        return self.low if self.high is None else stream.randint(self.low, self.high)


@value_object
class Latencies:
    run_sandbox: Draw = Span(100 * MILLISECOND, 250 * MILLISECOND)
    stop_sandbox: Draw = Span(80 * MILLISECOND, 200 * MILLISECOND)
    create_container: Draw = Span(20 * MILLISECOND)
    start_container: Draw = Span(80 * MILLISECOND)
    stop_container: Draw = Span(0)  # in addition to the program's own shutdown
    update_container: Draw = Span(5 * MILLISECOND)
    failed_start: Draw = Span(150 * MILLISECOND, 400 * MILLISECOND)  # including the cleanup
    exec: Draw = Span(10 * MILLISECOND)
    shortest_run: int = 30 * MILLISECOND  # the earliest time at which an exit is noticed
    pull: Draw = Span(2 * SECOND)
    refusal: Draw = Span(5 * MILLISECOND)  # a registry address without a listener
    list: int = MILLISECOND  # duration of a relist; fixed, because skipped relists use it too


@value_object
class ImageBehaviour:
    """The registry's responses for one image."""

    pull: Draw | None = None
    errors: tuple[str, ...] = ()  # errors of the first pulls
    missing: str = ""  # error of every pull
    size: int = 4_261_550
    present: bool = False
    credentials: tuple[str, str] | None = None  # user and password that the registry requires
    user: str = ""  # the image's user, `101`, `nginx` or `101:101`; empty is root
    stop_signal: str = ""


@value_object
class SimulatedSettings:
    latencies: Latencies = Latencies()
    images: Mapping[str, ImageBehaviour] = field(default_factory=dict)
    sandbox_errors: tuple[str, ...] = ()  # errors of the first RunPodSandbox calls
    sandbox_faults: tuple[SandboxFault, ...] = ()
    security_profiles: SecurityProfiles = NO_PROFILES
    first_ip: str = "10.88.0.10"
    reports_users: bool = True  # false for containerd 1
    reports_log_paths: bool = True  # if false, log files of removed containers stay
    sandbox_id: Callable[[str, int], str] | None = None  # (pod UID, number of the sandbox on this node)
    container_id: Callable[[str, str, int], str] | None = None  # (pod UID, container name, attempt)
    handlers: tuple[RuntimeHandler, ...] = RuntimeConditions().handlers
    reports_handlers: bool = True  # to the kubelet; false for containerd 1.7
    containerd: str = "2"  # or 1.7: order of sandbox creation (see `Rules.containerd`)
    pod_ip: Callable[[int], str] | None = None  # (sandbox attempt)

    @property
    def reported_handlers(self) -> tuple[RuntimeHandler, ...]:
        return self.handlers if self.reports_handlers else ()

    def reported_user(self, user: ContainerUser) -> ContainerUser | None:
        """In containerd's format: supplemental groups include the primary group."""
        if not self.reports_users:
            return None
        return ContainerUser(user.uid, user.gid, tuple(dict.fromkeys((user.gid, *user.supplemental_groups))))

    def check_runtime_handler(self, sandbox_id: str, handler: str) -> None:
        """Raises RuntimeCallError if the runtime has no such handler; empty is the default."""
        if handler and all(handler != known.name for known in self.handlers):
            problem = "failed to get sandbox runtime"
            if self.containerd != "1.7":
                problem = f"unable to get OCI runtime for sandbox {quoted(sandbox_id)}"
            raise RuntimeCallError(f"{UNKNOWN_ERROR}{problem}: no runtime for {quoted(handler)} is configured")
