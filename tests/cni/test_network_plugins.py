"""How kubelets v1.12 and v1.6 selected and called network plugins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubesim.cni.conf.dockershim import pick_for
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.network_plugins import CniNetworkPlugin, Profile
from kubesim.cni.plugin_manager import InitArguments, NoopNetworkPlugin, PluginManager, init_network_plugin
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError


class Calls:
    """An Exec that records what is executed."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[dict[str, Any]] = []
        self.fails = fails

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return f"{paths[0]}/{plugin}"

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        reported = {key: value for key, value in environ.items() if key.startswith("CNI_")}
        self.calls.append({"path": path, "stdin": json.loads(stdin), "raw": stdin, **reported})
        if self.fails and self.fails in path:
            raise plugin_failure("exit status 1", b"", b"no such file or directory")
        return b"{}"


class Host:
    def __init__(self, netns: str = "/proc/1/ns/net", has_nsenter: bool = True) -> None:
        self.netns = netns
        self.has_nsenter = has_nsenter

    def get_netns(self, sandbox_id: str) -> str:
        if not self.netns:
            raise CniError("no such container")
        return self.netns

    def get_pod_port_mappings(self, sandbox_id: str) -> Sequence[PortMapping]:
        return [PortMapping(1, 53, 5353, "1.2.3.4"), PortMapping(0, 80, 0)]

    def look_path(self, program: str) -> str:
        if not self.has_nsenter:
            raise CniError(f'exec: "{program}": executable file not found in $PATH')
        return f"/usr/bin/{program}"

    def pod_ip(self, netns: str, interface: str) -> str:
        return f"10.1.0.7 of {interface} in {netns}"


LIST = {"cniVersion": "0.3.1", "name": "net", "plugins": [
    {"type": "bridge"}, {"type": "meta", "capabilities": {"portMappings": True, "bandwidth": True, "ipRanges": True}},
]}  # fmt: skip


def plugin(folder: Path, calls: Calls, profile: Profile = "v1.12", host: Host | None = None) -> CniNetworkPlugin:
    return CniNetworkPlugin(profile, str(folder), ["/bin"], calls, host or Host(), "10.1.0.0/24")


def set_up(plugin: CniNetworkPlugin, annotations: dict[str, str] | None = None) -> None:
    asyncio.run(plugin.set_up_pod("ns", "pod", "id", annotations or {}))


def tear_down(plugin: CniNetworkPlugin) -> None:
    asyncio.run(plugin.tear_down_pod("ns", "pod", "id"))


def test_v1_12_skips_invalid_files_and_takes_the_first_valid_one(tmp_path: Path) -> None:
    (tmp_path / "05.conf").write_text('{"name": "no type"}')
    (tmp_path / "06.conflist").write_text('{"name": "no plugins"}')
    (tmp_path / "07.json").write_text("{")
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    (tmp_path / "99.conf").write_text("{")
    pick = pick_for("v1.12", str(tmp_path))
    assert pick.network is not None
    assert (pick.network.name, pick.path) == ("net", str(tmp_path / "10.conflist"))
    assert [why.replace(str(tmp_path), "D") for _, why in pick.skipped] == [
        "Error loading CNI config file D/05.conf: no 'type'; perhaps this is a .conflist?",
        "Error loading CNI config list file D/06.conflist: error parsing configuration list: no 'plugins' key",
        "Error loading CNI config file D/07.json: error parsing configuration: unexpected end of JSON input",
    ]


def test_v1_6_reads_only_single_plugins_and_requires_only_json(tmp_path: Path) -> None:
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    assert pick_for("v1.6", str(tmp_path)).error == f"No networks found in {tmp_path}"
    (tmp_path / "20.conf").write_text("[]")
    assert pick_for("v1.6", str(tmp_path)).error == f"No valid networks found in {tmp_path}"
    (tmp_path / "30.conf").write_text('{"name": "no type"}')
    pick = pick_for("v1.6", str(tmp_path))
    assert pick.network is not None
    assert pick.network.name == "no type"


