"""Attempts of a hostile plugin to escape from its private node. A successful one prints ESCAPED.

`HOST` is a host directory writable by the caller; `PID` is a process outside; `PORT` and `NAME` are listeners outside.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from kubesim.cni.exec.process import RealExec
from kubesim.errors import PluginError
from kubesim.linux.private_node.holder_client import PrivateNode, Underlay

_PYTHON = "#!PYTHON -I\nimport ctypes, os, socket, struct\nlibc = ctypes.CDLL(None, use_errno=True)\n"

SHELL: Mapping[str, str] = {
    "remount the root": "mount -o remount,bind,rw / && touch $HOST/x && echo ESCAPED",
    "remount the file system": "mount -o remount,rw / && touch $HOST/x && echo ESCAPED",
    "unmount /proc/sys": "umount /proc/sys && echo ESCAPED",
    "bind /proc elsewhere": "mount --bind /proc /mnt && echo ESCAPED",
    "mount a new /proc": "mount -t proc proc /run && echo ESCAPED",
    "mount the control groups": "mount -t cgroup2 none /run && echo ESCAPED",
    "mount them from a namespace of one's own": "unshare -C mount -t cgroup2 none /run && echo ESCAPED",
    "mount in a third user namespace": "unshare -Urm mount -o remount,bind,rw / && echo ESCAPED",
    "write a host file": "echo x > $HOST/x && echo ESCAPED",
    "write to /proc/sys": "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic && echo ESCAPED",
    "write to a limit of the machine": "cat /proc/sys/fs/file-max > /proc/sys/fs/file-max && echo ESCAPED",
    "rename the host": "hostname escaped && echo ESCAPED",
    "use SysRq": "[ -e /proc/sysrq-trigger ] && echo h > /proc/sysrq-trigger && echo ESCAPED",
    "write to /sys": "for file in /sys/kernel/mm/transparent_hugepage/*; do : >> $file && echo ESCAPED; done",
    "make a disk": "mknod /run/disk b 8 0 && echo ESCAPED",
    "make a null device": "mknod /run/null c 1 3 && echo ESCAPED",
    "find a disk": "for each in /dev/*; do [ -b $each ] && echo ESCAPED; done",
    "read the kernel's memory": "head -c 1 /dev/mem && echo ESCAPED",
    "read the holder's environment": "cat /proc/1/environ && echo ESCAPED",
    "use the holder's root": "ls /proc/1/root/ && echo ESCAPED",
    "kill a process outside": "kill -9 $PID && echo ESCAPED",
    "become more by exec": "grep -q 'NoNewPrivs:.*0' /proc/self/status && echo ESCAPED",
}

PYTHON: Mapping[str, str] = {
    "clear the flag with mount_setattr": """
attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
if libc.syscall(442, -100, b"/", 0x8000, ctypes.byref(attributes), 32) == 0: print("ESCAPED")
""",
    "clone the tree with open_tree": """
if libc.syscall(428, -100, b"/", 1) >= 0: print("ESCAPED")
""",
    "make a file system with fsopen": """
if libc.syscall(430, b"proc", 0) >= 0: print("ESCAPED")
""",
    "trace the holder": """
if libc.ptrace(16, 1, 0, 0) == 0: print("ESCAPED")
""",
    "write to the holder's memory": """
open("/proc/1/mem", "r+b"); print("ESCAPED")
""",
    "reach a port of the host": """
socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2); print("ESCAPED")
""",
    "reach an abstract socket of the host": """
socket.socket(socket.AF_UNIX).connect("\\0" + os.environ["NAME"]); print("ESCAPED")
""",
    "inherit a descriptor": """
if len(os.listdir("/proc/self/fd")) > 4: print("ESCAPED")
""",
}

ATTEMPTS = (*SHELL, *PYTHON)


def succeeds(node: PrivateNode, name: str, folder: Path, given: Mapping[str, str]) -> bool:
    """Whether the attempt succeeded."""
    program = folder / "attempt"
    interpreter = os.path.realpath(sys.executable)
    head = "#!/bin/sh\nexec 2>&1\n" if name in SHELL else _PYTHON.replace("PYTHON", interpreter)
    program.write_text(head + (f"{SHELL[name]}\ntrue\n" if name in SHELL else PYTHON[name]))
    program.chmod(0o755)
    environ = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **given}
    try:
        printed = asyncio.run(RealExec(spawn=node.spawn).exec_plugin(str(program), b"", environ)).decode()
    except PluginError:  # Python ended with an exception
        return False
    return "ESCAPED" in printed.splitlines()


def main() -> None:
    """The program: runs all attempts in one node, and prints those that succeeded."""
    given = dict(word.split("=", 1) for word in sys.argv[2:])
    underlay = Underlay()
    node = underlay.new_node()
    for name in ATTEMPTS:
        if succeeds(node, name, Path(sys.argv[1]), given):
            print(name)
    node.close()
    underlay.close()


if __name__ == "__main__":
    main()
