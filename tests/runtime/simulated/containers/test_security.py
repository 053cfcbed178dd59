"""containerd's errors about profiles that a node does not have.

Adapted from containerd's internal/cri/sputil apparmor_linux_test.go (21 rows: the 9 with a SecurityProfile; the kubelet
never leaves it to the deprecated strings of the other 12) and seccomp_linux_test.go (20 rows: 8 of the 9 with a
SecurityProfile; a profile type with a path that does not belong to it cannot be written here).
"""

from __future__ import annotations

import pytest

from kubesim.runtime.protocol import LinuxContainerSecurityContext, SecurityProfile
from kubesim.runtime.simulated.containers.security import SecurityProfiles, security_problem

DEFAULT = SecurityProfile("RuntimeDefault")
UNCONFINED = SecurityProfile("Unconfined")
PREFIXED = SecurityProfile("Localhost", "localhost/test-profile")
BARE = SecurityProfile("Localhost", "test-profile")
APP_ARMOR = "failed to get container spec opts: failed to generate apparmor spec opts: "
NOT_FOUND = f"{APP_ARMOR}apparmor profile not found test-profile"


def asked(
    app_armor: SecurityProfile | None = None, seccomp: SecurityProfile = UNCONFINED, *, privileged: bool = False
) -> LinuxContainerSecurityContext:
    return LinuxContainerSecurityContext(privileged, seccomp, app_armor)


@pytest.mark.parametrize(
    ("context", "enabled", "problem"),
    [
        pytest.param(asked(DEFAULT), False, f"{APP_ARMOR}apparmor is not supported", id="specified, not supported"),
        pytest.param(asked(UNCONFINED), False, "", id="unconfined, not supported"),
        pytest.param(asked(), False, "", id="not specified, not supported"),
        pytest.param(asked(UNCONFINED), True, "", id="unconfined"),
        pytest.param(asked(UNCONFINED, privileged=True), True, "", id="unconfined and privileged"),
        pytest.param(asked(DEFAULT), True, "", id="runtime/default"),
        pytest.param(asked(DEFAULT, privileged=True), True, "", id="default and privileged"),
        pytest.param(asked(PREFIXED), True, NOT_FOUND, id="undefined local profile"),
        pytest.param(asked(BARE), True, NOT_FOUND, id="undefined local profile even without prefix"),
        pytest.param(asked(PREFIXED, privileged=True), True, NOT_FOUND, id="undefined local profile and privileged"),
    ],
)
def test_app_armor(context: LinuxContainerSecurityContext, enabled: bool, problem: str) -> None:
    assert security_problem(context, SecurityProfiles(app_armor_enabled=enabled)) == problem


LOST = (
    'failed to create containerd container: cannot load seccomp profile "test-profile": open test-profile: '
    "no such file or directory"
)


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        pytest.param(asked(seccomp=PREFIXED, privileged=True), "", id="privileged"),
        pytest.param(asked(seccomp=UNCONFINED), "", id="unconfined"),
        pytest.param(asked(), "", id="not specified"),
        pytest.param(asked(seccomp=DEFAULT), "", id="runtime/default"),
        pytest.param(asked(seccomp=PREFIXED), LOST, id="local profile"),
        pytest.param(asked(seccomp=BARE), LOST, id="local profile even without prefix"),
    ],
)
def test_seccomp(context: LinuxContainerSecurityContext, problem: str) -> None:
    assert security_problem(context, SecurityProfiles()) == problem


def test_profiles_of_the_node() -> None:
    node = SecurityProfiles(app_armor=("test-*",), seccomp=("test-profile",))
    assert security_problem(asked(BARE, BARE), node) == ""
    other = SecurityProfile("Localhost", "other")
    assert security_problem(asked(other), node).endswith("apparmor profile not found other")
    nameless = SecurityProfile("Localhost", "")
    assert security_problem(asked(nameless), node) == (
        f"{APP_ARMOR}failed to generate apparmor spec opts: nil apparmor profile is not supported"
    )
