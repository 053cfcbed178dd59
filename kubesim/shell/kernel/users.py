"""`User`: the user of a container's processes. An image's /etc/passwd is not modelled, so only root has a name."""

from __future__ import annotations

from kubesim.values import value_object


@value_object
class User:
    """A user; `groups` are the groups in addition to `gid`."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


ROOT = User()
