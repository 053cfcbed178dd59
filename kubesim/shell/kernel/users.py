"""`User`: the user that a container's processes run as. Only numbers are known: what an image has in /etc/passwd is not
modelled, so only root has a name."""

from __future__ import annotations

from kubesim.values import value_object


@value_object
class User:
    """`groups` are those beside the group `gid`."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


ROOT = User()