def test_v1_12_set_up(tmp_path: Path) -> None:
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    calls = Calls()
    annotations = {"kubernetes.io/ingress-bandwidth": "1M", "kubernetes.io/egress-bandwidth": "2500"}
    set_up(plugin(tmp_path, calls), annotations)
    assert [(call["CNI_COMMAND"], call["path"], call["CNI_IFNAME"]) for call in calls.calls] == [
        ("ADD", "/bin/loopback", "eth0"),  # not lo
        ("ADD", "/bin/bridge", "eth0"),
        ("ADD", "/bin/meta", "eth0"),
    ]
    assert calls.calls[0]["stdin"]["cniVersion"] == "0.2.0"
    assert calls.calls[0]["CNI_ARGS"] == (
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=pod;K8S_POD_INFRA_CONTAINER_ID=id"
    )
    assert calls.calls[2]["stdin"]["runtimeConfig"] == {
        "portMappings": [{"hostPort": 5353, "containerPort": 53, "protocol": "udp", "hostIP": "1.2.3.4"}],
        "bandwidth": {"ingressRate": 1000, "egressRate": 2},
        "ipRanges": [[{"subnet": "10.1.0.0/24"}]],
    }
    assert "prevResult" in calls.calls[2]["stdin"]


def test_v1_12_tear_down_uses_only_the_default_network_and_ignores_errors(tmp_path: Path) -> None:
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    calls = Calls(fails="bridge")
    tear_down(plugin(tmp_path, calls, host=Host("")))
    assert [(call["CNI_COMMAND"], call["path"], call["CNI_NETNS"]) for call in calls.calls] == [
        ("DEL", "/bin/meta", ""),
        ("DEL", "/bin/bridge", ""),
    ]
    assert "prevResult" not in calls.calls[0]["stdin"]


def test_v1_6_set_up_searches_vendor_directories_and_passes_the_file(tmp_path: Path) -> None:
    text = '{ "name": "net",   "type": "calico" }'
    (tmp_path / "10.conf").write_text(text)
    calls = Calls()
    set_up(plugin(tmp_path, calls, "v1.6"))
    lo, default = calls.calls
    assert (lo["CNI_PATH"], lo["CNI_IFNAME"]) == ("/opt/loopback/bin:/bin", "eth0")
    assert (default["CNI_PATH"], default["raw"]) == ("/bin:/opt/calico/bin", text.encode())


def test_v1_6_tear_down_needs_the_namespace(tmp_path: Path) -> None:
    (tmp_path / "10.conf").write_text('{"name": "net", "type": "calico"}')
    with pytest.raises(CniError, match="CNI failed to retrieve network namespace path: no such container"):
        tear_down(plugin(tmp_path, Calls(), "v1.6", Host("")))


def test_the_selected_network_stays_when_the_directory_is_emptied(tmp_path: Path) -> None:
    cni = plugin(tmp_path, Calls())
    with pytest.raises(CniError, match=r"^cni config uninitialized$"):
        asyncio.run(cni.status())
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    asyncio.run(cni.status())
    (tmp_path / "10.conflist").unlink()
    asyncio.run(cni.status())
    assert cni.default_network is not None
    assert cni.last_pick.error == f"No networks found in {tmp_path}"


def test_a_range_of_addresses_needs_the_nodes_cidr(tmp_path: Path) -> None:
    (tmp_path / "10.conflist").write_text(json.dumps(LIST))
    cni = CniNetworkPlugin("v1.12", str(tmp_path), ["/bin"], Calls(), Host())
    with pytest.raises(CniError, match=r"^no PodCIDR set$"):
        asyncio.run(cni.status())


class Named(NoopNetworkPlugin):
    def __init__(self, name: str, problem: str = "") -> None:
        self.name = name
        self.problem = problem

    def log(self) -> tuple[str, ...]:
        return ()

    def init(self, given: InitArguments) -> None:
        if self.problem:
            raise CniError(self.problem)


