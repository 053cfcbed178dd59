"""Pod networks in the scenario language: real CNI plugins, their settings and faults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.sources.source_items import LocalPath
from kubesim.scenario.language.strict import OnUse, Strict, as_list


def _terms(text: str) -> str:
    from kubesim.cni.exec.faults import parse_terms

    try:
        parse_terms(text)
    except ValueError as error:
        raise PydanticCustomError("fault", "{problem}", {"problem": str(error)}) from None
    return text


class CniFaultItem(Strict):
    """A fault of a plugin in the chain, for one verb or all; `do` is a list of terms."""

    plugin: str = Field(default="*", min_length=1)
    verb: Literal["*", "ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"] = "*"
    pod: str = "*"  # a glob
    do: Annotated[str, AfterValidator(_terms)]
    node: str = ""  # empty: all nodes


class NetworkPluginItem(Strict):
    """The network plugin in the kubelets of profiles v1.6 and v1.12; the hairpin mode is in kubeletConfiguration."""

    name: str = "cni"  # or kubenet; empty: docker's own bridge
    dir: LocalPath = ""  # v1.6: the directory of configurations if confDir is not set
    mtu: int = Field(default=0, ge=0)  # 0: the plugin's own choice
    non_masquerade_cidr: str = "10.0.0.0/8"
    configured_at: Duration = 0  # when the configuration of a simulated network is written


class CniItem(Strict):
    """Pod networks of runtime cni: a bundled one, or your own configurations and plugins."""

    network: Literal["bridge", "dual-stack", "ptp"] = "bridge"
    conf_dir: LocalPath = ""
    bin_dirs: Annotated[tuple[LocalPath, ...], BeforeValidator(as_list)] = ()
    faults: Annotated[tuple[OnUse[CniFaultItem], ...], BeforeValidator(as_list)] = ()
    plugin: OnUse[NetworkPluginItem] | None = None  # only for profiles v1.6 and v1.12
    # Settings of containerd's CRI plugin, with its defaults.
    max_conf_num: int = Field(default=1, ge=0)  # files of confDir to load, 0: all
    setup_serially: bool = False  # attach to one network after the other, not to all at once
    use_internal_loopback: bool = False  # bring lo up without a plugin
    netns_mounts_under_state_dir: bool = False  # mount namespaces in containerd's directory, not in /var/run/netns
