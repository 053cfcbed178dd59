"""The kubelet's own flags: their values, and the fields that they set."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.errors import UsageError
from kubesim.kubeletconfig.decode import read_configuration
from kubesim.kubeletconfig.flags import configuration_from_flags, flag_fields, flag_of


@pytest.mark.parametrize(
    ("flag", "texts", "expected"),
    [
        ("max-pods", ["50"], {"maxPods": 50}),
        ("max-pods", ["50", "60"], {"maxPods": 60}),
        ("sync-frequency", ["30s"], {"syncFrequency": "30s"}),
        ("serialize-image-pulls", ["false"], {"serializeImagePulls": False}),
        ("serialize-image-pulls", ["T"], {"serializeImagePulls": True}),
        ("cluster-dns", ["10.0.0.1,10.0.0.2", "10.0.0.3"], {"clusterDNS": ["10.0.0.1", "10.0.0.2", "10.0.0.3"]}),
        (
            "eviction-hard",
            ["memory.available<100Mi,nodefs.available<10%"],
            {"evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"}},
        ),
        (
            "kube-reserved",
            ["cpu=100m, memory=1Gi", "pid=5"],
            {"kubeReserved": {"cpu": "100m", "memory": "1Gi", "pid": "5"}},
        ),
        ("cpu-manager-policy-options", ["a=b,c", "d=e"], {"cpuManagerPolicyOptions": {"a": "b,c", "d": "e"}}),
        (
            "manifest-url-header",
            ["a:hello,b:again,c:world", "b:beautiful"],
            {"staticPodURLHeader": {"a": ["hello"], "b": ["again", "beautiful"], "c": ["world"]}},
        ),
        (
            "register-with-taints",
            ["a=b:NoSchedule,c:NoExecute"],
            {
                "registerWithTaints": [
                    {"key": "a", "value": "b", "effect": "NoSchedule"},
                    {"key": "c", "value": "", "effect": "NoExecute"},
                ]
            },
        ),
        (
            "reserved-memory",
            ["0:memory=1Gi,hugepages-2Mi=4Mi", "1:memory=2Gi"],
            {
                "reservedMemory": [
                    {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}},
                    {"numaNode": 1, "limits": {"memory": "2Gi"}},
                ]
            },
        ),
        ("anonymous-auth", ["true"], {"authentication": {"anonymous": {"enabled": True}}}),
    ],
)
def test_values(flag: str, texts: list[str], expected: dict[str, Any]) -> None:
    assert configuration_from_flags({flag: texts}) == expected
    read_configuration(expected)


@pytest.mark.parametrize(
    ("flag", "text", "expected"),
    [
        ("max-pods", "many", "--max-pods: 'many' is not a whole number"),
        ("serialize-image-pulls", "maybe", "--serialize-image-pulls: 'maybe' is not true or false"),
        (
            "eviction-hard",
            "memory.available=1",
            "--eviction-hard: malformed pair 'memory.available=1', expect name<value",
        ),
        ("manifest-url-header", "token", "--manifest-url-header: malformed pair 'token', expect name:value"),
        ("register-with-taints", "a=b", "--register-with-taints: invalid taint 'a=b', expect key=value:Effect"),
        ("reserved-memory", "1Gi", "--reserved-memory: invalid reservation '1Gi', expect 0:memory=1Gi"),
    ],
)
def test_invalid_values(flag: str, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as found:
        configuration_from_flags({flag: [text]})
    assert str(found.value) == expected


def test_no_flag_sets_two_fields() -> None:
    flags = [field.flag for _, field in flag_fields()]
    assert len(flags) == len(set(flags)) > 90


def test_the_flag_of_a_field() -> None:
    assert flag_of(("maxPods",)) == "--max-pods"
    assert flag_of(("evictionHard", "memory.available")) == "--eviction-hard"
    assert flag_of(("authentication", "webhook", "cacheTTL")) == "--authentication-token-webhook-cache-ttl"
    assert flag_of(("shutdownGracePeriod",)) == ""
