"""Options that several commands have, and where their values come from: the flag, else the environment.

What neither of them says is None: then the scenario decides, then the configuration, then the default.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TypeVar

from kubesim.errors import UsageError

T = TypeVar("T")


def whole_number(text: str) -> int:
    """A seed: 0, 1, 2 ..."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative: {text!r}")
    return number


def positive_number(text: str) -> float:
    """A speed: virtual seconds for each second on the wall."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be greater than 0: {text!r}")
    return number


def duration(text: str) -> int:
    """Microseconds from a duration as Go writes it: 90s, 1m30s, 250ms, 2h."""
    from kubesim.scenario.durations import parse_duration

    try:
        micros = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if micros <= 0:
        raise argparse.ArgumentTypeError(f"must be longer than 0: {text!r}")
    return micros


def chosen(flag: T | None, variable: str, parse: Callable[[str], T]) -> T | None:
    """The flag if it was given, else the environment variable if it is set."""
    if flag is not None:
        return flag
    text = os.environ.get(variable, "")
    if not text:
        return None
    try:
        return parse(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{variable}: {error}") from None


def add_seed(parser: argparse.ArgumentParser) -> None:
    help = "what all chance is derived from (environment: KUBESIM_SEED)"
    parser.add_argument("--seed", type=whole_number, metavar="N", help=help)


def seed(args: argparse.Namespace) -> int | None:
    return chosen(args.seed, "KUBESIM_SEED", whole_number)
