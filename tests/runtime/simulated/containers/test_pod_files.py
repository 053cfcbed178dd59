"""The files of a sandbox in its containers. Adapted from the rows of containerd's
internal/cri/server/podsandbox/sandbox_run_linux_test.go (TestSetupSandboxFiles, TestParseDNSOption, the sysctls of
TestLinuxSandboxContainerSpec) and container_create_test.go (TestContainerMounts) that a container can see."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.runtime.hosts_file import HostsFile
from kubesim.runtime.protocol import (
    ContainerConfig,
    IdMapping,
    LinuxSandboxConfig,
    NamespaceOptions,
    SandboxConfig,
    UserNamespace,
)
from kubesim.runtime.simulated.containers.container_process import ProcessContext
from kubesim.runtime.simulated.containers.pod_files import PodFiles, effective_sysctls, resolv_conf_text
from kubesim.shell import FileFault, VirtualFiles, Volume

HOST = {"/etc/hosts": "the node's hosts\n", "/etc/resolv.conf": "the node's resolv.conf\n"}
SERVERS = " ".join(f"server{n}.google.com" for n in range(7))
HOSTS = HostsFile(("10.88.0.10",), "web")


def context(
    container: dict[str, Any] | None = None, hosts: HostsFile | None = HOSTS, attempt: int = 0, **sandbox: Any
) -> ProcessContext:
    made = Container.from_json({"name": "main", "image": "busybox", **(container or {})})
    pod = Pod.from_json({"metadata": {"name": "web", "uid": "u"}, "spec": {"containers": [made.to_json()]}})
    config = ContainerConfig(made, 0, "", {}, {}, hosts_file=hosts)
    return ProcessContext(pod, made, config, "", "id", SandboxConfig(pod, attempt, {}, {}, **sandbox))


def files_of(pod_files: PodFiles, given: ProcessContext) -> VirtualFiles:
    pod_files.container_made(given)
    security = given.container.security_context or {}
    files = VirtualFiles(
        read_only=bool(security.get("readOnlyRootFilesystem")), late=lambda each: pod_files.mount(given, each)
    )
    for mount in given.container.volume_mounts:
        files.mount(mount["mountPath"], Volume({"a": "from a volume"}), sub_path="a")
    return files


def new_pod_files() -> PodFiles:
    return PodFiles("test-real-hostname", HOST.get)


@pytest.mark.parametrize(
    ("dns", "host_name", "hostname_file", "resolv_conf"),
    [
        pytest.param(
            None,
            "",
            "test-real-hostname\n",
            HOST["/etc/resolv.conf"],
            id="should copy host /etc/resolv.conf if DNSOptions is not set",
        ),
        pytest.param(
            DNSConfig(("8.8.8.8",), ("114.114.114.114",), ("timeout:1",)),
            "",
            "test-real-hostname\n",
            "search 114.114.114.114\nnameserver 8.8.8.8\noptions timeout:1\n",
            id="should create new /etc/resolv.conf if DNSOptions is set",
        ),
        pytest.param(
            DNSConfig(),
            "",
            "test-real-hostname\n",
            "",
            id="should create empty /etc/resolv.conf if DNSOptions is empty",
        ),
        pytest.param(
            None,
            "test-hostname",
            "test-hostname\n",
            HOST["/etc/resolv.conf"],
            id="should create /etc/hostname when hostname is set",
        ),
    ],
)
def test_setup_sandbox_files(dns: DNSConfig | None, host_name: str, hostname_file: str, resolv_conf: str) -> None:
    files = files_of(new_pod_files(), context(hosts=None, dns=dns, hostname=host_name))
    assert files.read("/etc/hostname") == hostname_file
    assert files.read("/etc/resolv.conf") == resolv_conf
    assert files.read("/etc/hosts") == HOST["/etc/hosts"]


@pytest.mark.parametrize(
    ("dns", "expected"),
    [
        pytest.param(DNSConfig(), "", id="empty dns options should return empty content"),
        pytest.param(
            DNSConfig(("8.8.8.8", "server.google.com"), ("114.114.114.114",), ("timeout:1",)),
            "search 114.114.114.114\nnameserver 8.8.8.8\nnameserver server.google.com\noptions timeout:1\n",
            id="non-empty dns options should return correct content",
        ),
        pytest.param(
            DNSConfig(("8.8.8.8", "b"), SERVERS.split(), ("timeout:1",)),
            f"search {SERVERS}\nnameserver 8.8.8.8\nnameserver b\noptions timeout:1\n",
            id="expanded dns config should return correct content on modern libc (e.g. glibc 2.26 and above)",
        ),
    ],
)
def test_parse_dns_option(dns: DNSConfig, expected: str) -> None:
    assert resolv_conf_text(dns) == expected


IDS = (IdMapping(0, 65536, 65536),)
UNPRIVILEGED = {"net.ipv4.ip_unprivileged_port_start": "0"}


@pytest.mark.parametrize(
    ("linux", "expected"),
    [
        pytest.param(
            LinuxSandboxConfig(),
            {**UNPRIVILEGED, "net.ipv4.ping_group_range": "0 2147483647"},
            id="spec should reflect original config",
        ),
        pytest.param(
            LinuxSandboxConfig(namespaces=NamespaceOptions(users=UserNamespace(IDS, IDS))),
            UNPRIVILEGED,
            id="spec shouldn't have ping_group_range if userns are in use",
        ),
        pytest.param(LinuxSandboxConfig(namespaces=NamespaceOptions(network="NODE")), {}, id="host namespace"),
        pytest.param(
            LinuxSandboxConfig(
                sysctls={"net.ipv4.ip_unprivileged_port_start": "500", "net.ipv4.ping_group_range": "1 1000"}
            ),
            {"net.ipv4.ip_unprivileged_port_start": "500", "net.ipv4.ping_group_range": "1 1000"},
            id="should overwrite default sysctls",
        ),
    ],
)
def test_sysctls_of_the_sandbox(linux: LinuxSandboxConfig, expected: dict[str, str]) -> None:
    assert effective_sysctls(linux) == expected


def test_setup_ro_mount_when_rootfs_is_read_only() -> None:
    """The kubelet's hosts file is writable nevertheless: the kubelet never mounts it read-only."""
    files = files_of(new_pod_files(), context({"securityContext": {"readOnlyRootFilesystem": True}}))
    files.create("/etc/hosts", 0).append("1.2.3.4\tx\n", 0)
    for path in ("/etc/hostname", "/etc/resolv.conf", "/etc/other"):
        with pytest.raises(FileFault, match="Read-only file system"):
            files.create(path, 0)


