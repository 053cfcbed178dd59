"""The flannel meta plugin: the configuration of its delegate, and a real network."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kubesim.cni import plugins
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.process import RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.plugins.flannel import delegate_config, parse_subnet_env
from kubesim.cni.spec.results import plain
from kubesim.errors import CniError
from kubesim.linux import netns
from tests.support.machine.cni_host import BIN_DIR, NETNS_DIR, on_host, output

ENV = """FLANNEL_NETWORK=10.244.0.0/16
FLANNEL_SUBNET=10.244.3.1/24
FLANNEL_MTU=1450
FLANNEL_IPMASQ=true
"""
IPV6 = "FLANNEL_IPV6_NETWORK=fd00:244::/48\nFLANNEL_IPV6_SUBNET=fd00:244:0:3::1/64\n"


def made(conf: dict[str, Any] | None = None, env: str = ENV) -> dict[str, Any]:
    given = {"name": "cni0", "cniVersion": "0.3.1", **(conf or {})}
    reported: dict[str, Any] = plain(delegate_config(given, parse_subnet_env(env, "subnet.env")))
    return reported


def test_the_delegate_is_a_bridge_on_the_nodes_subnet() -> None:
    assert made() == {
        "name": "cni0",
        "cniVersion": "0.3.1",
        "type": "bridge",
        "ipMasq": False,
        "isGateway": True,
        "mtu": 1450,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.244.3.0/24"}]],
            "routes": [{"dst": "10.244.0.0/16"}],
        },
    }


def test_the_configuration_takes_precedence() -> None:
    delegate = {"type": "ipvlan", "mtu": 9000, "ipMasq": True}
    reported = made(
        {"delegate": delegate, "ipam": {"type": "static", "routes": [{"dst": "0.0.0.0/0", "gw": "10.0.0.1"}]}}
    )
    assert (reported["type"], reported["mtu"], reported["ipMasq"], "isGateway" in reported) == (
        "ipvlan",
        9000,
        True,
        False,
    )
    assert reported["ipam"]["type"] == "static"
    assert reported["ipam"]["routes"] == [{"dst": "0.0.0.0/0", "gw": "10.0.0.1"}, {"dst": "10.244.0.0/16"}]


def test_dual_stack_and_masquerading() -> None:
    reported = made(env=ENV.replace("IPMASQ=true", "IPMASQ=false") + IPV6)
    assert reported["ipMasq"] is True
    assert reported["ipam"]["ranges"] == [[{"subnet": "10.244.3.0/24"}], [{"subnet": "fd00:244:0:3::/64"}]]


@pytest.mark.parametrize(
    ("env", "reported"),
    [
        (
            "FLANNEL_MTU=1450\nFLANNEL_NETWORK=10.244.0.0/16",
            "subnet.env is missing FLANNEL_SUBNET, FLANNEL_IPV6_SUBNET, FLANNEL_IPMASQ",
        ),
        ("FLANNEL_SUBNET=10.244.3.1", "invalid CIDR address: 10.244.3.1"),
        ("FLANNEL_MTU=big", 'strconv.ParseUint: parsing "big": invalid syntax'),
    ],
)  # fmt: skip
def test_a_bad_subnet_file(env: str, reported: str) -> None:
    with pytest.raises(CniError) as raised:
        parse_subnet_env(env, "subnet.env")
    assert str(raised.value) == reported


@pytest.mark.parametrize("key", ["name", "ipam"])
def test_the_delegate_must_not_set_what_flannel_sets(key: str) -> None:
    with pytest.raises(CniError, match=f"must not have '{key}' field, it'll be set by flannel"):
        made({"delegate": {key: "x"}})


async def the_seeds_network(folder: str) -> dict[str, Any]:
    """The conflist of the original documents: flannel with a delegate, then portmap."""
    plugins.install("flannel", folder)
    network = network_conf_from_bytes(
        json.dumps(
            {
                "name": "cni0",
                "cniVersion": "0.3.1",
                "plugins": [
                    {
                        "type": "flannel",
                        "subnetFile": f"{folder}/subnet.env",
                        "delegate": {"forceAddress": True, "hairpinMode": True, "isDefaultGateway": True},
                    },
                    {"type": "portmap", "capabilities": {"portMappings": True}},
                ],
            }
        ).encode()
    )
    path = os.path.join(NETNS_DIR, "pod")
    netns.new_netns(path)
    runtime = RuntimeConf("container", path, "eth0")
    cni = CNIConfig([folder, BIN_DIR], RealExec())
    result = await cni.add_network_list(network, runtime)
    assert result is not None
    routes = output("nsenter", f"--net={path}", "ip", "route").splitlines()
    saved = os.listdir("/var/lib/cni/flannel")
    for _ in range(2):  # the second time nothing is left to remove
        await cni.del_network_list(network, runtime)
    reserved = [name for name in os.listdir("/var/lib/cni/networks/cni0") if name[0].isdigit()]
    return {
        "ips": result.to_json()["ips"],
        "routes": [route.strip() for route in routes],
        "saved": saved,
        "after": [*os.listdir("/var/lib/cni/flannel"), *reserved],
    }


def test_a_real_flannel_network(tmp_path: Path) -> None:
    (tmp_path / "subnet.env").write_text(ENV)
    reported = on_host(the_seeds_network, folder=str(tmp_path))
    assert reported["ips"] == [{"version": "4", "interface": 2, "address": "10.244.3.2/24", "gateway": "10.244.3.1"}]
    assert "default via 10.244.3.1 dev eth0" in reported["routes"]
    assert "10.244.0.0/16 via 10.244.3.1 dev eth0" in reported["routes"]
    assert reported["saved"] == ["container"]
    assert reported["after"] == []
