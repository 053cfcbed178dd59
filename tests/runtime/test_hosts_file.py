"""The hosts file of a pod. Adapted from pkg/kubelet/kubelet_pods_test.go TestNodeHostsFileContent and
TestManagedHostsFileContent, and kubelet_pods_linux_test.go TestMakeMountsEtcHostsFile."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.runtime.hosts_file import HostsFile, should_mount_hosts_file

LOCAL = (
    "127.0.0.1\tlocalhost\n"
    "::1\tlocalhost ip6-localhost ip6-loopback\n"
    "fe00::0\tip6-localnet\n"
    "fe00::0\tip6-mcastprefix\n"
    "fe00::1\tip6-allnodes\n"
    "fe00::2\tip6-allrouters\n"
)
ONE = [{"ip": "123.45.67.89", "hostnames": ["foo", "bar", "baz"]}]
TWO = [*ONE, {"ip": "456.78.90.123", "hostnames": ["park", "doo", "boo"]}]
ALIASES = "\n# Entries added by HostAliases.\n123.45.67.89\tfoo\tbar\tbaz\n"


@pytest.mark.parametrize(
    ("node", "aliases", "added"),
    [
        pytest.param(f"# hosts file for testing.\n{LOCAL}123.45.67.89\tsome.domain\n", [], "", id="hosts_test_file1"),
        pytest.param(
            f"# another hosts file for testing.\n{LOCAL}12.34.56.78\tanother.domain\n", [], "", id="hosts_test_file2"
        ),
        pytest.param(
            f"# hosts file for testing.\n{LOCAL}123.45.67.89\tsome.domain\n",
            ONE,
            ALIASES,
            id="hosts_test_file1_with_host_aliases",
        ),
        pytest.param(
            f"# another hosts file for testing.\n{LOCAL}12.34.56.78\tanother.domain\n",
            TWO,
            ALIASES + "456.78.90.123\tpark\tdoo\tboo\n",
            id="hosts_test_file2_with_host_aliases",
        ),
    ],
)
def test_node_hosts_file_content(node: str, aliases: list[dict[str, Any]], added: str) -> None:
    content = HostsFile(aliases=aliases, node_hosts=node).content()
    assert content == f"# Kubernetes-managed hosts file (host network).\n{node}{added}"


@pytest.mark.parametrize(
    ("ips", "name", "domain", "aliases", "expected"),
    [
        (("123.45.67.89",), "podFoo", "", [], "123.45.67.89\tpodFoo\n"),
        (("203.0.113.1",), "podFoo", "domainFoo", [], "203.0.113.1\tpodFoo.domainFoo\tpodFoo\n"),
        (("203.0.113.1",), "podFoo", "domainFoo", ONE, "203.0.113.1\tpodFoo.domainFoo\tpodFoo\n" + ALIASES),
        (
            ("203.0.113.1",),
            "podFoo",
            "domainFoo",
            TWO,
            "203.0.113.1\tpodFoo.domainFoo\tpodFoo\n" + ALIASES + "456.78.90.123\tpark\tdoo\tboo\n",
        ),
        (
            ("203.0.113.1", "fd00::6"),
            "podFoo",
            "domainFoo",
            [],
            "203.0.113.1\tpodFoo.domainFoo\tpodFoo\nfd00::6\tpodFoo.domainFoo\tpodFoo\n",
        ),
    ],
)
def test_managed_hosts_file_content(
    ips: tuple[str, ...], name: str, domain: str, aliases: list[dict[str, Any]], expected: str
) -> None:
    content = HostsFile(ips, name, domain, aliases).content()
    assert content == f"# Kubernetes-managed hosts file.\n{LOCAL}{expected}"


IP = ("192.168.0.1",)


@pytest.mark.parametrize(
    ("path", "ips", "host_network", "expected"),
    [
        pytest.param("/etc/foo", IP, False, True, id="another path is mounted"),
        pytest.param("/etc/hosts", IP, False, False, id="pod with network already mounting the hosts file"),
        pytest.param("/etc/hosts/", IP, False, True, id="upstream compares texts"),
        pytest.param("", IP, False, True, id="pod with network"),
        pytest.param("", (), False, False, id="pod with network but no IPs"),
        pytest.param("", IP, True, True, id="pod with host network"),
        pytest.param("", (), True, True, id="pod with host network but no IPs"),
        pytest.param("/etc/hosts", (), True, False, id="host network, the container mounts /etc/hosts"),
    ],
)
def test_make_mounts_etc_hosts_file(path: str, ips: tuple[str, ...], host_network: bool, expected: bool) -> None:
    mounts = [{"name": "v", "mountPath": path}] if path else []
    container = Container.from_json({"name": "main", "image": "i", "volumeMounts": mounts})
    pod = Pod.from_json({"metadata": {"name": "p"}, "spec": {"hostNetwork": host_network, "containers": []}})
    assert should_mount_hosts_file(pod, container, ips) is expected
