"""The client of private nodes: starts the underlay process and sends requests to the holders.

Requests take a millisecond or two, so they block. A plugin takes longer: its descriptor becomes readable when it ends.
A holder that does not respond counts as gone.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import kubesim
from kubesim.errors import KubesimError, UsageError
from kubesim.linux.private_node import holder_messages as messages
from kubesim.linux.private_node.holder import STATUS
from kubesim.linux.private_node.obstacles import SETTINGS, no_private_node

TIMEOUT_S: Final = 30.0
KILLED: Final = 9  # wait status of a killed process

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from kubesim.linux.private_node.underlay import main
main(sys.argv[2:])
"""


Seen = dict[str, list[dict[str, Any]]]  # links, addresses, routes in the format of `rtnetlink`


class NodeGone(KubesimError):
    """A node's holder has ended or does not respond."""


class Underlay:
    """The underlay process; closing it ends all its nodes. An underlay of kind `host` is the holder of the host itself.
    It keeps `lock` open while it lives, which is longer than kubesim if kubesim is killed; its children keep
    `plugins_lock` open too.
    """

    def __init__(self, kind: str = "private", lock: IO[str] | None = None, plugins_lock: IO[str] | None = None) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each listening port needs a descriptor
        ours, theirs = messages.pair()
        root = str(Path(kubesim.__file__).parent.parent)
        with theirs:
            kept = [] if lock is None else [lock.fileno()]
            inherited = [] if plugins_lock is None else [plugins_lock.fileno()]
            words = [sys.executable, "-I", "-S", "-c", _PROGRAM, root, str(theirs.fileno()), str(os.getpid()), kind]
            self._process = subprocess.Popen(
                [*words, *map(str, kept)],
                pass_fds=[theirs.fileno(), *kept, *inherited],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        ours.settimeout(TIMEOUT_S)
        self._socket = ours
        try:
            self._received()
        except KubesimError:
            self.close()
            raise

    def new_node(self) -> PrivateNode:
        messages.send(self._socket, {})
        return PrivateNode(socket.socket(fileno=self._received()[0]))

    def host_node(self) -> PrivateNode:
        """The host as a node, if the underlay is of kind `host`: the underlay is its holder."""
        return PrivateNode(self._socket)

    def _received(self) -> list[int]:
        try:
            message, fds = messages.receive(self._socket)
        except OSError as error:
            raise NodeGone(f"the holder process of the nodes does not respond: {error}") from error
        if message is None:
            raise NodeGone("the process under the nodes has ended")
        if "problem" in message:
            settings = {name: text for name in SETTINGS if (text := _setting(name))}
            raise UsageError(no_private_node(message["step"], message["problem"], settings))
        return fds

    def close(self) -> None:
        """Stop it and everything in its nodes; returns when it has ended."""
        self._socket.close()
        self._process.wait()


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", *name.split(".")).read_text().strip()
    except OSError:
        return ""


class PrivateNode:
    """A node that accepts requests. An error of the kernel is raised as OSError."""

    def __init__(self, asked: socket.socket) -> None:
        asked.settimeout(TIMEOUT_S)
        self._socket = asked
        self._directories: list[int] = []

    def close(self) -> None:
        """The holder ends when its socket has no client."""
        self._socket.close()
        while self._directories:
            os.close(self._directories.pop())

    def _ask(self, do: str, fds: Sequence[int] = (), **given: Any) -> tuple[messages.Message, list[int]]:
        try:
            messages.send(self._socket, {"do": do, **given}, fds)
            answer, given_fds = messages.receive(self._socket)
        except (BrokenPipeError, ConnectionResetError):
            answer, given_fds = None, []
        except OSError as error:
            raise NodeGone(f"the node's holder does not answer: {error}") from error
        if answer is None:
            raise NodeGone("the node's holder has ended")
        if "errno" in answer:
            raise OSError(answer["errno"], answer["problem"], answer["path"] or None)
        return answer, given_fds

    def new_netns(self, path: str, id_maps: Sequence[str] = ()) -> None:
        """Create a network namespace. `id_maps` (users, groups) requests one owned by a new user namespace."""
        self._ask("new netns", path=path, id_maps=list(id_maps))

    def remove_netns(self, path: str) -> None:
        self._ask("remove netns", path=path)

    def bring_up_loopback(self, path: str) -> None:
        """Bring up loopback in a network namespace."""
        self._ask("bring up loopback", path=path)

    def is_closed(self, path: str) -> bool:
        closed: bool = self._ask("is closed", path=path)[0]["closed"]
        return closed

    def files(self, directory: str) -> list[str]:
        """The paths in a directory of the node; empty if it is missing."""
        found: list[str] = self._ask("files", path=directory)[0]["files"]
        return found

    def state_directory(self) -> str:
        """A local path to a directory of the node, valid until the node is closed."""
        self._directories += self._ask("state directory")[1]
        return f"/proc/self/fd/{self._directories[-1]}"

    def join(self, addresses: Sequence[str], routes: Sequence[tuple[str, str]]) -> None:
        """Configure the node's addresses on the switch, and routes to other nodes."""
        self._ask("join", addresses=list(addresses), routes=[list(route) for route in routes])

    def network(self, netns: str = "") -> Seen:
        """Links, addresses and routes of a namespace, or of the node itself."""
        return self._ask("network", path=netns)[0]

    def socket(self, netns: str = "", *, ipv6: bool = False, listen: tuple[str, int] | None = None) -> socket.socket:
        """A TCP socket in a namespace, or on the node itself."""
        fds = self._ask("socket", path=netns, ipv6=ipv6, listen=listen)[1]
        made = socket.socket(fileno=fds[0])
        made.setblocking(False)
        return made

    def spawn(self, path: str, environ: Mapping[str, str], fds: Sequence[int]) -> NodeChild:
        """Start a program in the node with these descriptors as stdin, stdout and stderr."""
        reported, process = self._ask("spawn", fds, path=path, environ=dict(environ))[1]
        return NodeChild(reported, process)


class NodeChild:
    """A program that runs in a node (see `kubesim.cni.exec.child.Child`)."""

    def __init__(self, reported: int, process: int) -> None:
        self.exit_fd = reported
        self._process = process
        self._status: int | None = None
        with open(f"/proc/self/fdinfo/{process}") as file:  # its PID in the node means nothing here
            self.pid = max(0, next((int(line.split()[1]) for line in file if line.startswith("Pid:")), 0))

    def status(self) -> int | None:
        if self._status is None:
            poll = select.poll()
            poll.register(self.exit_fd, select.POLLIN)
            if poll.poll(0):
                data = os.read(self.exit_fd, STATUS.size)
                self._status = STATUS.unpack(data)[0] if data else KILLED  # it was killed with its node
        return self._status

    def close(self) -> None:
        for fd in (self.exit_fd, self._process):
            os.close(fd)
