"""The user of a container: from its security context, or else from the image, with the accounts of the image.

Mirrors: containerd internal/cri/util GenerateUserString; pkg/oci/spec_opts.go WithUser, WithAdditionalGIDs;
internal/cri/server/container_create.go platformSpecOpts
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.types import ContainerUser
from kubesim.values import value_object


@value_object
class Account:
    """A line of /etc/passwd; `groups` are those of /etc/group that list the user."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...] = ()


Accounts = Mapping[str, Account]
_STRICT = 1
# Those that busybox and Debian have in common.
USUAL_ACCOUNTS: Accounts = {
    account.name: account
    for account in (
        Account("root", 0, 0),
        Account("daemon", 1, 1),
        Account("bin", 2, 2),
        Account("sys", 3, 3),
        Account("sync", 4, 100),
        Account("mail", 8, 8),
        Account("www-data", 33, 33),
        Account("operator", 37, 37),
        Account("nobody", 65534, 65534),
    )
}


def passwd(accounts: Accounts) -> str:
    return "".join(f"{each.name}:x:{each.uid}:{each.gid}:{each.name}:/:/bin/sh\n" for each in accounts.values())


def user_string(security_context: Any) -> str:
    """`user`, `user:group` or nothing. Raises CriError."""
    user = str(security_context.run_as_user.value) if security_context.HasField("run_as_user") else ""
    user = security_context.run_as_username or user
    group = str(security_context.run_as_group.value) if security_context.HasField("run_as_group") else ""
    if group and not user:
        problem = f"failed to generate user string: user group {quoted(group)} is specified without user"
        raise failure(f"failed to get container spec opts: {problem}")
    return f"{user}:{group}" if group else user


def container_user(security_context: Any, image_user: str, accounts: Accounts) -> ContainerUser:
    """Raises CriError."""
    text = user_string(security_context) or image_user
    name, _, group = text.partition(":")
    account = _account(name or "0", accounts)
    gid = account.gid if not group else _group(group, accounts)
    extra = tuple(security_context.supplemental_groups)
    of_image = () if security_context.supplemental_groups_policy == _STRICT else account.groups
    return ContainerUser(account.uid, gid, tuple(sorted({*extra, *of_image} - {gid})))


def _account(name: str, accounts: Accounts) -> Account:
    if not name.isdigit():
        known = accounts.get(name)
        if known is None:
            raise failure("failed to create containerd container: no users found")
        return known
    uid = int(name)
    return next((each for each in accounts.values() if each.uid == uid), Account("", uid, 0))


def _group(name: str, accounts: Accounts) -> int:
    if name.isdigit():
        return int(name)
    if name not in accounts:
        raise failure("failed to create containerd container: no groups found")
    return accounts[name].gid
