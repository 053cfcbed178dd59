"""`kubesim clock`: reads and moves the clock of a running `kubesim up` or `kubesim node`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError

HELP = "advance, pause or read the clock of a running kubesim up or kubesim node"
DESCRIPTION = """Control the clock of a kubesim up or kubesim node that was started with --control. `advance` lets
everything happen that happens in this duration, as fast as possible, and returns when it has happened."""
ACTIONS = ("now", "advance", "pause", "resume", "speed")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, metavar="now|advance|pause|resume|speed", help="what to do")
    parser.add_argument(
        "value", nargs="?", metavar="VALUE", help="of advance: a duration such as 5m; of speed: a number"
    )
    parser.add_argument("--control", metavar="PATH", help="the socket of the cluster (environment: KUBESIM_CONTROL)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text or json; default: text")


def execute(args: argparse.Namespace) -> int:
    path = args.control or os.environ.get("KUBESIM_CONTROL", "")
    if not path:
        raise UsageError("give --control PATH, the same as that of kubesim up or kubesim node")
    from kubesim.up.control.client import control_clock

    state = control_clock(path, args.action, **_arguments(args))
    if args.output == "json":
        import json

        say(json.dumps(state))
    else:
        say(f"{state['now']} {'paused' if state['paused'] else _pace(state['speed'])}")
    return 0


def _arguments(args: argparse.Namespace) -> dict[str, Any]:
    action, value = args.action, args.value
    if action not in ("advance", "speed"):
        if value is not None:
            raise UsageError(f"kubesim clock {action} takes no value, but got {value!r}")
        return {}
    if value is None:
        example = "5m" if action == "advance" else "20"
        raise UsageError(f"kubesim clock {action} needs a value, such as: kubesim clock {action} {example}")
    if action == "advance":
        return {"duration": value}
    try:
        return {"speed": options.positive_number(value)}
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"speed: {error}") from None


def _pace(speed: float) -> str:
    return f"running, {speed:g} s for each real second"
