"""Network namespaces that outlive the process that created them: bound to a file.

Mirrors: containerd pkg/netns/netns_linux.go; containernetworking/plugins pkg/ns GetNS
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Final, TypeVar

from kubesim.linux import namespaces

T = TypeVar("T")
MOUNT_DIR: Final = "/var/run/netns"

_NSFS, _PROC = 0x6E736673, 0x9FA0  # what statfs says about a namespace, also on an old kernel


def netns_name(random: bytes) -> str:
    """`cni-` and sixteen bytes that look like a UUID, but are not one."""
    text = random.hex()
    return "cni-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))


def new_netns(path: str) -> None:
    """Make a namespace and bind it to a new file; nothing is left behind if that fails."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    try:
        in_thread(lambda: _bind_new(path))
    except OSError:
        os.unlink(path)
        raise


def _bind_new(path: str) -> None:
    namespaces.unshare(namespaces.CLONE_NEWNET)
    own = f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net"
    namespaces.mount(own, path, "none", namespaces.MS_BIND)


def remove_netns(path: str) -> None:
    """Unbind and delete; a missing one is not an error."""
    if not os.path.exists(path):
        return
    path = os.path.realpath(path)
    try:
        namespaces.umount(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):  # EINVAL: nothing was mounted there
            raise
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def is_closed(path: str) -> bool:
    """Is there no namespace (any more)? A plain file in its place is deleted."""
    try:
        if namespaces.filesystem_type(path) in (_NSFS, _PROC):
            return False
    except FileNotFoundError:
        return True
    os.unlink(path)
    return True


def run_in(path: str, action: Callable[[], T]) -> T:
    """Call something in a namespace, in a thread of its own."""

    def enter_and_act() -> T:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            namespaces.setns(fd, namespaces.CLONE_NEWNET)
        finally:
            os.close(fd)
        return action()

    return in_thread(enter_and_act)


def bring_up_loopback(path: str) -> None:
    run_in(path, lambda: namespaces.set_up("lo"))


def in_thread(action: Callable[[], T]) -> T:
    """Whatever the action does to its thread's namespaces ends with the thread."""
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(action())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="netns", daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


_HELPER = """
import os
from kubesim.linux import namespaces
namespaces.unshare(namespaces.CLONE_NEWUSER)
os.write(1, b"u")
os.read(0, 1)
namespaces.unshare(namespaces.CLONE_NEWNET)
os.write(1, b"n")
os.read(0, 1)
"""


def new_netns_in_user_namespace(path: str, uid_map: str, gid_map: str) -> None:
    """Make a namespace that belongs to a new user namespace, and bind it to a new file. A helper process enters the
    user namespace first; this process maps its ids, as only the parent's namespace may. Maps: `inside outside count`.
    """
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    command = [sys.executable, "-c", _HELPER]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ) as helper:
            try:
                _bind_of_helper(helper, path, uid_map, gid_map)
            finally:
                helper.kill()
    except OSError:
        os.unlink(path)
        raise


def _bind_of_helper(helper: subprocess.Popen[bytes], path: str, uid_map: str, gid_map: str) -> None:
    assert helper.stdin is not None
    assert helper.stdout is not None
    _expect(helper.stdout, b"u")
    for name, line in (("uid_map", uid_map), ("gid_map", gid_map)):
        with open(f"/proc/{helper.pid}/{name}", "w") as file:
            file.write(line)
    helper.stdin.write(b".")
    helper.stdin.flush()
    _expect(helper.stdout, b"n")
    namespaces.mount(f"/proc/{helper.pid}/ns/net", path, "none", namespaces.MS_BIND)


def _expect(output: IO[bytes], sign: bytes) -> None:
    if output.read(1) != sign:
        raise OSError(errno.EPERM, "cannot create a user namespace")
