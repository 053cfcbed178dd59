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
from kubesim.runtime.cleaner import HostCleaner
from kubesim.runtime.cni_nodes import BIN_DIRS
from kubesim.runtime.home import host_home, lock_state
from kubesim.runtime.leaks import Leak


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
        print(leak)
    return 1 if left else 0


def _looked_for(args: argparse.Namespace, state: str) -> list[Leak]:
    underlay = Underlay("host")
    try:
        node, home = underlay.host_node(), host_home(state)
        libcni = CNIConfig(args.bin_dir or BIN_DIRS, RealExec(spawn=node.spawn), home.cache)
        cleaner = HostCleaner(node, home, libcni)
        return asyncio.run(cleaner.clean()) if args.clean else cleaner.found()
    finally:
        underlay.close()
