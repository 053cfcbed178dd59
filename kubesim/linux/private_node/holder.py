"""The holder of a node: the first process in it, which does what kubesim requests over a socket.

It has one thread, so that it can enter a sandbox's namespace and return. It is started by the underlay (`underlay.py`)
in namespaces of its own; on the host's network it runs beside kubesim, and then it is not killed when kubesim ends: it
kills what still runs in its name, waits for the end of it, and ends itself.
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
_ROOTS_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin")  # of iptables, not in an ordinary user's PATH
_ONLY_ROOT = "0 0 1"
_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and a child would inherit that

Answer = tuple[messages.Message, list[int]]


class Holder:
    def __init__(self, requests: socket.socket, *, is_private: bool) -> None:
        self._requests = requests
        self._is_private = is_private
        self._own_netns = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._children: dict[int, int] = {}  # process id -> the pipe to which its exit status is written
        self._acts: dict[str, Callable[..., Answer]] = {
            "new netns": self._new_netns,
            "remove netns": self._remove_netns,
            "bring up loopback": self._bring_up_loopback,
            "is closed": self._is_closed,
            "files": self._files,
            "spawn": self._spawn,
            "socket": self._socket,
            "join": self._join,
            "look": self._look,
            "state directory": self._state_directory,
        }

    def serve(self) -> None:
        """Until kubesim is gone."""
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
        """Ended processes: plugins, and processes that they left behind."""
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
                except BrokenPipeError:  # no longer of interest
                    pass
                os.close(reported)

    def _kill_children(self) -> None:
        """All of them have ended when this returns: then their effects can be undone."""
        for pid in self._children:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for pid in self._children:
            try:
                while True:
                    os.waitpid(-pid, 0)  # it, and those of its group that became ours
            except ChildProcessError:
                pass

    def _answer(self) -> bool:
        """One request; False if there will be no more."""
        message, fds = messages.receive(self._requests)
        if message is None:
            return False
        given: list[int] = []
        try:
            answer, given = self._acts[message.pop("do")](fds=fds, **message)
        except OSError as error:
            answer = {"errno": error.errno or 0, "problem": error.strerror or str(error), "path": error.filename or ""}
        finally:
            _close(fds)  # before the answer: holders of a killed plugin's output are killed too
        try:
            messages.send(self._requests, answer, given)
        except OSError:
            return False
        finally:
            _close(given)
        return True

    # -- network namespaces -------------------------------------------------------------------------------------

    def _new_netns(self, path: str, id_maps: list[str], fds: list[int]) -> Answer:
        """Created by entering a new one, binding it, and returning: a thread for that would double the time.
        `id_maps`, of users and of groups, are given for one that belongs to a new user namespace. A private node has no
        ids to map but its root."""
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
        """In a sandbox' namespace; an empty path is the node's own."""
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
        """Starts with these descriptors as 0, 1 and 2. Answers with a pipe from which the exit status can be read, and
        the process."""
        environ |= {"PATH": _with_roots_dirs(environ.get("PATH", os.defpath))}
        reported, tell = os.pipe2(os.O_CLOEXEC)
        failed, fail = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            self._become(path, environ, fds, fail)
        os.close(fail)
        with open(failed, "rb") as pipe:
            problem = pipe.read()
        if problem:
            os.close(reported)
            os.close(tell)
            os.waitpid(pid, 0)
            number = STATUS.unpack(problem)[0]
            raise OSError(number, os.strerror(number), path)
        self._children[pid] = tell
        return {}, [reported, os.pidfd_open(pid)]

    def _become(self, path: str, environ: dict[str, str], fds: list[int], fail: int) -> None:
        """In the child: turn into the program. `fail` is closed by that, and else gets the error's number."""
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
        """A TCP socket of a namespace, listening if an address is given."""
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
        """The node's own end of its cable."""
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

    def _look(self, path: str, fds: list[int]) -> Answer:
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
