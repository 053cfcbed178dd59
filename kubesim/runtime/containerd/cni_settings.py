"""Settings of real networks, and their reported state.

It has only light imports, so that runs without real networks do not pay for them.
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
    """Settings. `conf_dir` contains the user's configurations; without it the bundled `network` is used. With a `state`
    directory the node is the host itself, and the state outlives kubesim.
    """

    network: str = "bridge"
    conf_dir: str = ""
    bin_dirs: tuple[str, ...] = ()
    faults: tuple[tuple[str, PluginFault], ...] = ()  # node name (empty: all nodes) and fault
    state: str = ""
    order: str = "containerd"  # order of sandbox creation (see `Rules.sandbox_order`)
    max_conf_num: int = 1
    setup_serially: bool = False
    internal_loopback: bool = False
    netns_under_state_dir: bool = False


@value_object
class NodePlan:
    """A node's name, its addresses with prefix lengths, and its pod ranges: IPv4, IPv6."""

    name: str
    addresses: tuple[str, ...]
    pod_cidrs: tuple[str, ...]


@value_object
class NetworkPicture:
    """Links, addresses and routes of a node and its pods (see `PrivateNode.network`)."""

    node: str
    own: Seen
    pods: Mapping[str, Seen]  # by namespace/name
