"""Pods whose sandbox cannot be configured, and pods about whose DNS the kubelet warns, observed on a whole node in
virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.scenario.language.document import Scenario
from tests.support.driven_node import DrivenNode
from tests.support.played import Played, container, pod

LONG_NAME = "a-pod-with-a-name-of-forty-characters-abc"
FQDN = f"{LONG_NAME}.subdomain.default.svc.cluster.local"
TOO_LONG = (
    f"failed to construct FQDN from pod hostname and cluster domain, FQDN {FQDN} is too long "
    f"(64 characters is the max, {len(FQDN)} characters requested)"
)


def played(scenario: dict[str, Any] | None = None, *, files: dict[str, str] | None = None, **spec: Any) -> Played:
    nodes = [{"name": "node-1", "files": files or {}}]
    return Played(objects=[pod("web", **spec)], **{"nodes": nodes, **(scenario or {})})


def node_with(scenario: dict[str, Any] | None = None, files: dict[str, str] | None = None) -> DrivenNode:
    nodes = [{"name": "node-1", "files": files or {}}]
    spec = {"images": [{"name": "*", "present": True}], "nodes": nodes, **(scenario or {})}
    return DrivenNode(Scenario.model_validate({"metadata": {"name": "x"}, "spec": spec}), 0)


def output(script: str, node: DrivenNode | None = None, **spec: Any) -> str:
    """The output of a script in a container of the pod `web`."""
    node = node or node_with()
    command = ["sh", "-c", f"({script}) > /dev/termination-log"]
    node.apply(pod("web", command=command, restartPolicy="Never", **spec))
    node.wait(10 * SECOND)
    (found,) = node.pods()
    node.shut()
    assert found.status.phase == "Succeeded"
    state = found.status.container_statuses[0].state
    assert state.terminated is not None
    return state.terminated.message


async def stored(node: DrivenNode, given: Pod) -> None:
    node.store.create(given)


def node_events(node: DrivenNode, reason: str) -> list[str]:
    """Messages of the Events about the node, which are emitted before the pod starts."""
    events = [event for event in node.store.list("Event") if isinstance(event, Event)]
    node.shut()
    return [event.message for event in events if event.reason == reason and event.involved_object.kind == "Node"]


# -- host name -------------------------------------------------------------------------------------------------------


def test_an_fqdn_that_is_too_long_blocks_the_sandbox_and_is_retried() -> None:
    story = Played(objects=[pod(LONG_NAME, subdomain="subdomain", setHostnameAsFQDN=True)])
    assert story.calls() == []
    messages = story.messages("FailedCreatePodSandBox")
    assert len(messages) > 2
    assert {*messages} == {f"Failed to create pod sandbox: {TOO_LONG}"}
    error = story.sync_errors(LONG_NAME)[0]
    assert error.startswith('failed to "CreatePodSandbox" for "')
    assert f'with CreatePodSandboxError: "Failed to generate sandbox config for pod \\"{LONG_NAME}_default(' in error
    assert TOO_LONG in error


def test_an_invalid_host_name_of_a_pod_on_the_hosts_network_is_a_container_error() -> None:
    """No sandbox needs the name there. The API server would have rejected the pod."""
    node = node_with()
    spec: dict[str, Any] = {"nodeName": "node-1", "hostNetwork": True, "hostname": "Bad", "enableServiceLinks": True}
    given = {**pod("web", **spec), "metadata": {"name": "web", "namespace": "default", "uid": "u"}}
    node.run(stored(node, Pod.from_json(given)))
    node.wait(5 * SECOND)
    (found,) = node.pods()
    node.shut()
    waiting = found.status.container_statuses[0].state.waiting
    assert waiting is not None
    assert waiting.reason == "CreateContainerConfigError"
    assert waiting.message.startswith('pod Hostname "Bad" is not a valid DNS label: ')


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, "web\n"),
        ({"hostname": "other"}, "other\n"),
        ({"hostname": "other", "subdomain": "sub"}, "other\n"),
        ({"subdomain": "sub", "setHostnameAsFQDN": True}, "web.sub.default.svc.cluster.local\n"),
        ({"hostnameOverride": "over.ride"}, "over.ride\n"),
        ({"hostNetwork": True}, "node-1\n"),
    ],
)
def test_a_container_sees_its_host_name(spec: dict[str, Any], expected: str) -> None:
    assert output("cat /etc/hostname; hostname; echo $HOSTNAME", **spec) == expected * 3


def test_the_fqdn_is_in_the_hosts_file() -> None:
    script = "hostname; hostname -f; hostname -d; hostname -s; hostname -i"
    domain = "sub.default.svc.cluster.local"
    assert output(script, subdomain="sub").split() == ["web", f"web.{domain}", domain, "web", "10.88.0.10"]
    assert output("hostname -f").split() == ["web"]


# -- DNS -------------------------------------------------------------------------------------------------------------

HOST = {"/etc/resolv.conf": "# the node's\nnameserver 192.0.2.1\nsearch corp.example\noptions rotate\n"}
CLUSTER_FIRST = (
    "search default.svc.cluster.local svc.cluster.local cluster.local corp.example\nnameserver 10.96.0.10\n"
    "options ndots:5\n"
)
CUSTOM = {"nameservers": ["192.0.2.9"], "searches": ["my.domain"], "options": [{"name": "ndots", "value": "2"}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {},
            CLUSTER_FIRST,
        ),
        ({"dnsPolicy": "Default"}, "search corp.example\nnameserver 192.0.2.1\noptions rotate\n"),
        ({"hostNetwork": True}, "search corp.example\nnameserver 192.0.2.1\noptions rotate\n"),
        (
            {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"},
            CLUSTER_FIRST,
        ),
        ({"dnsPolicy": "None", "dnsConfig": CUSTOM}, "search my.domain\nnameserver 192.0.2.9\noptions ndots:2\n"),
        (
            {"dnsPolicy": "Default", "dnsConfig": CUSTOM},
            "search corp.example my.domain\nnameserver 192.0.2.1\nnameserver 192.0.2.9\noptions rotate ndots:2\n",
        ),
    ],
)
def test_a_container_sees_the_resolv_conf_of_its_policy(spec: dict[str, Any], expected: str) -> None:
    assert output("cat /etc/resolv.conf", node_with(files=HOST), **spec) == expected


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        (
            {"clusterDNS": ["10.0.0.10", "not an address", "FD00::A"], "clusterDomain": "x.org"},
            [
                "search default.svc.x.org svc.x.org x.org",
                "nameserver 10.0.0.10",
                "nameserver fd00::a",
            ],
        ),
        ({"clusterDomain": ""}, ["nameserver 10.96.0.10"]),
        (
            {"resolvConf": "/run/systemd/resolve/resolv.conf"},
            ["search default.svc.cluster.local svc.cluster.local cluster.local other", "nameserver 10.96.0.10"],
        ),
        ({"clusterDNS": [], "resolvConf": ""}, ["search .", "nameserver 127.0.0.1"]),
        ({"clusterDNS": []}, ["nameserver 192.0.2.53"]),
    ],
)
def test_the_kubelets_configuration_has_effect(configuration: dict[str, Any], expected: list[str]) -> None:
    files = {"/run/systemd/resolve/resolv.conf": "search other\n"}
    text = output("cat /etc/resolv.conf", node_with({"kubeletConfiguration": configuration}, files))
    assert [line for line in text.splitlines() if line != "options ndots:5"] == expected


def test_a_simple_pod_has_no_event_about_dns() -> None:
    assert [reason for reason in played().events() if "DNS" in reason or "Resolv" in reason] == []


def test_a_kubelet_without_cluster_dns_emits_events_about_node_and_pod_at_every_sync() -> None:
    """Twice in the sync that creates the sandbox, and then once in each, even if the pod is healthy."""
    story = played({"kubeletConfiguration": {"clusterDNS": []}, "duration": "5m"})
    text = (
        'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
        'Falling back to "Default" policy.'
    )
    about_pod, all_of_them = story.messages("MissingClusterDNS", "web"), story.messages("MissingClusterDNS")
    assert len(about_pod) == len(all_of_them) / 2 == story.syncs("web").count("SyncPod") + 1
    assert len(about_pod) >= 6
    assert about_pod[0].startswith('pod: "web_default(')
    assert {message.partition('). "')[0] for message in all_of_them if not message.startswith("pod")} == {text}
    assert played({"kubeletConfiguration": {"clusterDNS": []}}, dnsPolicy="Default").messages("MissingClusterDNS") == []


def test_settings_beyond_the_limits_are_truncated_and_reported() -> None:
    config = {"nameservers": [f"192.0.2.{n}" for n in range(1, 4)]}
    assert played(dnsConfig=config).messages("DNSConfigForming", "web")[0] == (
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        "10.96.0.10 192.0.2.1 192.0.2.2"
    )
    files = {"/etc/resolv.conf": f"search {' '.join(f's{n}' for n in range(30))}\n"}
    story = played(files=files)
    applied = " ".join(
        ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", *(f"s{n}" for n in range(29))]
    )
    assert story.messages("DNSConfigForming", "web")[0] == (
        f"Search Line limits were exceeded, some search paths have been omitted, the applied search line is: {applied}"
    )
    assert node_events(node_with(files=files), "CheckLimitsForResolvConf") == [
        "Resolv.conf file '/etc/resolv.conf' contains search line consisting of more than 29 domains!"
    ]


def test_a_missing_resolv_conf_blocks_pods() -> None:
    configuration = {"kubeletConfiguration": {"resolvConf": "/no/such.conf"}}
    story, problem = played(configuration), "open /no/such.conf: no such file or directory"
    assert node_events(node_with(configuration), "CheckLimitsForResolvConf") == [problem]
    assert {*story.messages("FailedCreatePodSandBox")} == {f"Failed to create pod sandbox: {problem}"}


def test_an_unreadable_resolv_conf_blocks_pods() -> None:
    files = {"/etc/resolv.conf": "nameserver\n"}
    assert node_events(node_with(files=files), "CheckLimitsForResolvConf") == ["nameserver list is empty "]
    story = played(files=files)
    text = "Encountered error while parsing resolv conf file. Error: nameserver list is empty "
    assert {*story.messages("FailedCreatePodSandBox")} == {f"Failed to create pod sandbox: {text}"}


# -- hosts file ------------------------------------------------------------------------------------------------------


def test_the_hosts_file_of_a_pod() -> None:
    aliases = [{"ip": "10.1.2.3", "hostnames": ["foo.local", "bar.local"]}]
    text = output("cat /etc/hosts", hostname="h", subdomain="s", hostAliases=aliases)
    assert text.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert text.endswith(
        "10.88.0.10\th.s.default.svc.cluster.local\th\n\n"
        "# Entries added by HostAliases.\n10.1.2.3\tfoo.local\tbar.local\n"
    )
    assert output("getent hosts bar.local", hostAliases=aliases) == "10.1.2.3      bar.local\n"


def test_the_hosts_file_of_a_pod_on_the_hosts_network_is_the_nodes() -> None:
    files = {"/etc/hosts": "10.0.0.1\tnode-1\n"}
    expected = "# Kubernetes-managed hosts file (host network).\n10.0.0.1\tnode-1\n"
    assert output("cat /etc/hosts", node_with(files=files), hostNetwork=True) == expected


# -- user namespaces -------------------------------------------------------------------------------------------------


def test_a_runtime_without_user_namespaces_rejects_the_pod() -> None:
    story = Played(
        nodes=[{"name": "node-1", "userNamespaces": False}],
        objects=[pod("web", hostUsers=False), pod("plain"), pod("host", hostUsers=True)],
    )
    problem = "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
    assert {*story.messages("FailedCreatePodSandBox")} == {f"Failed to create pod sandbox: {problem}"}
    assert story.result.phases == {"default/web": "Pending", "default/plain": "Running", "default/host": "Running"}


def test_an_id_range_belongs_to_a_pod_until_it_has_terminated() -> None:
    node = node_with()
    node.apply(pod("web", hostUsers=False))
    node.apply(pod("plain"))
    node.wait(10 * SECOND)
    (uid,) = [each.metadata.uid for each in node.pods() if each.metadata.name == "web"]
    assert [*node.kubelet.sandbox.files] == [uid]
    assert node.kubelet.sandbox.userns.is_allocated(uid)
    node.delete("web", 1)
    node.wait(30 * SECOND)
    assert node.kubelet.sandbox.files == {}
    node.shut()


# -- processes -------------------------------------------------------------------------------------------------------


def test_containers_with_a_shared_process_namespace_see_and_signal_each_other() -> None:
    """The killed container was not PID 1, so nothing protected it."""
    story = Played(
        objects=[
            pod(
                "web",
                shareProcessNamespace=True,
                restartPolicy="Never",
                containers=[
                    {**container("main"), "command": ["sleep", "1000"]},
                    container("other", "sleep 3", "ps | grep -q '1 65535 .*/pause' || exit 9", "pkill sleep"),
                ],
            )
        ]
    )
    assert story.result.phases == {"default/web": "Failed"}
    assert [note for note in story.notes() if "ended" in note] == [
        "container main ended with exit code 143 (Error)",
        "container other ended with exit code 0 (Completed)",
    ]


def test_the_exit_of_the_pause_process_is_the_end_of_the_sandbox() -> None:
    story = Played(
        objects=[
            pod(
                "web",
                shareProcessNamespace=True,
                containers=[container("main"), container("other", "sleep 3", "kill -KILL 1", "kill 1", "sleep 1000")],
            )
        ]
    )
    assert "SandboxChanged" in story.events("web")
    assert story.calls("web").count("RunPodSandbox") > 1


def test_with_the_hosts_pid_namespace_a_container_is_not_pid_1() -> None:
    """It is not protected from SIGTERM, so it ends immediately."""
    step = {"at": "10s", "delete": {"pod": "web"}}
    spec: dict[str, Any] = {"command": ["sleep", "1000"], "terminationGracePeriodSeconds": 30}
    own = Played(step, objects=[pod("web", **spec)])
    host = Played(step, objects=[pod("web", hostPID=True, **spec)])
    assert "container main ended with exit code 137 (Error)" in own.notes()
    assert "container main ended with exit code 143 (Error)" in host.notes()
    assert output("ps | grep -q ' 1 root .*/sbin/init'", hostPID=True) == ""


def test_kernel_parameters_of_a_pod_are_visible_in_proc() -> None:
    sysctls = [{"name": "net/ipv4/tcp_keepalive_time", "value": "7"}]
    spec: dict[str, Any] = {"securityContext": {"sysctls": sysctls}}
    assert output("cat /proc/sys/net/ipv4/tcp_keepalive_time", **spec) == "7\n"
    assert output("cat /proc/sys/net/ipv4/ping_group_range", **spec) == "0\t2147483647\n"
    assert output("cat /proc/sys/net/ipv4/ip_unprivileged_port_start") == "0\n"
