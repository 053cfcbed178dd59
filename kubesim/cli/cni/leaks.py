"""`kubesim cni leaks`: finds and removes what a killed run left behind on the host's network."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from contextlib import closing
from dataclasses import asdict

from kubesim.cli.flags.runtime_flags import node_state
from kubesim.cli.output.terminal import say
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.linux.private_node.holder_client import Underlay
from kubesim.runtime.containerd.cni_nodes import BIN_DIRS, host_underlay
from kubesim.runtime.containerd.home import host_home, lock_state
from kubesim.runtime.containerd.leaks.cleaner import HostCleaner
from kubesim.runtime.containerd.leaks.leftovers import Leak
from kubesim.runtime.containerd.leaks.orphans import orphaned_plugins


def leaks(args: argparse.Namespace) -> int:
    """The exit code: 0 if there are no leaks, or no longer."""
    state = node_state(args.state)
    left: list[Leak] = []
    if os.path.isdir(state):
        left = _cleaned(args, state) if args.clean else _found(args, state)
    if args.output == "json":
        print(json.dumps({"state": state, "leaks": [asdict(leak) for leak in left]}, indent=2))
    elif not left:
        print(f"nothing is left behind ({state})")
    for leak in left if args.output != "json" else ():
        say(str(leak))
    return 1 if left else 0


def _found(args: argparse.Namespace, state: str) -> list[Leak]:
    with lock_state(state), closing(Underlay("host")) as underlay:
        return [*orphaned_plugins(state), *_cleaner(args, state, underlay).found()]


def _cleaned(args: argparse.Namespace, state: str) -> list[Leak]:
    with host_underlay(state) as underlay:
        return asyncio.run(_cleaner(args, state, underlay).clean())


def _cleaner(args: argparse.Namespace, state: str, underlay: Underlay) -> HostCleaner:
    node, home = underlay.host_node(), host_home(state)
    return HostCleaner(node, home, CNIConfig(args.bin_dir or BIN_DIRS, RealExec(spawn=node.spawn), home.cache))
