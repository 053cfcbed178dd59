"""`kubesim cri leaks`: finds and removes the remains of killed runs with real containers."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from kubesim.cli.output.terminal import say, warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.runtime.cri.client.leaks.leftovers import LeftRun

HELP = "list the remains of killed runs with --runtime cri"
DESCRIPTION = """List the remains of killed runs with --runtime cri: sandboxes with their containers in
the runtime, and state directories with volumes and logs. Active runs, and resources of other programs, are not
listed. The exit code is 1 if something is left."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clean", action="store_true", help="remove it; report what could not be removed, and why")
    parser.add_argument("--kept", action="store_true", help="with --clean: also what runs with --keep left on purpose")
    parser.add_argument(
        "--cri-endpoint",
        metavar="unix://PATH",
        help="the socket of the container runtime (environment: KUBESIM_CRI_ENDPOINT; "
        "unix:///run/containerd/containerd.sock)",
    )


def execute(args: argparse.Namespace) -> int:
    from kubesim.clock import run_virtual
    from kubesim.runtime.cri.wire.endpoint import require_grpc

    if args.kept and not args.clean:
        raise UsageError("--kept needs --clean: without it, everything is listed")
    require_grpc("kubesim cri leaks")
    runs, problems = run_virtual(_examined, args)
    for run in runs:
        for line in run.lines():
            say(line)
    for problem in problems:
        warn(f"still there: {problem}")
    if not runs and not problems:
        say("nothing is left behind")
    return 1 if problems or any(not run.kept for run in runs) else 0


async def _examined(args: argparse.Namespace) -> tuple[list[LeftRun], list[str]]:
    """The remaining resources, and the reasons."""
    from kubesim.clock import LoopClock
    from kubesim.runtime.cri.client.connection import HeldCalls, identify, why_refused
    from kubesim.runtime.cri.client.leaks.leftovers import left_runs, remove
    from kubesim.runtime.cri.wire.endpoint import socket_path
    from kubesim.runtime.cri.wire.grpc_calls import GrpcCalls
    from kubesim.runtime.cri.wire.methods import CriError
    from kubesim.scenario.language.cri_items import DEFAULT_ENDPOINT
    from kubesim.scenario.runtimes.cri import states_directory

    endpoint = args.cri_endpoint or os.environ.get("KUBESIM_CRI_ENDPOINT") or DEFAULT_ENDPOINT
    connection = GrpcCalls(socket_path(endpoint, "--cri-endpoint"))
    calls, problems = HeldCalls(connection, LoopClock()), []
    try:
        await identify(calls, endpoint)
        runs = await left_runs(calls, states_directory())
        removed = [run for run in runs if args.clean and (args.kept or not run.kept)]
        for run in removed:
            problems += await remove(calls, run)
    except CriError as error:
        raise UsageError(f"--cri-endpoint {endpoint}: {why_refused(error)}") from None
    finally:
        await connection.close()
    return [run for run in runs if run not in removed], problems
