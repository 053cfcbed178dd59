"""`kubesim cri record`: a proxy that records every call between a kubelet and its runtime."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError

HELP = "record the calls of a kubelet to its runtime"
DESCRIPTION = """Listen at a socket, pass every call to the runtime at another one byte for byte, and record it in a
file of JSON lines. Credentials, values of environment variables and the output of commands are not recorded."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", required=True, metavar="unix:///PATH", help="the socket that the kubelet connects to"
    )
    parser.add_argument("--endpoint", required=True, metavar="unix:///PATH", help="the socket of the runtime")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to record; replaced if it exists")
    parser.add_argument(
        "--for", dest="duration", type=options.duration, metavar="DURATION", help="stop after this time"
    )


def execute(args: argparse.Namespace) -> int:
    from kubesim.runtime.cri.wire.endpoint import require_grpc, socket_path

    listen, endpoint = socket_path(args.listen, "--listen"), socket_path(args.endpoint, "--endpoint")
    require_grpc("kubesim cri record")
    if os.path.realpath(listen) == os.path.realpath(endpoint):
        raise UsageError(f"--listen {args.listen}: is the endpoint itself: name another path")
    from kubesim.cli.run import EXIT_INTERRUPTED, terminated_as_interrupted
    from kubesim.up.cri.record import record

    with _private_file(args.output) as file, terminated_as_interrupted():
        try:
            record(listen, endpoint, file, lambda: _ready(args), args.duration)
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED if args.duration else 0
    return 0


def _private_file(path: str) -> TextIO:
    """It names images, commands and pods: only the owner can read it. Raises UsageError."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"--output {path}: {error.strerror}") from None
    return os.fdopen(file, "w", encoding="utf-8")


def _ready(args: argparse.Namespace) -> None:
    say(f"kubesim: recording the calls from {args.listen} to {args.endpoint} in {args.output}", "Ctrl-C stops it.")
    sys.stdout.flush()
