"""`kubesim cri serve`: the simulated runtime as a CRI server, which a kubelet, crictl or critest can drive."""

from __future__ import annotations

import argparse

from kubesim.errors import UsageError

HELP = "serve the simulated runtime over CRI"
DESCRIPTION = """Serve the simulated runtime at a Unix socket, for a kubelet, crictl or critest."""
DEFAULT_LISTEN = "unix:///tmp/kubesim-cri.sock"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", default=DEFAULT_LISTEN, metavar="unix:///PATH", help="the socket to listen on")


def execute(args: argparse.Namespace) -> int:
    raise UsageError(f"--listen {args.listen}: the server is not part of this version")
