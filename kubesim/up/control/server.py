"""The Unix socket on which a cluster takes commands about its clock. Only its owner can connect.

A connection carries one command. A client that disconnects during `advance` ends it at the current time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from kubesim.clock import LoopClock
from kubesim.clock.real_clock import RealClock
from kubesim.errors import UsageError
from kubesim.up.control.commands import ClockControls, parse_command

JUMPS = 100_000.0  # the speed of a clock that may be advanced by days
MAX_LINE = 4096
MAX_CONNECTIONS = 32
_PATIENCE = 10_000_000  # until the command is there
_MAX_PATH = 107  # bytes of a Unix address


class ControlServer:
    """Serves until closed."""

    def __init__(self, path: Path, controls: ClockControls, clock: RealClock) -> None:
        self._path = path
        self._controls = controls
        self._clock = clock
        self._server: asyncio.Server | None = None
        self._identity: tuple[int, int] | None = None
        self._connections = 0

    async def start(self) -> None:
        """Raises UsageError."""
        made = listen(self._path)
        found = os.stat(self._path)
        self._identity = found.st_dev, found.st_ino
        self._server = await asyncio.start_unix_server(self._serve, sock=made, limit=MAX_LINE)

    async def close(self) -> None:
        """Remove the socket, unless another one has its name by now."""
        if self._server is None:
            return
        self._server.close()
        with contextlib.suppress(OSError):
            found = os.lstat(self._path)
            if (found.st_dev, found.st_ino) == self._identity:
                self._path.unlink()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            answer = await self._answer(reader, writer)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except (ConnectionError, TimeoutError):
            pass  # the client has gone, or said nothing
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, object]:
        if not _is_owner(writer.get_extra_info("socket")):
            return {"error": "only the user who started the cluster controls its clock"}
        if self._connections > MAX_CONNECTIONS:
            return {"error": f"more than {MAX_CONNECTIONS} connections"}
        try:
            async with self._clock.timeout(_PATIENCE):
                line = await reader.readline()
            command = parse_command(line)
            return await self._unless_gone(reader, asyncio.ensure_future(self._controls.execute(command)))
        except UsageError as error:
            return {"error": str(error)}
        except ValueError:
            return {"error": f"the request is longer than {MAX_LINE} bytes"}

    async def _unless_gone(
        self, reader: asyncio.StreamReader, work: asyncio.Future[dict[str, object]]
    ) -> dict[str, object]:
        gone = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ConnectionResetError
            return work.result()
        finally:
            work.cancel()
            gone.cancel()


@contextlib.asynccontextmanager
async def controlled(
    path: Path | None, clock: LoopClock, settle: Callable[[], Awaitable[None]] | None = None
) -> AsyncIterator[None]:
    """Take commands about this clock during the block. Raises UsageError."""
    if path is None:
        yield
        return
    server = ControlServer(path, ClockControls(clock, settle), RealClock(clock))
    await server.start()
    try:
        yield
    finally:
        await server.close()


def listen(path: Path) -> socket.socket:
    """A listening socket of mode 0600 at this path. A socket without a server is replaced. Raises
    UsageError."""
    if len(os.fsencode(path)) > _MAX_PATH:
        raise UsageError(f"--control {path}: longer than the {_MAX_PATH} bytes of a Unix socket: name a shorter path")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_dead(path)
        before = os.umask(0o177)
        try:
            made.bind(os.fspath(path))
        finally:
            os.umask(before)
        made.listen(MAX_CONNECTIONS)
        made.setblocking(False)
    except OSError as error:
        made.close()
        raise UsageError(f"--control {path}: {os.strerror(error.errno or 0)}") from None
    except UsageError:
        made.close()
        raise
    return made


def _remove_dead(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UsageError(f"--control {path}: there is a file that is not a socket: name another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise UsageError(f"--control {path}: another program serves this socket: name another path")


def _is_owner(connection: socket.socket) -> bool:
    """Whether the client runs as our user, or as root; the mode of the socket is the first barrier."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return uid in (os.geteuid(), 0)
