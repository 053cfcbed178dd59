"""`kubesim cri inject`: faults for a runtime that `kubesim cri serve` serves, while it runs."""

from __future__ import annotations

import argparse

from kubesim.cli.cri.serve import DEFAULT_LISTEN
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError

HELP = "make calls of a served runtime fail, while it runs"
DESCRIPTION = """Add faults to a runtime that kubesim cri serve serves. They are written in YAML, as in spec.faults of a
scenario: '{operation: CreateContainer, error: boom, times: 2}'."""
_TIMEOUT_S = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("fault", metavar="FAULT", nargs="?", help="a fault, or a list of faults, in YAML")
    parser.add_argument("-f", "--filename", metavar="FILE", help="read the faults from a file")
    parser.add_argument("--clear", action="store_true", help="remove all faults, also those of the scenario")
    parser.add_argument(
        "--list", dest="listing", action="store_true", help="list the faults, and how often they happened"
    )
    parser.add_argument(
        "--endpoint",
        default=DEFAULT_LISTEN,
        metavar="unix:///PATH",
        help=f"the socket of kubesim cri serve (default: {DEFAULT_LISTEN})",
    )


def execute(args: argparse.Namespace) -> int:
    from kubesim.runtime.cri.wire.endpoint import require_grpc, socket_path

    path = socket_path(args.endpoint, "--endpoint")
    given = [args.fault is not None, args.filename is not None, args.clear, args.listing]
    if sum(given) != 1:
        raise UsageError("give one of FAULT, --filename, --clear and --list (see kubesim cri inject --help)")
    require_grpc("kubesim cri inject")
    import asyncio

    from kubesim.up.cri.fault_service import CLEAR, INJECT, LIST, parse_faults

    text = ""
    if args.fault is not None or args.filename is not None:
        text = args.fault if args.fault is not None else _read(args.filename)
        parse_faults(text, args.filename or "FAULT")
    method = CLEAR if args.clear else LIST if args.listing else INJECT
    say(asyncio.run(_send(path, args.endpoint, method, text)).rstrip("\n") or "no faults")
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--filename {path}: {getattr(error, 'strerror', None) or error}") from None


async def _send(path: str, endpoint: str, method: str, text: str) -> str:
    import grpc.aio

    from kubesim.runtime.cri.wire.endpoint import SCHEME
    from kubesim.runtime.cri.wire.grpc_calls import CHANNEL_OPTIONS
    from kubesim.up.cri.fault_service import method_path

    async with grpc.aio.insecure_channel(SCHEME + path, options=CHANNEL_OPTIONS) as channel:
        try:
            answer: bytes = await channel.unary_unary(method_path(method))(text.encode(), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                raise UsageError(f"--endpoint {endpoint}: is not a runtime of kubesim cri serve") from None
            raise UsageError(f"--endpoint {endpoint}: {error.details()}") from None
    return answer.decode()
