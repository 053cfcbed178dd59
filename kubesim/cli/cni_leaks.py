"""`kubesim cni leaks`: what a run on the host's network left behind, and removing it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from dataclasses import asdict

from kubesim.cli.runtime_flags import node_state
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.process import RealExec
from kubesim.node.client import Underlay
from kubesim.runtime.cni_node import BIN_DIRS, lock_state
from kubesim.runtime.leaks import Cleaner, Leak, Places
from kubesim.runtime.ledger import Ledger
from kubesim.runtime.sandbox_parts import SandboxDirectory


def leaks(args: argparse.Namespace) -> int:
    """0 if there is nothing, or nothing any more."""
    state = node_state(args.state)
    left: list[Leak] = []
    if os.path.isdir(state):
        with lock_state(state):
            left = _looked_for(args, state)
    if args.output == "json":
        print(json.dumps({"state": state, "leaks": [asdict(leak) for leak in left]}, indent=2))
    elif not left:
        print(f"nothing is left behind ({state})")
    for leak in left if args.output != "json" else ():
        pod = f" of pod {leak.pod}" if leak.pod else ""
        problem = f": {leak.problem}" if leak.problem else ""
        print(f"{leak.kind:<12}{leak.what}{pod}{problem}")
    return 1 if left else 0


def _looked_for(args: argparse.Namespace, state: str) -> list[Leak]:
    underlay = Underlay("host")
    try:
        node = underlay.host_node()
        libcni = CNIConfig(args.bin_dir or BIN_DIRS, RealExec(spawn=node.spawn), f"{state}/cni")
        ledger, sandboxes = Ledger(f"{state}/attachments"), SandboxDirectory(f"{state}/sandboxes")
        cleaner = Cleaner(node, Places(ledger, sandboxes, f"{state}/netns", libcni))
        return asyncio.run(cleaner.clean()) if args.clean else cleaner.found()
    finally:
        underlay.close()
