"""Flags of `kubesim attach` that record a node or replay a recording, and the flags they exclude."""

from __future__ import annotations

import argparse

from kubesim.cli.flags import options
from kubesim.errors import UsageError

# Flags that need a cluster, which a recording replaces.
_OF_A_CLUSTER = (
    "node", "record", "kubeconfig", "context", "once", "duration", "serve", "references", "runtime", "request_timeout",
    "log", "agent", "configz",
)  # fmt: skip
_SPELLED = {"duration": "for"}


def add(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("recordings")
    group.add_argument(
        "--record",
        metavar="FILE",
        help="record the watched objects in FILE, without secrets; compressed if FILE ends in .gz",
    )
    group.add_argument("--replay", metavar="FILE", help="follow a recording, in virtual time, instead of a cluster")
    group.add_argument(
        "--from",
        dest="late_by",
        type=options.duration,
        metavar="DURATION",
        help="start the replay at this time of the recording",
    )
    group.add_argument(
        "--every",
        type=options.duration,
        metavar="DURATION",
        help="replay again from every multiple of this time, for 2 minutes each",
    )


def check(args: argparse.Namespace, output: str) -> None:
    """Reject flags that have no effect together."""
    if args.replay is None:
        for name, flag in (("late_by", "--from"), ("every", "--every")):
            if getattr(args, name) is not None:
                raise UsageError(f"{flag} needs --replay FILE")
        return
    for name in _OF_A_CLUSTER:
        if getattr(args, name, None):
            flag = _SPELLED.get(name, name).replace("_", "-")
            raise UsageError(f"--{flag} needs a cluster: remove it, or remove --replay")
    if output == "json":
        raise UsageError("-o json needs --once; with --replay use -o jsonl")
