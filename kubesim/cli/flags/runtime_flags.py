"""Flags that select the container runtime, its CNI plugins and their configurations."""

from __future__ import annotations

import argparse
import os
from typing import Any, Final

from kubesim.cli.flags import options
from kubesim.errors import UsageError
from kubesim.linux.networks import NETWORKS

BUNDLED: Final = ("simulated", "cni", "cri")


def add(parser: argparse.ArgumentParser) -> None:
    group = add_private(parser)
    group.add_argument(
        "--host-network-node",
        action="store_true",
        help="with --runtime cni, as root: the node is this machine itself, not a private one",
    )
    group.add_argument(
        "--state",
        metavar="DIR",
        help="with --host-network-node: where state is kept that must survive a crash (default: XDG state directory)",
    )


def add_private(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the flags that do not make the host itself a node."""
    group = parser.add_argument_group("the container runtime", "These flags override the scenario.")
    group.add_argument(
        "--runtime",
        type=_runtime,
        metavar="|".join(BUNDLED),
        help="cni: every pod has a real network, set up by CNI plugins in a private node; needs no root. cri: real "
        "containers of a real runtime, in real time; needs root. Other packages can provide more runtimes "
        "(environment: KUBESIM_RUNTIME)",
    )
    _add_cri(group)
    group.add_argument(
        "--cni-network", choices=NETWORKS, help="one of the bundled networks: bridge, dual-stack, ptp (default: bridge)"
    )
    group.add_argument(
        "--cni-conf-dir",
        metavar="DIR",
        help="a directory with your own network configurations (environment: KUBESIM_CNI_CONF_DIR)",
    )
    group.add_argument(
        "--cni-bin-dir",
        action="append",
        metavar="DIR",
        help="plugins; may be given several times (environment: KUBESIM_CNI_BIN_DIR, colon-separated; /usr/lib/cni, "
        "/opt/cni/bin); in profile v1.12 separated by commas, as in that kubelet",
    )
    _add_network_plugin(parser)
    return group


def _add_cri(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cri-endpoint",
        metavar="unix://PATH",
        help="with --runtime cri: the socket of the container runtime (environment: KUBESIM_CRI_ENDPOINT; "
        "unix:///run/containerd/containerd.sock)",
    )
    group.add_argument(
        "--cri-state",
        metavar="DIR",
        help="with --runtime cri: where volumes and logs are; a later run with the same directory finds its containers "
        "(default: a new directory in the XDG state directory)",
    )
    group.add_argument(
        "--keep",
        action="store_true",
        help="with --runtime cri: leave containers, volumes and logs at the end of the run",
    )


def _runtime(name: str) -> str:
    from kubesim.scenario.runtimes.finding import unknown_runtime

    if name not in BUNDLED and (problem := unknown_runtime(name)):
        raise argparse.ArgumentTypeError(problem)
    return name


def _add_network_plugin(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "the network plugin", "Flags of the kubelets of profiles v1.6 and v1.12, which called CNI themselves."
    )
    group.add_argument("--network-plugin", metavar="NAME", help="cni (the default here), kubenet, or '' for none")
    group.add_argument(
        "--network-plugin-dir",
        metavar="DIR",
        help="v1.6: the directory of the configurations, unless --cni-conf-dir is given",
    )
    group.add_argument(
        "--network-plugin-mtu", type=int, metavar="N", help="the MTU; 0: chosen by the plugin (default: 0)"
    )
    group.add_argument(
        "--non-masquerade-cidr", metavar="CIDR", help="traffic to addresses outside is masqueraded (10.0.0.0/8)"
    )


def host_state(args: argparse.Namespace) -> str:
    """The state directory of a node that is the host itself; empty for a private node."""
    if not args.host_network_node:
        if args.state:
            raise UsageError("--state needs --host-network-node: a private node leaves nothing behind")
        return ""
    return node_state(args.state)


def node_state(given: str | None) -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.abspath(given or os.path.join(base, "kubesim", "node"))


def chosen(args: argparse.Namespace) -> tuple[str | None, dict[str, Any], dict[str, Any]]:
    """The selected runtime (None if no flag is given), and the settings of pod networks and of a real runtime."""
    given = {
        "network": args.cni_network,
        "conf_dir": args.cni_conf_dir or os.environ.get("KUBESIM_CNI_CONF_DIR"),
        "bin_dirs": tuple(args.cni_bin_dir or filter(None, os.environ.get("KUBESIM_CNI_BIN_DIR", "").split(":"))),
    }
    plugin = {
        "name": args.network_plugin,
        "dir": args.network_plugin_dir,
        "mtu": args.network_plugin_mtu,
        "non_masquerade_cidr": args.non_masquerade_cidr,
    }
    given["plugin"] = {name: value for name, value in plugin.items() if value is not None}
    runtime = options.chosen(args.runtime, "KUBESIM_RUNTIME", _runtime)
    cri = {
        "endpoint": args.cri_endpoint or os.environ.get("KUBESIM_CRI_ENDPOINT"),
        "state": args.cri_state and os.path.abspath(args.cri_state),
        "keep": args.keep,
    }
    return runtime, _given(given), _given(cri)


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value}