def test_without_a_name_the_noop_plugin_is_used() -> None:
    assert init_network_plugin([Named("cni")], "", InitArguments()).name == "kubernetes.io/no-op"


def test_the_named_plugin_is_used() -> None:
    chosen = Named("kubenet")
    assert init_network_plugin([Named("cni"), chosen], "kubenet", InitArguments()) is chosen


@pytest.mark.parametrize(
    ("plugins", "wanted", "reported"),
    [
        ([Named("cni")], "kubenet", 'Network plugin "kubenet" not found.'),
        ([Named("cni", "no nsenter")], "cni", 'Network plugin "cni" failed init: no nsenter'),
        (
            [Named("cni"), Named("cni")],
            "x",
            '[network plugin "cni" was registered more than once, Network plugin "x" not found.]',
        ),
    ],
)
def test_errors_that_keep_a_kubelet_from_starting(plugins: list[Named], wanted: str, reported: str) -> None:
    with pytest.raises(CniError) as raised:
        init_network_plugin(plugins, wanted, InitArguments())
    assert str(raised.value) == reported


def test_plugin_names_must_be_qualified() -> None:
    with pytest.raises(CniError, match=r'^network plugin has invalid name: "a b": name part must consist of'):
        init_network_plugin([Named("a b"), Named("cni")], "cni", InitArguments())


def test_the_manager_runs_one_operation_of_a_pod_at_a_time(tmp_path: Path) -> None:
    running: list[str] = []
    order: list[str] = []

    class Slow(NoopNetworkPlugin):
        async def set_up_pod(self, namespace: str, name: str, sandbox_id: str, annotations: Mapping[str, str]) -> None:
            assert name not in running
            running.append(name)
            order.append(name)
            await asyncio.sleep(0)
            running.remove(name)
            raise CniError("no")

    async def main() -> list[str]:
        manager = PluginManager(Slow())
        calls = [manager.set_up_pod("ns", name, "id", {}) for name in ("a", "a", "b")]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert manager._locks == {}
        return [str(outcome) for outcome in outcomes]

    failed = 'NetworkPlugin kubernetes.io/no-op failed to set up pod "{}_ns" network: no'
    assert asyncio.run(main()) == [failed.format("a"), failed.format("a"), failed.format("b")]
    assert order == ["a", "b", "a"]


def test_init_needs_nsenter(tmp_path: Path) -> None:
    cni = plugin(tmp_path, Calls(), host=Host(has_nsenter=False))
    with pytest.raises(CniError) as raised:
        init_network_plugin([cni], "cni", InitArguments())
    assert str(raised.value) == (
        'Network plugin "cni" failed init: exec: "nsenter": executable file not found in $PATH'
    )


def test_the_address_is_read_in_the_namespace_of_the_pod(tmp_path: Path) -> None:
    manager = PluginManager(plugin(tmp_path, Calls()))
    assert asyncio.run(manager.get_pod_network_status("ns", "p", "id")) == "10.1.0.7 of eth0 in /proc/1/ns/net"
    gone = PluginManager(plugin(tmp_path, Calls(), host=Host("")))
    with pytest.raises(CniError) as raised:
        asyncio.run(gone.get_pod_network_status("ns", "p", "id"))
    assert str(raised.value) == (
        'NetworkPlugin cni failed on the status hook for pod "p_ns": '
        "CNI failed to retrieve network namespace path: no such container"
    )


def test_v1_12_supports_results_up_to_0_3_1(tmp_path: Path) -> None:
    (tmp_path / "10.conflist").write_text(json.dumps({**LIST, "cniVersion": "1.0.0"}))
    with pytest.raises(CniError, match=r'^unsupported CNI result version "1.0.0"$'):
        set_up(plugin(tmp_path, Calls()))
