"""Files below /proc that show what a container may do: capabilities, seccomp, users, its first process; and tables of
this machine for containers in its namespaces.

Mirrors: containerd internal/cri/opts/spec_opts.go WithCapabilities; proc(5)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kubesim.runtime.cri.server.translate.profiles import seccomp_profile
from kubesim.runtime.protocol import NamespaceOptions
from kubesim.runtime.types import ContainerUser
from kubesim.shell.servers import program_name

# In the order of their numbers.
CAPABILITIES = """
    CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
    NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
    SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
    MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE
""".split()  # noqa: SIM905
_USUAL = frozenset(
    """
    CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL
    AUDIT_WRITE
    """.split()  # noqa: SIM905
)
_UNCONFINED = 1
_MAX_FILE = 1 << 20
_ALL_USERS = "         0          0 4294967295\n"


def capability_set(context: Any) -> frozenset[str]:
    """The bounding set of a container with this LinuxContainerSecurityContext."""
    if context.privileged:
        return frozenset(CAPABILITIES)
    add, drop = _names(context.capabilities.add_capabilities), _names(context.capabilities.drop_capabilities)
    chosen = frozenset(CAPABILITIES) if "ALL" in add else _USUAL
    if "ALL" in drop:
        chosen = frozenset()
    return (chosen | add & frozenset(CAPABILITIES)) - drop


def _names(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word.upper().removeprefix("CAP_") for word in words)


def _mask(names: Iterable[str]) -> str:
    return f"{sum(1 << CAPABILITIES.index(name) for name in names):016x}"


def seccomp_mode(context: Any) -> int:
    """2 with a filter. A missing profile is unconfined."""
    profile = seccomp_profile(context)
    return 2 if profile is not None and profile.profile_type != _UNCONFINED else 0


def process_status(context: Any, user: ContainerUser) -> str:
    """/proc/self/status, as far as it depends on the container."""
    bounding = _mask(capability_set(context))
    effective = bounding if not user.uid else _mask(())
    groups = "".join(f"{group} " for group in sorted({user.gid, *user.supplemental_groups}))
    lines = {
        "Name": "cat",
        "State": "R (running)",
        "Uid": "\t".join([str(user.uid)] * 4),
        "Gid": "\t".join([str(user.gid)] * 4),
        "Groups": groups,
        "CapInh": _mask(()),
        "CapPrm": effective,
        "CapEff": effective,
        "CapBnd": bounding,
        "CapAmb": _mask(()),
        "NoNewPrivs": str(int(context.no_new_privs)),
        "Seccomp": str(seccomp_mode(context)),
        "Seccomp_filters": str(int(seccomp_mode(context) > 0)),
    }
    return "".join(f"{name}:\t{value}\n" for name, value in lines.items())


def id_map(namespaces: NamespaceOptions, host: str = _ALL_USERS) -> str:
    """/proc/self/uid_map; without a user namespace that of the host."""
    users = namespaces.users
    if users is None or users.mode != "POD":
        return host
    return "".join(f"{each.container_id:10d} {each.host_id:10d} {each.length:10d}\n" for each in users.uids)


def host_tables(namespaces: NamespaceOptions) -> tuple[str, ...]:
    """The files of this machine's kernel that a container in its namespaces sees."""
    ports = ("/proc/net/tcp", "/proc/net/tcp6") if namespaces.network == "NODE" else ()
    return (*ports, "/proc/sysvipc/shm") if namespaces.ipc == "NODE" else ports


def read_kernel_file(path: str) -> str:
    """Empty if this machine has none."""
    try:
        with open(path) as file:
            return file.read(_MAX_FILE)
    except OSError:
        return ""


def first_command_line(words: Sequence[str], namespaces: NamespaceOptions) -> str:
    """/proc/1/cmdline: the container's own first process, or that of the namespace that it joins."""
    if namespaces.pid != "CONTAINER":
        return "/sbin/init\0" if namespaces.pid == "NODE" else "/pause\0"
    if words and program_name(words[0]) == "nginx":  # it changes its title
        return f"nginx: master process {' '.join(words)}"
    return "".join(f"{word}\0" for word in words)
