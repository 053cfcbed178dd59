"""Seccomp and AppArmor profiles of a container: of the fields, or of the deprecated paths.

A seccomp profile on this machine is read, so that the programs that it blocks fail. A profile that is not there may be
one of the scenario's node: the runtime checks that.

Mirrors: containerd internal/cri/sputil (GenerateSeccompSpecOpts, GenerateApparmorSpecOpts, generateSecurityProfile);
contrib/seccomp WithProfile
"""

from __future__ import annotations

import json
import os
import re
import stat
from typing import Any

from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.shell.kernel.users import CHECKED_CALLS
from kubesim.values import value_object

_DEFAULT = cri_pb2.SecurityProfile.RuntimeDefault
_UNCONFINED = cri_pb2.SecurityProfile.Unconfined
_LOCALHOST = cri_pb2.SecurityProfile.Localhost
_PREFIX = "localhost/"
_NAMED = {
    "runtime/default": _DEFAULT,
    "docker/default": _DEFAULT,
    "": _DEFAULT,
    "unconfined": _UNCONFINED,
}
_CATEGORY = r"c\d{1,4}(\.c\d{1,4})?"
_LEVEL = re.compile(rf"s\d(-s\d)?(:{_CATEGORY}(,{_CATEGORY})*)?", re.ASCII)
_MAX_PROFILE = 1 << 20
_ALLOWING = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")


@value_object
class Seccomp:
    """What a profile allows. `is_loaded`: it is a file of this machine."""

    is_loaded: bool = False
    blocked_calls: frozenset[str] = frozenset()


def _profile(message: Any, field: str, deprecated: str) -> Any:
    """None if neither is given. Raises CriError."""
    if message.HasField(field):
        profile = getattr(message, field)
    elif not (path := getattr(message, deprecated)):
        return None
    elif path in _NAMED:
        profile = cri_pb2.SecurityProfile(profile_type=_NAMED[path])
    elif path.startswith(_PREFIX):
        profile = cri_pb2.SecurityProfile(profile_type=_LOCALHOST, localhost_ref=path)
    else:
        raise _refused(field, f"invalid profile {quoted(path)}")
    if profile.profile_type != _LOCALHOST and profile.localhost_ref:
        raise _refused(field, f"{field} config invalid LocalhostRef must only be set if ProfileType is Localhost")
    if profile.profile_type not in (_DEFAULT, _UNCONFINED, _LOCALHOST):
        raise _refused(field, f"{field} unknown ProfileType")
    return profile


def seccomp_profile(context: Any) -> Any:
    """None: unconfined. Raises CriError."""
    return None if context.privileged else _profile(context, "seccomp", "seccomp_profile_path")


def apparmor_profile(context: Any) -> Any:
    """None: the default. Raises CriError."""
    return _profile(context, "apparmor", "apparmor_profile")


def selinux_problem(options: Any) -> str:
    """SELinux is not modelled; like a machine without it, only the level is checked. Empty if it is fine."""
    is_wrong = options.level and _LEVEL.fullmatch(options.level) is None
    return f"the format of 'level' {quoted(options.level)} is not correct" if is_wrong else ""


def load_seccomp(context: Any) -> Seccomp:
    """Raises CriError."""
    profile = seccomp_profile(context)
    if profile is None or profile.profile_type != _LOCALHOST:
        return Seccomp()
    path = profile.localhost_ref.removeprefix(_PREFIX)
    try:
        text = _read(path)
    except FileNotFoundError:
        return Seccomp()
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise _not_loaded(f"cannot load seccomp profile {quoted(path)}: open {path}: {problem}") from None
    try:
        return Seccomp(True, _blocked(json.loads(text)))
    except (ValueError, RecursionError, TypeError, AttributeError) as error:
        raise _not_loaded(f"decoding seccomp profile failed {quoted(path)}: {error}") from None


def _read(path: str) -> bytes:
    """Of a plain file: clients choose the path."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(0, "not a regular file")
        return os.read(file, _MAX_PROFILE)
    finally:
        os.close(file)


def _blocked(profile: Any) -> frozenset[str]:
    """Of the calls that programs of simulated containers check."""
    blocked = set() if profile.get("defaultAction") in _ALLOWING else set(CHECKED_CALLS)
    for rule in profile.get("syscalls") or ():
        names = CHECKED_CALLS & set(rule.get("names") or ())
        blocked = blocked - names if rule.get("action") in _ALLOWING else blocked | names
    return frozenset(blocked)


def _refused(field: str, problem: str) -> Exception:
    return failure(f"failed to get container spec opts: failed to generate {field} spec opts: {problem}")


def _not_loaded(problem: str) -> Exception:
    return failure(f"failed to create containerd container: {problem}")
