"""Flags that configure the kubelet of a run: `--config`, and the kubelet's own flags.

All kubelet flags for configuration fields are accepted, so a real command line works unchanged. `--help` lists those
that have an effect.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kubesim.cli.flags import options, runtime_flags
from kubesim.kubeletconfig.flags import flag_fields
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.scenario.load.overlay import Overlay

_PLACEHOLDERS = {"Duration": "DURATION", "int32": "N", "int64": "N", "uint32": "N"}
_BOOLEANS = frozenset(f"--{field.flag}" for _, field in flag_fields() if field.type == "bool")


def add_configuration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a KubeletConfiguration (v1beta1) file; the scenario overrides it (environment: KUBESIM_CONFIG)",
    )
    parser.usage = "kubesim run [options] FILE [FILE ...] | -f PATH [-f PATH ...]"
    add_own(parser)


def add_own(parser: argparse.ArgumentParser) -> None:
    """Add the kubelet's own flags."""
    group = parser.add_argument_group(
        "the kubelet's own flags",
        "They override the scenario and the --config file. Other flags of the kubelet are accepted and have no effect.",
    )
    for name, field in flag_fields():
        group.add_argument(
            f"--{field.flag}",
            action="append",
            dest=_destination(field.flag),
            metavar=_PLACEHOLDERS.get(field.type, "VALUE"),
            help=f"{name}{' (=true, =false)' if field.type == 'bool' else ''}" if field.played else argparse.SUPPRESS,
        )


def expand_switches(arguments: Sequence[str]) -> list[str]:
    """Rewrite switches as the kubelet parses them: `--flag` means `--flag=true`, and the next argument is separate."""
    return [f"{argument}=true" if argument in _BOOLEANS else argument for argument in arguments]


def own_flags(args: argparse.Namespace) -> dict[str, list[str]]:
    """The given ones of the kubelet's own flags."""
    return {field.flag: given for _, field in flag_fields() if (given := getattr(args, _destination(field.flag)))}


def overlay(args: argparse.Namespace, gates: Mapping[str, bool] | None) -> Overlay:
    """The Overlay of the kubelet flags, and the host paths that a scenario may use."""
    from kubesim.scenario.load.overlay import make_overlay

    base = make_overlay(options.chosen(args.config, "KUBESIM_CONFIG", str), own_flags(args), gates)
    return replace(base, allow_host=args.allow_host, from_flags=allowed_fields(args), profile=options.profile(args))


def allowed_fields(args: argparse.Namespace) -> frozenset[tuple[str, ...]]:
    """The fields of a scenario that reach this machine, and that the user has given as flags."""
    from kubesim.scenario.load.host_access import CNI, CRI, PLUGIN_DIR, RUNTIME

    runtime, networks, cri = runtime_flags.chosen(args)
    given: frozenset[tuple[str, ...]] = frozenset(CNI[name] for name in networks if name in CNI)
    if "dir" in networks.get("plugin", ()):
        given |= {PLUGIN_DIR}
    return given | {CRI[name] for name in cri if name in CRI} | ({RUNTIME} if runtime else set())


def _destination(flag: str) -> str:
    return f"kubelet_{flag.replace('-', '_')}"
