"""The home directory of a node: stored sandboxes, the ledger of attachments, namespaces, libcni's cache.

A private node's home is removed with it. The home of the host is a state directory that outlives kubesim. Its lock
prevents another kubesim from cleaning up resources in use; its unique name is the prefix of sandbox ids and of the
network.
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
    """`directory` is the local path, `directory_there` the path in the node. `owner` is empty for a private node; `run`
    distinguishes runs of kubesim.
    """

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
        """The bridge name, limited to the length of a link name."""
        return f"ks-{self.owner.rpartition('-')[2]}"

    def sandbox_id(self, uid: str, number: int) -> str:
        """A unique id, also across runs with the same seed."""
        digest = hashlib.sha256(f"{self.run}\0{number}\0{uid}".encode()).hexdigest()
        return f"{self.owner}-{digest[:40]}"


def host_home(state: str) -> Home:
    """The home in a state directory that this process has locked."""
    directory = os.path.realpath(state)
    owner = f"kubesim-{hashlib.sha256(directory.encode()).hexdigest()[:8]}"
    return Home(directory, directory, f"{directory}/netns", owner, _count(f"{directory}/runs.json"))


def _count(path: str) -> int:
    """The number of earlier calls. It is persistent: otherwise ids would repeat."""
    before = 0
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            before = int(json.load(file)["runs"])
    write_through(path, {"runs": before + 1})
    return before


def lock_state(state: str, flag: str = "--state") -> IO[str]:
    """Lock the state directory until the returned file is closed. Waits for the holder of a killed kubesim to stop its
    processes, which can take long on a busy machine. `flag` names the directory in an error.
    """
    lock = open_lock(state, "lock", flag)
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
    raise UsageError(f"{state} is in use by another kubesim ({flag} names another directory)")


def _is_alive(lock: IO[str]) -> bool:
    """Whether the kubesim process that took the lock still runs."""
    lock.seek(0)
    return os.path.exists(f"/proc/{lock.read() or 'self'}")


def open_lock(state: str, name: str, flag: str = "--state") -> IO[str]:
    """Open a lock file of the state directory."""
    try:
        os.makedirs(state, mode=0o700, exist_ok=True)
        return open(os.path.join(state, name), "a+")
    except OSError as error:
        raise UsageError(f"{flag} {state}: {error.strerror}") from None
