"""Network namespaces bound to a file, so that they outlive the process that created them.

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

_NSFS, _PROC = 0x6E736673, 0x9FA0  # statfs types of a namespace file; old kernels report proc


def netns_name(random: bytes) -> str:
    """`cni-` and sixteen random bytes that look like a UUID but are not one."""
    text = random.hex()
    return "cni-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))


def new_netns(path: str) -> None:
    """Create a namespace and bind it to a new file; a failure leaves nothing behind."""
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
    """Unmount and delete the namespace file; a missing one is not an error."""
    if not os.path.exists(path):
        return
    path = os.path.realpath(path)
    try:
        namespaces.umount(path)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOENT):  # EINVAL: not a mount point
            raise
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def is_closed(path: str) -> bool:
    """Whether the file is no namespace (any more). A plain file in its place is deleted."""
    try:
        if namespaces.filesystem_type(path) in (_NSFS, _PROC):
            return False
    except FileNotFoundError:
        return True
    os.unlink(path)
    return True


def run_in(path: str, action: Callable[[], T]) -> T:
    """Call a function in a namespace, in a dedicated thread."""

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
    """Run an action in a thread, so that its namespace changes end with the thread."""
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
    """Create a namespace owned by a new user namespace, and bind it to a new file. A helper process enters the user
    namespace, and this process writes its id maps, which only the parent namespace may do. Maps: `inside outside
    count`.
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