def test_setup_rw_mount_when_rootfs_is_read_write() -> None:
    files = files_of(new_pod_files(), context())
    files.create("/etc/resolv.conf", 0, truncate=True).append("nameserver 1.1.1.1\n", 0)
    assert files.read("/etc/resolv.conf") == "nameserver 1.1.1.1\n"
    with pytest.raises(FileFault, match="Resource busy"):
        files.remove("/etc/resolv.conf")


@pytest.mark.parametrize("path", ["/etc/hostname", "/etc/hosts", "/etc/resolv.conf"])
def test_skip_container_mounts_if_already_mounted_by_cri(path: str) -> None:
    hosts = None if path == "/etc/hosts" else HOSTS  # then the kubelet mounts none
    files = files_of(new_pod_files(), context({"volumeMounts": [{"name": "v", "mountPath": path}]}, hosts))
    assert files.read(path) == "from a volume"


def test_the_containers_of_a_pod_share_the_files_until_the_kubelet_writes_them_again() -> None:
    pod_files = new_pod_files()
    one, two = files_of(pod_files, context()), files_of(pod_files, context())
    one.create("/etc/hosts", 0).append("1.2.3.4\tadded\n", 0)
    one.create("/etc/resolv.conf", 0).append("options added\n", 0)
    assert two.read("/etc/hosts").endswith("10.88.0.10\tweb\n1.2.3.4\tadded\n")
    assert two.read("/etc/resolv.conf").endswith("options added\n")
    again = HostsFile(("10.88.0.11",), "web")
    three = files_of(pod_files, context(hosts=again, attempt=1))
    assert one.read("/etc/hosts") == three.read("/etc/hosts") == again.content()
    assert three.read("/etc/resolv.conf") == HOST["/etc/resolv.conf"]


def test_nothing_is_created_before_the_first_read() -> None:
    asked: list[str] = []

    def read(path: str) -> str | None:
        asked.append(path)
        return HOST.get(path)

    files = files_of(PodFiles("node-1", read), context())
    files.create("/tmp/a", 0)
    assert not files.exists("/var/www/html/index.html")
    assert asked == []
    assert {"hostname", "hosts", "resolv.conf"} <= {*files.names("/etc")}
    assert asked
