from __future__ import annotations

import pytest

from kubesim.linux.private_node.obstacles import APPARMOR, CLONE, MOST, no_private_node

USER, PROC = "a user namespace", "the node's own /proc"


@pytest.mark.parametrize(
    ("step", "settings", "words"),
    [
        (USER, {MOST: "0"}, "sysctl user.max_user_namespaces=10000 as root"),
        (USER, {MOST: "9", CLONE: "0"}, "sysctl kernel.unprivileged_userns_clone=1 as root"),
        (USER, {MOST: "9", CLONE: "1", APPARMOR: "1"}, "sysctl kernel.apparmor_restrict_unprivileged_userns=0 as root"),
        (PROC, {MOST: "9"}, "/proc is partly hidden"),
        (USER, {MOST: "9"}, "seccomp profile of a container"),
    ],
)
def test_the_remedy_is_named(step: str, settings: dict[str, str], words: str) -> None:
    text = no_private_node(step, "Operation not permitted", settings)
    assert text.startswith(f"no private node for real pod networks: {step}: Operation not permitted; ")
    assert words in text
    assert text.endswith(", or use --runtime simulated, which has no requirements")
    assert "\n" not in text


def test_an_old_kernel_is_named() -> None:
    text = no_private_node("mounts of a node", "Function not implemented", {MOST: "9"})
    assert "the kernel is too old: kubesim needs Linux 5.12 or later, or use --runtime simulated" in text
