"""Runs a function on a private host: a process with new network and mount namespaces for real plugins. The machine is
unchanged, and everything is gone when the process ends.

    def body(name: str) -> list[str]:
        ...

    def test_it() -> None:
        assert on_host(body, name="x") == ["y"]
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
BIN_DIR = "/usr/lib/cni"
STATE_DIR = "/var/lib/cni"
NETNS_DIR = "/var/run/netns"
OWN_DIRS = ("/run", "/etc/cni", STATE_DIR, NETNS_DIR)  # the host's directory: initially empty, never the machine's


def on_host(body: Callable[..., Any], **given: Any) -> Any:
    """Run the function on a host; returns its result, converted to JSON. It is found by name, so it must be at module
    level.
    """
    name = f"{body.__module__}:{body.__qualname__}"
    command = [sys.executable, "-m", "tests.support.machine.cni_host", name]
    done = subprocess.run(command, input=json.dumps(given), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{name} on a host of its own:\n{done.stdout}{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def links() -> list[str]:
    """The names of the links in the current network namespace."""
    return sorted(entry["ifname"] for entry in json.loads(output("ip", "-j", "link")))


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    from kubesim.linux.namespaces import become_private_host
    from tests.support.machine.mounts import remember_inherited
    from tests.support.processes import interruptible

    interruptible()
    module, _, name = sys.argv[1].partition(":")
    given = json.load(sys.stdin)
    become_private_host(*(path for path in OWN_DIRS if os.path.isdir(path) or path in (STATE_DIR, NETNS_DIR)))
    remember_inherited()
    body = getattr(importlib.import_module(module), name)
    result = asyncio.run(body(**given)) if inspect.iscoroutinefunction(body) else body(**given)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
