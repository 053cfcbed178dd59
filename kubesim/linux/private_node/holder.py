"""The holder: the first process of a node. It executes kubesim's requests from a socket.

It has one thread, so that it can enter a sandbox's namespace and return. The underlay (`underlay.py`) starts it in new
namespaces. On the host's network it runs next to kubesim and survives it: when kubesim ends, it kills the processes it
has started, waits for them, and exits.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kubesim.linux import namespaces, netns, rtnetlink
from kubesim.linux.private_node import holder_messages as messages
from kubesim.linux.private_node.confinement import confine
from kubesim.linux.private_node.private import OWN_DIR

STATUS = struct.Struct("=i")
_ROOTS_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # directories of iptables that a user's PATH lacks
_ONLY_ROOT = "0 0 1"
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # ignored by Python; children would inherit that

Answer = tuple[messages.Message, list[int]]


class Holder:
    def __init__(self, requests: socket.socket, *, is_private: bool) -> None:
        self._requests = requests
        self._is_private = is_private
        self._own_netns = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._children: dict[int, int] = {}  # PID -> pipe for its exit status
        self._acts: dict[str, Callable[..., Answer]] = {
            "new netns": self._new_netns,
            "remove netns": self._remove_netns,
            "bring up loopback": self._bring_up_loopback,
            "is closed": self._is_closed,
            "files": self._files,
            "spawn": self._spawn,
            "socket": self._socket,
            "join": self._join,
            "network": self._network,
            "state directory": self._state_directory,
        }

    def serve(self) -> None:
        """Serve until kubesim has ended."""
        woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(woken, select.POLLIN)
        poll.register(self._requests, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == woken:
                    os.read(woken, 4096)
                    self._reap()
                elif not self._answer():
                    self._kill_children()
                    return

    def _reap(self) -> None:
        """Reap ended processes: plugins and their orphans."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            reported = self._children.pop(pid, None)
            if reported is not None:
                try:
                    os.write(reported, STATUS.pack(status))
                except BrokenPipeError:  # the client no longer waits for it
                    pass
                os.close(reported)

    def _kill_children(self) -> None:
        """Kill all children and wait for them, so that their effects can be cleaned up."""
        for pid in self._children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for pid in self._children:
            try:
                while True:
                    os.waitpid(-pid, 0)  # it, and orphans of its process group
            except ChildProcessError:
                pass

    def _answer(self) -> bool:
        """Handle one request; False after the last one."""
        message, fds = messages.receive(self._requests)
        if message is None:
            return False
        given: list[int] = []
        try:
            answer, given = self._acts[message.pop("do")](fds=fds, **message)
        except OSError as error:
            answer = {"errno": error.errno or 0, "problem": error.strerror or str(error), "path": error.filename or ""}
        finally:
            _close(fds)  # before the response: processes that hold a killed plugin's output are killed too
        try:
            messages.send(self._requests, answer, given)
        except OSError:
            return False
        finally:
            _close(given)
        return True

    # -- network namespaces -------------------------------------------------------------------------------------

    def _new_netns(self, path: str, id_maps: list[str], fds: list[int]) -> Answer:
        """Create a namespace by entering a new one, binding it and returning: a thread would take twice the time.
        `id_maps` (users, groups) requests one owned by a new user namespace. A private node can map only its root.
        """
        if id_maps:
            users, groups = id_maps if _has_many_ids() else (_ONLY_ROOT, _ONLY_ROOT)
            netns.new_netns_in_user_namespace(path, users, groups)
            return {}, []
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
        try:
            namespaces.unshare(namespaces.CLONE_NEWNET)
            try:
                namespaces.mount("/proc/self/ns/net", path, "none", namespaces.MS_BIND)
            finally:
                namespaces.setns(self._own_netns, namespaces.CLONE_NEWNET)
        except OSError:
            os.unlink(path)
            raise
        return {}, []

    def _remove_netns(self, path: str, fds: list[int]) -> Answer:
        netns.remove_netns(path)
        return {}, []

    def _bring_up_loopback(self, path: str, fds: list[int]) -> Answer:
        with self._inside(path):
            namespaces.set_up("lo")
        return {}, []

    def _is_closed(self, path: str, fds: list[int]) -> Answer:
        return {"closed": netns.is_closed(path)}, []

    def _files(self, path: str, fds: list[int]) -> Answer:
        names = sorted(os.listdir(path)) if os.path.isdir(path) else []
        return {"files": [os.path.join(path, name) for name in names]}, []

    @contextmanager
    def _inside(self, path: str) -> Iterator[None]:
        """Run an action in a sandbox's namespace; an empty path is the node's own."""
        if path:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                namespaces.setns(fd, namespaces.CLONE_NEWNET)
            finally:
                os.close(fd)
        try:
            yield
        finally:
            if path:
                namespaces.setns(self._own_netns, namespaces.CLONE_NEWNET)

    # -- processes ----------------------------------------------------------------------------------------------

    def _spawn(self, path: str, environ: dict[str, str], fds: list[int]) -> Answer:
        """Start a program with these descriptors as 0, 1, 2. Responds with a pipe for its exit status and a pidfd."""
        environ |= {"PATH": _with_roots_dirs(environ.get("PATH", os.defpath))}
        reported, exit_pipe = os.pipe2(os.O_CLOEXEC)
        failed, fail = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            self._become(path, environ, fds, fail)
        os.close(fail)
        with open(failed, "rb") as pipe:
            problem = pipe.read()
        if problem:
            os.close(reported)
            os.close(exit_pipe)
            os.waitpid(pid, 0)
            number = STATUS.unpack(problem)[0]
            raise OSError(number, os.strerror(number), path)
        self._children[pid] = exit_pipe
        return {}, [reported, os.pidfd_open(pid)]

    def _become(self, path: str, environ: dict[str, str], fds: list[int], fail: int) -> None:
        """In the child: exec the program. exec closes `fail`; on an error its number is written there."""
        try:
            os.setpgid(0, 0)
            for ignored in _DEFAULT_SIGNALS:
                signal.signal(ignored, signal.SIG_DFL)
            for number, fd in enumerate(fds):
                os.dup2(fd, number)
            if self._is_private:
                confine()
            os.execve(path, [path], environ)
        except OSError as error:
            os.write(fail, STATUS.pack(error.errno or errno.EIO))
        finally:
            os._exit(127)

    # -- the network --------------------------------------------------------------------------------------------

    def _socket(self, path: str, ipv6: bool, listen: list[Any] | None, fds: list[int]) -> Answer:
        """A TCP socket in a namespace, listening if an address is given."""
        with self._inside(path):
            made = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET, socket.SOCK_STREAM)
        with made:
            if listen is not None:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind((listen[0], listen[1]))
                made.listen(128)
            made.setblocking(False)
            return {"port": made.getsockname()[1]}, [os.dup(made.fileno())]

    def _join(self, addresses: list[str], routes: list[list[str]], fds: list[int]) -> Answer:
        """Configure the node's end of its veth cable."""
        rtnetlink.set_up("eth0")
        for address in addresses:
            rtnetlink.add_address("eth0", address)
        for destination, gateway in routes:
            rtnetlink.add_route(destination, gateway)
        for setting in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
            if os.path.exists(f"/proc/sys/net/{setting}"):
                with open(f"/proc/sys/net/{setting}", "w") as file:
                    file.write("1")
        return {}, []

    def _network(self, path: str, fds: list[int]) -> Answer:
        with self._inside(path):
            seen = {
                "links": rtnetlink.links(),
                "addresses": rtnetlink.addresses(),
                "routes": rtnetlink.routes(),
            }
        return seen, []

    def _state_directory(self, fds: list[int]) -> Answer:
        return {}, [os.open(OWN_DIR, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)


def _has_many_ids() -> bool:
    with open("/proc/self/uid_map") as file:
        return sum(int(line.split()[2]) for line in file) > 1


def _with_roots_dirs(path: str) -> str:
    known = path.split(":")
    return ":".join([*known, *(directory for directory in _ROOTS_DIRS if directory not in known)])
