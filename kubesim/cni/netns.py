"""Network namespaces that outlive whoever made them: bound to a file.

Mirrors: containerd pkg/netns/netns_linux.go; containernetworking/plugins pkg/ns GetNS
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from kubesim.cni import namespaces

T = TypeVar("T")
MOUNT_DIR: Final = "/var/run/netns"

_NSFS, _PROC = 0x6E736673, 0x9FA0  # what statfs says about a namespace, also on an old kernel


def netns_name(random: bytes) -> str:
    """`cni-` and sixteen bytes that look like a UUID, but are not one."""
    text = random.hex()
    return "cni-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:32]))


def new_netns(path: str) -> None:
    """Make a namespace and bind it to a new file; nothing is left behind where that fails."""
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
    """Unbind and delete; what is gone is gone."""
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
