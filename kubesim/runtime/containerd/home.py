"""Where a node keeps what is ours: stored sandboxes, the ledger of attachments, namespaces, libcni's cache.

The home of a private node is removed with it. That of a node that is the host itself is a state directory that outlives
kubesim; it has a lock, so that no other kubesim cleans up what is in use, and a unique name, the prefix of its
sandboxes' ids and of its network.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import select
from typing import IO

from kubesim.errors import UsageError
from kubesim.linux.private_node.private import NETNS_DIR, OWN_DIR
from kubesim.runtime.containerd.sandbox_parts import write_through
from kubesim.values import value_object

STATE_NETNS_DIR = "/run/containerd/io.containerd.grpc.v1.cri/netns"  # with netns_mounts_under_state_dir
_LOCK_PAUSE_MS = 100
_TRIES_WITH_A_LIVING, _TRIES = 50, 300


@value_object
class Home:
    """`directory` is a path here, `directory_there` the same in the node. `owner` is empty where all is ours anyway;
    `run` distinguishes runs of kubesim."""

    directory: str
    directory_there: str = OWN_DIR
    netns_dir: str = NETNS_DIR
    owner: str = ""
    run: int = 0

    @property
    def sandboxes(self) -> str:
        return f"{self.directory}/sandboxes"

    @property
    def attachments(self) -> str:
        return f"{self.directory}/attachments"

    @property
    def cache(self) -> str:
        return f"{self.directory}/cni"

    @property
    def bridge(self) -> str:
        """At most as long as the name of a link."""
        return f"ks-{self.owner.rpartition('-')[2]}"

    def sandbox_id(self, uid: str, number: int) -> str:
        """Never the same again, also in another run of the same seed."""
        digest = hashlib.sha256(f"{self.run}\0{number}\0{uid}".encode()).hexdigest()
        return f"{self.owner}-{digest[:40]}"


def host_home(state: str) -> Home:
    """The home in a state directory that this process has locked."""
    directory = os.path.realpath(state)
    owner = f"kubesim-{hashlib.sha256(directory.encode()).hexdigest()[:8]}"
    return Home(directory, directory, f"{directory}/netns", owner, _count(f"{directory}/runs.json"))


def _count(path: str) -> int:
    """The number of earlier calls. It must be kept, or ids would repeat."""
    before = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = int(json.load(file)["runs"])
    write_through(path, {"runs": before + 1})
    return before


def lock_state(state: str) -> IO[str]:
    """The state directory, ours alone until this is closed. The holder of one that was killed is given time to end what
    it runs, also where the machine is busy."""
    lock = open_lock(state, "lock")
    for tries in range(1, _TRIES + 1):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tries >= _TRIES_WITH_A_LIVING and _is_alive(lock):
                break
            select.poll().poll(_LOCK_PAUSE_MS)
        else:
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            return lock
    lock.close()
    raise UsageError(f"{state} is in use by another kubesim (--state names another directory)")


def _is_alive(lock: IO[str]) -> bool:
    """Is the kubesim process that took the lock still running?"""
    lock.seek(0)
    return os.path.exists(f"/proc/{lock.read() or 'self'}")


def open_lock(state: str, name: str) -> IO[str]:
    """A file of the state directory that exists to be locked."""
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        return open(os.path.join(state, name), "a+")
    except OSError as error:
        raise UsageError(f"--state {state}: {error.strerror}") from None
