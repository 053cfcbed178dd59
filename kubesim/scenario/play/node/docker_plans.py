"""The docker settings of a scenario for profiles v1.6 and v1.12, and checks that they fit the profile."""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.errors import UsageError
from kubesim.features.rules import Rules
from kubesim.runtime.docker.make import DockerPlan
from kubesim.runtime.docker.settings import DockerSettings, NetworkPluginSettings, split_dirs
from kubesim.scenario.language.cni_items import CniItem, NetworkPluginItem
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.nodes.machine_items import DockerItem


def docker_plan(number: int, spec: Spec, pod_cidr: str, rules: Rules) -> DockerPlan:
    """The docker plan of the node with this number."""
    order, item = rules.sandbox_order, spec.cni.plugin or NetworkPluginItem()
    if item.dir and order != "dockertools":
        raise UsageError("cni.plugin.dir (--network-plugin-dir) is for profile v1.6: use --cni-conf-dir")
    docker, values = spec.nodes[number].docker or DockerItem(), spec.kubelet_configuration.values
    network = NetworkPluginSettings(
        item.name,
        spec.cni.conf_dir,
        ",".join(spec.cni.bin_dirs),
        values["hairpinMode"],
        item.non_masquerade_cidr,
        item.mtu,
        pod_cidr,
        item.configured_at,
    )
    errors: dict[str, tuple[str, ...]] = dict(docker.errors.items())
    daemon = DockerSettings(docker.cgroup_driver, docker.api_version, docker.log_driver, errors, docker.nsenter)
    return DockerPlan(order, network, daemon, values["cgroupDriver"], rules.network_status_s * SECOND)


def refuse_docker(number: int, spec: Spec) -> None:
    """Reject docker settings for profiles whose runtime calls CNI: their kubelet has no network plugin, and docker is
    not used."""
    if spec.cni.plugin is not None:
        given = f"cni.plugin {spec.cni.plugin.name} (--network-plugin)"
    elif spec.nodes[number].docker is not None:
        given = f"docker of node {spec.nodes[number].name}"
    else:
        return
    raise UsageError(f"{given} is for profiles v1.6 and v1.12, not {spec.profile}: leave it out, or change the profile")


def docker_cni_settings(cni: CniItem, order: str, state: str) -> CniItem:
    """The CNI directories, from flags in their meaning of that version. Raises UsageError for settings that a private
    node cannot honour."""
    if state:
        raise UsageError("--host-network-node is not for profiles v1.6 and v1.12: they run in a private node only")
    item = cni.plugin or NetworkPluginItem()
    if item.name in ("", "kubenet"):
        lacking = "docker's own bridge" if not item.name else "kubenet's ebtables, traffic shaping and host ports"
        named = f"--network-plugin {item.name}" if item.name else 'an empty --network-plugin ("")'
        raise UsageError(f"{named} needs {lacking}, which runtime cni does not have: use --runtime simulated")
    dirs = cni.bin_dirs
    if order == "dockershim":
        dirs = tuple(path for given in dirs for path in split_dirs(given) if path)
    return cni.model_copy(update={"bin_dirs": dirs, "conf_dir": cni.conf_dir or item.dir})
