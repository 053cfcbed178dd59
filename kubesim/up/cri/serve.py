"""Serves the runtime of a scenario at a Unix socket, in real time, until it is stopped."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from kubesim.api.timestamps import MINUTE
from kubesim.app import cni_nodes
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.clock.interrupts import interrupts_postponed
from kubesim.clock.wall import chance_seed, wall_now
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.runtime.cri.server.service import CriService
from kubesim.runtime.cri.server.streaming.requests import StreamRequests
from kubesim.runtime.cri.wire.grpc_calls import GrpcServer
from kubesim.scenario.language.document import Scenario
from kubesim.trace import Recorder, Sink
from kubesim.up.cluster import end_on_internal_errors
from kubesim.up.cri.fault_service import FaultService
from kubesim.up.cri.served_node import NodeMaker, ServedParts
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.runtime.containerd.cni_nodes import CniNodes


class Startable(Protocol):
    async def start(self) -> None: ...


_LONGEST_SLEEP = 60 * MINUTE  # a selector takes no timeout of years
_PRIVATE = 0o177  # the umask for a socket of its owner alone


@value_object
class ServeSettings:
    """`duration` is microseconds; None: until it is stopped. `ready` is called once clients can connect. `host_state`
    makes this machine the node of runtime cni."""

    path: str
    ready: Callable[[], None]
    duration: int | None = None
    seed: int | None = None
    first_ip: str = ""
    host_state: str = ""


def serve(scenario: Scenario, settings: ServeSettings, sinks: Sequence[Sink] = ()) -> None:
    """Serve for the duration. Raises UsageError; KeyboardInterrupt when a signal ends it."""
    check_socket(settings.path, "--listen")
    with interrupts_postponed():
        real = cni_nodes(scenario.spec, settings.host_state) if scenario.spec.runtime == "cni" else None
        try:
            run_virtual(_serve, scenario, settings, sinks, real)
        finally:
            if real is not None:
                real.close()


async def _serve(scenario: Scenario, settings: ServeSettings, sinks: Sequence[Sink], real: CniNodes | None) -> None:
    clock = LoopClock(wall_now())
    clock.begin(1.0)
    recorder = Recorder(clock)
    for sink in sinks:
        recorder.add(sink)
    seed = chance_seed() if settings.seed is None else settings.seed
    async with TaskSet() as tasks:
        end_on_internal_errors(tasks)
        parts = ServedParts(clock, Randomness(seed), recorder, tasks, "" if real else settings.first_ip, real)
        maker = NodeMaker(scenario.spec, parts)
        node, interceptor = maker.node()
        tokens = Randomness(chance_seed()).stream("tokens")
        service = CriService(node, StreamRequests(clock, tokens), maker.amounts)
        server = GrpcServer(service, settings.path, [FaultService(interceptor).handler()])
        with clock.listening(), unix_socket(settings.path):
            await service.streams.start()
            await start_private(server)
            try:
                settings.ready()
                await tasks.run_until(wait(clock, settings.duration))
            finally:
                await server.close()
                await service.streams.close()
                node.close()


async def wait(clock: LoopClock, duration: int | None) -> None:
    """None: until it is cancelled."""
    left = duration
    while left is None or left > 0:
        step = _LONGEST_SLEEP if left is None else min(left, _LONGEST_SLEEP)
        await clock.sleep(step)
        left = None if left is None else left - step


async def start_private(server: Startable) -> None:
    """The socket belongs to this user alone from its first moment."""
    former = os.umask(_PRIVATE)
    try:
        await server.start()
    finally:
        os.umask(former)


def check_socket(path: str, flag: str) -> None:
    """Raises UsageError if another process listens there, or if it is another kind of file."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        if not os.path.isdir(os.path.dirname(path)):
            raise UsageError(f"{flag} {path}: there is no directory {os.path.dirname(path)}") from None
        return
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{flag} {path}: exists and is not a socket: name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)  # its process has died
            return
        except OSError as error:
            raise UsageError(f"{flag} {path}: {error.strerror}") from None
    raise UsageError(f"{flag} {path}: another process listens there: stop it, or name another path")


@contextmanager
def unix_socket(path: str) -> Iterator[None]:
    """Remove the socket's file at the end."""
    try:
        yield
    finally:
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
        except FileNotFoundError:
            pass
