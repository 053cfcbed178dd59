"""What is said about real networks before there are any, and what is reported about them.

Imports nothing that only they need: a run without them does not pay for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.cni.exec.faults import PluginFault
    from kubesim.linux.private_node.holder_client import Seen


@value_object
class CniSettings:
    """`conf_dir` has the user's own configurations; without one it is the shipped `network`. With a `state` directory
    the node is the host itself, and what is in there outlives kubesim."""

    network: str = "bridge"
    conf_dir: str = ""
    bin_dirs: tuple[str, ...] = ()
    faults: tuple[tuple[str, PluginFault], ...] = ()  # of a node, of all if that is empty
    state: str = ""
    order: str = "containerd"  # in which sandboxes are created (see `Rules.sandbox_order`)
    max_conf_num: int = 1
    setup_serially: bool = False
    internal_loopback: bool = False
    netns_under_state_dir: bool = False


@value_object
class NodePlan:
    """A node's name, its addresses with their prefix lengths, and its ranges for pods: IPv4, IPv6."""

    name: str
    addresses: tuple[str, ...]
    pod_cidrs: tuple[str, ...]


@value_object
class NetworkPicture:
    """What a node and its pods have of links, addresses and routes (see `Node.look`)."""

    node: str
    own: Seen
    pods: Mapping[str, Seen]  # by namespace/name
