"""Flags of commands that explain a real kubelet: the source of its configured periods."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubesim.attach.explain.periods import KubeletPeriods
    from kubesim.cluster.remote.transport import Transport


def add(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group()
    what = "the node's KubeletConfiguration: its crash back-off and sync periods replace the defaults"
    group.add_argument("--config", metavar="FILE", help=what)
    asks = "get the configuration of the node's kubelet through the API server (needs get on nodes/proxy)"
    group.add_argument("--configz", action="store_true", help=asks)


def from_file(args: argparse.Namespace) -> KubeletPeriods:
    """The periods in `--config FILE`, or the kubelet's defaults."""
    from kubesim.attach.explain.periods import DEFAULT_PERIODS
    from kubesim.attach.reading.node_configuration import periods_from_file

    return DEFAULT_PERIODS if args.config is None else periods_from_file(args.config)


async def of_node(args: argparse.Namespace, transport: Transport, node: str) -> KubeletPeriods:
    """With `--configz` the periods that the node's kubelet reports, else those of `--config`."""
    from kubesim.attach.reading.node_configuration import periods_from_node

    return await periods_from_node(transport, node) if args.configz and node else from_file(args)
