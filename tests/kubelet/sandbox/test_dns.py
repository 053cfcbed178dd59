"""The DNS settings of pods. Adapted from pkg/kubelet/network/dns/dns_test.go, except TestParseResolvConf."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.kubelet.sandbox.dns import DNSType, DNSWarning, fit_searches, merge_options, pod_dns, pod_dns_type
from kubesim.kubelet.sandbox.resolv_conf import ResolvConf
from kubesim.kubelet.sandbox.settings import DNSSettings

CLUSTER_NS = "203.0.113.1"
SETTINGS = DNSSettings((CLUSTER_NS,), "kubernetes.io", "")
CLUSTER = ("testNS.svc.TEST", "svc.TEST", "TEST")
LONG = ("A" * 128, *(["A" * 127] * 15))  # 2048 characters
THIRTY_TWO = (*CLUSTER, *(str(number) for number in range(4, 33)))
EXCEEDED = "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "


def pod(**spec: Any) -> Pod:
    metadata = {"name": "test_pod", "namespace": "testNS", "uid": "1"}
    return Pod.from_json({"metadata": metadata, "spec": {"containers": [], **spec}})


@pytest.mark.parametrize(
    ("searches", "fitting"),
    [
        pytest.param(CLUSTER, CLUSTER, id="valid: 3 search paths"),
        pytest.param((*CLUSTER, "AAA", "BBB"), (*CLUSTER, "AAA", "BBB"), id="valid: 5 search paths"),
        pytest.param(
            (*CLUSTER, "AAA", "B" * 256, "BBB"),
            (*CLUSTER, "AAA", "BBB"),
            id="invalid: longer than 256 characters in search path list",
        ),
        pytest.param(LONG, LONG, id="valid: 2048 characters in search path list"),
        pytest.param((*LONG, "B"), LONG, id="invalid: 2050 characters in search path list"),
        pytest.param(
            (*CLUSTER, "AAA", "B" * 256, "BBB"), (*CLUSTER, "AAA", "BBB"), id="invalid: 256 characters search path"
        ),
        pytest.param(
            (*CLUSTER, "AAA", "BBB", "CCC", "DDD"),
            (*CLUSTER, "AAA", "BBB", "CCC", "DDD"),
            id="valid: 7 search paths",
        ),
        pytest.param(THIRTY_TWO, THIRTY_TWO, id="valid: 32 search paths"),
        pytest.param((*THIRTY_TWO, "33"), THIRTY_TWO, id="invalid: 33 search paths"),
    ],
)
def test_form_dns_search_fits_limits(searches: tuple[str, ...], fitting: tuple[str, ...]) -> None:
    assert fit_searches(searches) == fitting
    config, warnings = pod_dns(pod(dnsPolicy="None", dnsConfig={"searches": [*searches]}), SETTINGS, ResolvConf(), ())
    distinct = fit_searches(tuple(dict.fromkeys(searches)))
    assert config.searches == distinct
    expected = [] if len({*searches}) == len(distinct) else [EXCEEDED + " ".join(distinct)]
    assert [(each.reason, each.message) for each in warnings] == [("DNSConfigForming", text) for text in expected]


@pytest.mark.parametrize(
    ("servers", "applied"),
    [
        pytest.param(["127.0.0.1"], 1, id="valid: 1 nameserver"),
        pytest.param(["127.0.0.1", "10.0.0.10", "8.8.8.8"], 3, id="valid: 3 nameservers"),
        pytest.param(["127.0.0.1", "10.0.0.10", "8.8.8.8", "1.2.3.4"], 3, id="invalid: 4 nameservers, trimmed to 3"),
    ],
)
def test_form_dns_nameservers_fits_limits(servers: list[str], applied: int) -> None:
    config, warnings = pod_dns(pod(dnsPolicy="None", dnsConfig={"nameservers": servers}), SETTINGS, ResolvConf(), ())
    assert config.servers == (*servers[:applied],)
    text = (
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        "127.0.0.1 10.0.0.10 8.8.8.8"
    )
    assert [*warnings] == ([DNSWarning("DNSConfigForming", text)] if len(servers) > 3 else [])


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        pytest.param([], ("ndots:5", "debug"), id="Empty dnsConfigOptions"),
        pytest.param(
            [{"name": "single-request"}, {"name": "attempts", "value": "3"}],
            ("ndots:5", "debug", "single-request", "attempts:3"),
            id="No duplicated entries",
        ),
        pytest.param(
            [
                {"name": "ndots", "value": "3"},
                {"name": "debug"},
                {"name": "single-request"},
                {"name": "attempts", "value": "3"},
            ],
            ("ndots:3", "debug", "single-request", "attempts:3"),
            id="Overwrite duplicated entries",
        ),
    ],
)
def test_merge_dns_options(added: list[dict[str, str]], expected: tuple[str, ...]) -> None:
    assert merge_options(("ndots:5", "debug"), added) == expected


@pytest.mark.parametrize(
    ("policy", "host_network", "expected"),
    [
        pytest.param("ClusterFirst", False, "cluster", id="valid DNSClusterFirst without hostnetwork"),
        pytest.param(
            "ClusterFirstWithHostNet", True, "cluster", id="valid DNSClusterFirstWithHostNet with hostnetwork"
        ),
        pytest.param(
            "ClusterFirstWithHostNet", False, "cluster", id="valid DNSClusterFirstWithHostNet without hostnetwork"
        ),
        pytest.param("Default", False, "host", id="valid DNSDefault without hostnetwork"),
        pytest.param("Default", True, "host", id="valid DNSDefault with hostnetwork"),
        pytest.param("ClusterFirst", True, "host", id="DNSClusterFirst with hostnetwork, fallback to DNSDefault"),
        pytest.param("None", False, "none", id="valid DNSNone"),
        pytest.param("invalidPolicy", False, "cluster", id="invalid DNS policy, should return error"),
    ],
)
def test_get_pod_dns_type(policy: str, host_network: bool, expected: DNSType) -> None:
    """GetPodDNS logs the error of the last row and continues with ClusterFirst."""
    assert pod_dns_type(pod(dnsPolicy=policy, hostNetwork=host_network)) == expected


HOST_FIRST = DNSConfig(("127.0.0.1",), (".",), ())
CLUSTER_FIRST = DNSConfig(
    (CLUSTER_NS,), ("testNS.svc.kubernetes.io", "svc.kubernetes.io", "kubernetes.io"), ("ndots:5",)
)


@pytest.mark.parametrize(
    ("policy", "host_network", "without_file", "with_file"),
    [
        ("ClusterFirstWithHostNet", True, CLUSTER_FIRST, "cluster"),
        ("ClusterFirst", True, HOST_FIRST, "host"),
        ("ClusterFirst", False, CLUSTER_FIRST, "cluster"),
        ("Default", True, HOST_FIRST, "host"),
    ],
)
def test_get_pod_dns(policy: str, host_network: bool, without_file: DNSConfig, with_file: str) -> None:
    given = pod(dnsPolicy=policy, hostNetwork=host_network)
    assert pod_dns(given, SETTINGS, ResolvConf(), ()) == (without_file, [])
    host = ResolvConf(("8.8.8.8",), ("host.domain",), ("rotate",))
    settings = DNSSettings((CLUSTER_NS,), "kubernetes.io", "/etc/resolv.conf")
    expected = {
        "cluster": DNSConfig((CLUSTER_NS,), (*(CLUSTER_FIRST.searches or ()), "host.domain"), ("ndots:5",)),
        "host": DNSConfig(*(host.servers, host.searches, host.options)),
    }
    assert pod_dns(given, settings, host, ()) == (expected[with_file], [])


CUSTOM = {
    "nameservers": ["10.0.0.11"],
    "searches": ["my.domain"],
    "options": [{"name": "ndots", "value": "3"}, {"name": "debug"}],
}
SVC = ("testNS.svc.kubernetes.io", "svc.kubernetes.io", "kubernetes.io", "host.domain", "my.domain")


@pytest.mark.parametrize(
    ("policy", "host_network", "config", "expected"),
    [
        pytest.param(
            "None", False, None, DNSConfig((), (), ()), id="DNSNone without DNSConfig should have empty DNS settings"
        ),
        pytest.param(
            "None",
            False,
            {**CUSTOM, "nameservers": ["203.0.113.1"], "searches": ["my.domain", "second.domain"]},
            DNSConfig(("203.0.113.1",), ("my.domain", "second.domain"), ("ndots:3", "debug")),
            id="DNSNone with DNSConfig should have a merged DNS settings",
        ),
        pytest.param(
            "ClusterFirst",
            False,
            CUSTOM,
            DNSConfig(("10.0.0.10", "10.0.0.11"), SVC, ("ndots:3", "debug")),
            id="DNSClusterFirst with DNSConfig should have a merged DNS settings",
        ),
        pytest.param(
            "ClusterFirstWithHostNet",
            True,
            CUSTOM,
            DNSConfig(("10.0.0.10", "10.0.0.11"), SVC, ("ndots:3", "debug")),
            id="DNSClusterFirstWithHostNet with DNSConfig should have a merged DNS settings",
        ),
        pytest.param(
            "Default",
            False,
            CUSTOM,
            DNSConfig(("8.8.8.8", "10.0.0.11"), ("host.domain", "my.domain"), ("ndots:3", "debug")),
            id="DNSDefault with DNSConfig should have a merged DNS settings",
        ),
    ],
)
def test_get_pod_dns_custom(policy: str, host_network: bool, config: Any, expected: DNSConfig) -> None:
    given = pod(dnsPolicy=policy, hostNetwork=host_network, dnsConfig=config)
    settings = DNSSettings(("10.0.0.10",), "kubernetes.io", "/etc/resolv.conf")
    assert pod_dns(given, settings, ResolvConf(("8.8.8.8",), ("host.domain",)), ()) == (expected, [])


def test_a_kubelet_without_cluster_dns_falls_back_and_emits_events_about_node_and_pod() -> None:
    settings = DNSSettings((), "", "/etc/resolv.conf")
    config, warnings = pod_dns(pod(dnsPolicy="ClusterFirst"), settings, ResolvConf(("8.8.8.8",)), ())
    assert config == DNSConfig(("8.8.8.8",), (), ())
    text = (
        'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
        'Falling back to "Default" policy.'
    )
    assert [(each.reason, each.message, each.of_node) for each in warnings] == [
        ("MissingClusterDNS", text, True),
        ("MissingClusterDNS", f'pod: "test_pod_testNS(1)". {text}', False),
    ]


@pytest.mark.parametrize(
    ("node_ips", "servers"),
    [((), ("127.0.0.1",)), (("10.0.0.1", "fd00::1"), ("127.0.0.1", "::1")), (("fd00::1",), ("::1",))],
)
def test_without_a_resolv_conf_a_pod_uses_its_own_address(node_ips: tuple[str, ...], servers: tuple[str, ...]) -> None:
    config, _ = pod_dns(pod(dnsPolicy="Default"), SETTINGS, ResolvConf(), node_ips)
    assert (config.servers, config.searches) == (servers, (".",))


def test_without_a_cluster_domain_the_search_domains_are_the_nodes() -> None:
    settings = DNSSettings((CLUSTER_NS,), "", "/etc/resolv.conf")
    config, _ = pod_dns(pod(dnsPolicy="ClusterFirst"), settings, ResolvConf(searches=("a", "b")), ())
    assert config == DNSConfig((CLUSTER_NS,), ("a", "b"), ("ndots:5",))
