"""Host names of pods. Adapted from pkg/kubelet/kubelet_pods_test.go TestGeneratePodHostNameAndDomain and
TestTruncatePodHostname, and pkg/kubelet/util/util_test.go TestGetNodenameForKernel."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod
from kubesim.features import configured_gates
from kubesim.kubelet.sandbox.host_name import generate_pod_host_name_and_domain, truncate_pod_host_name
from kubesim.runtime.helper import SandboxConfigError
from kubesim.runtime.kuberuntime.sandbox_config import node_name_for_kernel

DOMAIN = "my-subdomain.default.svc.cluster.local"
BOTH = {"hostname": "custom-hostname", "subdomain": "my-subdomain"}
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def names(spec: dict[str, str], name: str = "test-pod", gate: bool = False) -> tuple[str, str]:
    pod = Pod.from_json({"metadata": {"name": name, "namespace": "default"}, "spec": {"containers": [], **spec}})
    return generate_pod_host_name_and_domain(pod, "cluster.local", configured_gates({"HostnameOverride": gate}))


@pytest.mark.parametrize(
    ("spec", "gate", "name", "expected"),
    [
        pytest.param({}, False, "test-pod", ("test-pod", ""), id="Default behavior - pod name as hostname"),
        pytest.param(
            {"hostname": "custom-hostname"},
            False,
            "test-pod",
            ("custom-hostname", ""),
            id="Custom Hostname - uses pod.Spec.Hostname",
        ),
        pytest.param(
            {"subdomain": "my-subdomain"},
            False,
            "test-pod",
            ("test-pod", DOMAIN),
            id="Custom Subdomain - constructs FQDN",
        ),
        pytest.param(
            BOTH, False, "test-pod", ("custom-hostname", DOMAIN), id="Custom Hostname and Subdomain - uses both"
        ),
        pytest.param(
            {**BOTH, "hostnameOverride": "override-hostname"},
            True,
            "test-pod",
            ("override-hostname", ""),
            id="HostnameOverride - enabled - overrides all",
        ),
        pytest.param(
            {"hostnameOverride": "valid.hostname"},
            True,
            "test-pod",
            ("valid.hostname", ""),
            id="HostnameOverride - enabled - overrides all - valid DNS hostname",
        ),
        pytest.param(
            {**BOTH, "hostnameOverride": "override-hostname"},
            False,
            "test-pod",
            ("custom-hostname", DOMAIN),
            id="HostnameOverride - disabled - is ignored",
        ),
        pytest.param({}, False, "a" * 65, ("a" * 63, ""), id="Hostname Truncation - pod name is too long"),
        pytest.param({"hostnameOverride": "a" * 65}, True, "test-pod", ("a" * 63, ""), id="an override is cut, too"),
    ],
)
def test_generate_pod_host_name_and_domain(
    spec: dict[str, str], gate: bool, name: str, expected: tuple[str, str]
) -> None:
    assert names(spec, name, gate) == expected


@pytest.mark.parametrize(
    ("spec", "gate", "problem"),
    [
        pytest.param(
            {**BOTH, "hostnameOverride": "Invalid-Hostname-!"},
            True,
            f'pod HostnameOverride "Invalid-Hostname-!" is not a valid DNS subdomain: {SUBDOMAIN}',
            id="HostnameOverride - enabled - overrides all - invalid hostname",
        ),
        pytest.param(
            {"hostname": "Invalid-Hostname-!"},
            False,
            f'pod Hostname "Invalid-Hostname-!" is not a valid DNS label: {LABEL}',
            id="Validation - invalid hostname",
        ),
        pytest.param(
            {"subdomain": "invalid_subdomain"},
            False,
            f'pod Subdomain "invalid_subdomain" is not a valid DNS label: {LABEL}',
            id="Validation - invalid subdomain",
        ),
        pytest.param(
            {"hostname": "a" * 64},
            False,
            f'pod Hostname "{"a" * 64}" is not a valid DNS label: must be no more than 63 characters',
            id="Validation - too long hostname",
        ),
        pytest.param(
            {"hostname": "a" * 64 + "_"},
            False,
            f'pod Hostname "{"a" * 64}_" is not a valid DNS label: must be no more than 63 characters;{LABEL}',
            id="two problems",
        ),
    ],
)
def test_invalid_names_are_rejected(spec: dict[str, str], gate: bool, problem: str) -> None:
    with pytest.raises(SandboxConfigError) as raised:
        names(spec, gate=gate)
    assert str(raised.value) == problem


SEVENS = "1234567."


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("test.pod.hostname", "test.pod.hostname", id="valid hostname"),
        pytest.param(SEVENS * 9, (SEVENS * 8)[:-1], id="too long hostname"),
        pytest.param(SEVENS * 7 + "123456.1234567.", SEVENS * 7 + "123456", id="hostname end with ."),
        pytest.param(SEVENS * 7 + "123456-1234567.", SEVENS * 7 + "123456", id="hostname end with -"),
    ],
)
def test_truncate_pod_hostname(given: str, expected: str) -> None:
    assert truncate_pod_host_name("test-pod", given) == expected


def test_a_name_without_valid_characters_is_rejected() -> None:
    with pytest.raises(SandboxConfigError, match=r'hostname for pod "p" was invalid: "-{64}"'):
        truncate_pod_host_name("p", "-" * 64)


TOO_LONG = (SEVENS * 7)[:-1]


@pytest.mark.parametrize(
    ("name", "domain", "as_fqdn", "expected"),
    [
        pytest.param("test.pod.hostname", "", False, "test.pod.hostname", id="no hostDomain, setHostnameAsFQDN false"),
        pytest.param("test.pod.hostname", "", True, "test.pod.hostname", id="no hostDomain, setHostnameAsFQDN true"),
        pytest.param(
            "test.pod.hostname",
            "svc.subdomain.local",
            False,
            "test.pod.hostname",
            id="valid hostDomain, setHostnameAsFQDN false",
        ),
        pytest.param(
            "test.pod.hostname",
            "svc.subdomain.local",
            True,
            "test.pod.hostname.svc.subdomain.local",
            id="valid hostDomain, setHostnameAsFQDN true",
        ),
        pytest.param(
            "1234567.1234567", TOO_LONG, False, "1234567.1234567", id="FQDN is too long, setHostnameAsFQDN false"
        ),
        pytest.param("a" * 31, "b" * 32, True, "a" * 31 + "." + "b" * 32, id="64 characters just fit"),
    ],
)
def test_get_nodename_for_kernel(name: str, domain: str, as_fqdn: bool, expected: str) -> None:
    assert node_name_for_kernel(name, domain, as_fqdn) == expected


def test_an_fqdn_that_is_too_long_is_rejected() -> None:
    """FQDN is too long, setHostnameAsFQDN true."""
    with pytest.raises(SandboxConfigError) as raised:
        node_name_for_kernel("1234567.1234567", TOO_LONG, True)
    assert str(raised.value) == (
        f"failed to construct FQDN from pod hostname and cluster domain, FQDN 1234567.1234567.{TOO_LONG} is too long "
        "(64 characters is the max, 71 characters requested)"
    )
