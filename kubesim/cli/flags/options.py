"""Options shared by several commands; each falls back to an environment variable.

An option without a value is None. Then the scenario, the configuration or the default applies.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from kubesim.errors import UsageError
from kubesim.features.table import PROFILES

T = TypeVar("T")

DEFAULT_REQUEST_TIMEOUT_S = 10.0

_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """The argparse type of an enumeration, also used for its environment variable."""

    def check(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(names)}, not {text!r}")
        return text

    return check


def add_stepping(parser: argparse._ActionsContainer, what: str) -> None:
    where = "on the whole screen of a terminal, else with a screen for each line of keys"
    parser.add_argument("--step", action="store_true", help=f"{what}: {where}")
    parser.add_argument("--tui", action="store_true", help="as --step, and refuse to run without a terminal")


def stepping_flag(args: argparse.Namespace) -> str:
    """The stepping flag that is set, or empty."""
    return "--tui" if args.tui else "--step" if args.step else ""


def whole_number(text: str) -> int:
    """The argparse type of a seed: 0, 1, 2, ..."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}") from None
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative: {text!r}")
    return number


def positive_number(text: str) -> float:
    """The argparse type of a speed: virtual seconds per real second."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"must be greater than 0: {text!r}")
    return number


def duration(text: str) -> int:
    """Microseconds of a duration in Go's format: 90s, 1m30s, 250ms, 2h."""
    from kubesim.golang.durations import parse_duration

    try:
        micros = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if micros <= 0:
        raise argparse.ArgumentTypeError(f"must be longer than 0: {text!r}")
    return micros


def request_timeout(text: str) -> int:
    """Microseconds of a kubectl timeout: whole seconds or a duration in Go's format; 0 means none."""
    from kubesim.golang.durations import MAX_DURATION, parse_duration

    try:
        micros = int(text) * 1_000_000 if text.isascii() and text.isdigit() and len(text) < 10 else parse_duration(text)
    except ValueError:
        micros = MAX_DURATION + 1
    if micros > MAX_DURATION:
        raise argparse.ArgumentTypeError(
            f"must be an integer in seconds, or an integer with a time unit (1s, 2m, 3h), not {text!r}"
        )
    return micros


def add_request_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--request-timeout",
        type=request_timeout,
        metavar="DURATION",
        help="how long to wait for an answer of the API server before giving up (1s, 2m, 3h); 0: forever; default: 10s",
    )


def request_timeout_s(args: argparse.Namespace) -> float | None:
    """The timeout in seconds; None: wait forever."""
    given: int | None = args.request_timeout
    return DEFAULT_REQUEST_TIMEOUT_S if given is None else given / 1_000_000 or None


def gate_settings(text: str) -> dict[str, bool]:
    """Parse `A=true,B=false`, with Go's spellings of booleans."""
    settings = {}
    for pair in text.split(","):
        if not pair.strip():
            continue
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise argparse.ArgumentTypeError(f"missing bool value for {name}")
        if value not in _TRUE and value not in _FALSE:
            raise argparse.ArgumentTypeError(f"invalid value of {name}: {value!r} is not true or false")
        settings[name] = value in _TRUE
    return settings


def chosen(flag: T | None, variable: str, parse: Callable[[str], T]) -> T | None:
    """The flag if given, else the environment variable if set."""
    if flag is not None:
        return flag
    text = os.environ.get(variable, "")
    if not text:
        return None
    try:
        return parse(text)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{variable}: {error}") from None


def add_seed(parser: argparse.ArgumentParser, *, twice: bool = False) -> None:
    help = "the seed of all random choices (environment: KUBESIM_SEED)"
    parser.add_argument("--seed", type=whole_number, metavar="N", **_times(help, twice))


def _times(help: str, twice: bool) -> dict[str, Any]:
    """The argparse action of a flag that may be given twice, once for each side of a comparison."""
    return (
        {"action": "append", "default": [], "help": f"{help}; give it twice, once for each side"}
        if twice
        else {"help": help}
    )


def seed(args: argparse.Namespace) -> int | None:
    return chosen(args.seed, "KUBESIM_SEED", whole_number)


def add_feature_gates(parser: argparse.ArgumentParser, *, twice: bool = False) -> None:
    help = "feature gates of the kubelet; overrides the scenario (environment: KUBESIM_FEATURE_GATES)"
    parser.add_argument("--feature-gates", type=gate_settings, metavar="A=true,B=false", **_times(help, twice))


def feature_gates(args: argparse.Namespace) -> dict[str, bool] | None:
    return chosen(args.feature_gates, "KUBESIM_FEATURE_GATES", gate_settings)


def add_profile(parser: argparse.ArgumentParser, *, twice: bool = False) -> None:
    help = f"the kubelet's version: {', '.join(PROFILES)}; overrides the scenario (environment: KUBESIM_PROFILE)"
    parser.add_argument("--profile", type=one_of(PROFILES), metavar="VERSION", **_times(help, twice))


def profile(args: argparse.Namespace) -> str | None:
    return chosen(args.profile, "KUBESIM_PROFILE", one_of(PROFILES))


def add_references(parser: argparse.ArgumentParser) -> None:
    help = "also check whether the ConfigMaps and Secrets that pods wait for exist; requests only their metadata"
    parser.add_argument("--references", action="store_true", help=help)
