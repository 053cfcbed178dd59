"""The flags that say what the kubelet of a run is like: `--config`, and the kubelet's own.

All of the kubelet's flags for fields of its configuration are taken, so that a real command line can be used as it is;
`--help` shows those that have an effect here.
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


def spell_out(arguments: Sequence[str]) -> list[str]:
    """As for the kubelet: a switch by itself means true, and what follows it is another argument."""
    return [f"{argument}=true" if argument in _BOOLEANS else argument for argument in arguments]


def overlay(args: argparse.Namespace, gates: Mapping[str, bool] | None) -> Overlay:
    """What the command line says about the kubelet, and which of the machine's things a scenario may use."""
    from kubesim.scenario.load.host_access import CNI, CRI, PLUGIN_DIR, RUNTIME
    from kubesim.scenario.load.overlay import make_overlay

    texts = {field.flag: given for _, field in flag_fields() if (given := getattr(args, _destination(field.flag)))}
    base = make_overlay(options.chosen(args.config, "KUBESIM_CONFIG", str), texts, gates)
    runtime, networks, cri = runtime_flags.chosen(args)
    given = frozenset(CNI[name] for name in networks if name in CNI)
    if "dir" in networks.get("plugin", ()):
        given |= {PLUGIN_DIR}
    given |= {CRI[name] for name in cri if name in CRI} | ({RUNTIME} if runtime else set())
    return replace(base, allow_host=args.allow_host, from_flags=given, profile=options.profile(args))


def _destination(flag: str) -> str:
    return f"kubelet_{flag.replace('-', '_')}"
