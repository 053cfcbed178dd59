"""Values with which the kubelet would not start. The cases are adapted from upstream's validation_test.go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.features import FeatureGates
from kubesim.kubeletconfig.decode import read_configuration
from kubesim.kubeletconfig.rules import check_configuration


def problems(given: dict[str, Any], **gates: bool) -> list[str]:
    return [str(problem) for problem in check_configuration(read_configuration(given), FeatureGates(gates))]


def test_the_defaults_are_valid() -> None:
    assert problems({}) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"nodeLeaseDurationSeconds": -1}, "nodeLeaseDurationSeconds: must be greater than 0"),
        ({"eventBurst": -1}, "eventBurst: -1 must not be a negative number (--event-burst)"),
        ({"eventRecordQPS": -1}, "eventRecordQPS: -1 must not be a negative number (--event-qps)"),
        ({"maxPods": -1}, "maxPods: -1 must not be a negative number (--max-pods)"),
        ({"registryPullQPS": -1}, "registryPullQPS: -1 must not be a negative number (--registry-qps)"),
        ({"healthzPort": 65536}, "healthzPort: 65536 must be between 0 and 65535, inclusive (--healthz-port)"),
        ({"port": -5}, "port: -5 must be between 1 and 65535, inclusive (--port)"),
        ({"oomScoreAdj": 1001}, "oomScoreAdj: 1001 must be between -1000 and 1000, inclusive (--oom-score-adj)"),
        ({"iptablesDropBit": 32}, "iptablesDropBit: 32 must be between 0 and 31, inclusive"),
        ({"imageGCHighThresholdPercent": 101}, "imageGCHighThresholdPercent: 101 must be between 0 and 100, inclusive"),
        (
            {"imageGCLowThresholdPercent": 85},
            "imageGCLowThresholdPercent: must be less than imageGCHighThresholdPercen",
        ),
        ({"imageMinimumGCAge": "-1s"}, "imageMinimumGCAge: -1s must not be negative (--minimum-image-ttl-duration)"),
        ({"imageMaximumGCAge": "1m"}, "imageMaximumGCAge: must be greater than imageMinimumGCAge (2m0s)"),
        ({"nodeStatusMaxImages": -2}, "nodeStatusMaxImages: -2 must be -1 or greater (--node-status-max-images)"),
        ({"cpuCFSQuotaPeriod": "2s"}, "cpuCFSQuotaPeriod: 2s must be between 1ms and 1s, inclusive"),
        ({"maxParallelImagePulls": 0}, "maxParallelImagePulls: 0 must be a positive number"),
        (
            {"maxParallelImagePulls": 5, "serializeImagePulls": True},
            "maxParallelImagePulls: cannot be larger than 1 unless serializeImagePulls is set to false",
        ),
        ({"runOnce": True}, "runOnce: the mode is deprecated and must not be set (--runonce)"),
        ({"systemCgroups": "/x"}, "systemCgroups: needs a cgroupRoot (--system-cgroups)"),
        (
            {"topologyManagerPolicy": "x"},
            "topologyManagerPolicy: 'x' must be one of none, best-effort, restricted, sin",
        ),
        ({"cpuManagerPolicy": "x"}, "cpuManagerPolicy: 'x' must be one of none, static (--cpu-manager-policy)"),
        ({"hairpinMode": "x"}, "hairpinMode: 'x' must be one of none, hairpin-veth, promiscuous-bridge"),
        (
            {"memorySwap": {"swapBehavior": "x"}},
            "memorySwap.swapBehavior: 'x' must be one of \"\", LimitedSwap, NoSwap",
        ),
        ({"logging": {"format": "xml"}}, "logging.format: 'xml' must be one of text, json"),
        ({"logging": {"flushFrequency": "-1s"}}, "logging.flushFrequency: must be greater than zero"),
        (
            {"shutdownGracePeriodCriticalPods": "2s"},
            "shutdownGracePeriodCriticalPods: must not be greater than shutdow",
        ),
        ({"shutdownGracePeriod": "500ms"}, "shutdownGracePeriod: 500ms must be either zero or at least 1s"),
        (
            {
                "shutdownGracePeriod": "2s",
                "shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 1}],
            },
            "shutdownGracePeriodByPodPriority: cannot be given together with shutdownGracePeriod",
        ),
        (
            {"crashLoopBackOff": {"maxContainerRestartPeriod": "301s"}},
            "crashLoopBackOff.maxContainerRestartPeriod: 5m1s must be between 1s and 300s",
        ),
        (
            {"enforceNodeAllocatable": ["pods", "pods"]},
            "enforceNodeAllocatable[1]: 'pods' is given twice (--enforce-node-allocatable)",
        ),
        (
            {"enforceNodeAllocatable": ["none", "pods"]},
            "enforceNodeAllocatable[0]: may not contain more when none is specified",
        ),
        ({"enforceNodeAllocatable": ["x"]}, "enforceNodeAllocatable[0]: 'x' must be one of pods, system-reserved"),
        (
            {"enforceNodeAllocatable": ["system-reserved"]},
            "systemReservedCgroup: must be specified when enforceNodeAllocatable has 'system-reserved'",
        ),
        (
            {
                "enforceNodeAllocatable": ["kube-reserved", "kube-reserved-compressible"],
                "kubeReservedCgroup": "/x",
            },
            "enforceNodeAllocatable[1]: 'kube-reserved-compressible' and 'kube-reserved' cannot be specified together",
        ),
        ({"cgroupsPerQOS": False}, "cgroupsPerQOS: must be true when enforceNodeAllocatable has 'pods'"),
        (
            {"reservedSystemCPUs": "0-3", "systemReservedCgroup": "/x"},
            "reservedSystemCPUs: cannot be used with systemReservedCgroup or kubeReservedCgroup",
        ),
        ({"reservedSystemCPUs": "some"}, "reservedSystemCPUs: 'some' is not a set of CPUs such as 0-3,7"),
        ({"reservedSystemCPUs": "0-99999999999"}, "reservedSystemCPUs: "),
        (
            {"reservedMemory": [{"limits": {"cpu": "1"}}]},
            "reservedMemory[0].limits.cpu: only memory and hugepages-<size",
        ),
        ({"reservedMemory": [{"limits": {"memory": "0"}}]}, "reservedMemory[0].limits.memory: may not be zero"),
        (
            {"reservedMemory": [{"limits": {"memory": 1}}] * 2},
            "reservedMemory[1].limits.memory: given twice for NUMA n",
        ),
        (
            {"memoryThrottlingFactor": 1.1},
            "memoryThrottlingFactor: must be greater than 0 and less than or equal to 1.0",
        ),
        ({"memoryReservationPolicy": "TieredReservation"}, "memoryReservationPolicy: requires feature gate MemoryQoS"),
        ({"containerLogMaxWorkers": 0}, "containerLogMaxWorkers: must be greater than or equal to 1"),
        ({"containerLogMonitorInterval": "1s"}, "containerLogMonitorInterval: must be greater than or equal to 3s"),
        ({"containerLogMaxFiles": 1}, "containerLogMaxFiles: must be greater than 1"),
        ({"containerLogMaxSize": "big"}, "containerLogMaxSize: "),
        ({"podLogsDir": "logs"}, "podLogsDir: 'logs' must be an absolute, normalized path of ASCII characters"),
        ({"userNamespaces": {"idsPerPod": 1}}, "userNamespaces.idsPerPod: must be a multiple of 65536"),
        ({"kubeReserved": {"gpu": "1"}}, "kubeReserved.gpu: cannot reserve 'gpu', only cpu, memory"),
        ({"kubeReserved": {"cpu": "-1"}}, "kubeReserved.cpu: -1 cannot be negative (--kube-reserved)"),
        ({"systemReserved": {"cpu": "x"}}, "systemReserved.cpu: "),
        ({"registerWithTaints": [{"key": "a"}]}, "registerWithTaints[0].effect: must be one of NoSchedule"),
        (
            {"registerWithTaints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
            "registerWithTaints[0].timeAdded: must not be set",
        ),
        (
            {"imagePullCredentialsVerificationPolicy": "x"},
            "imagePullCredentialsVerificationPolicy: 'x' must be one of ",
        ),
        (
            {"preloadedImagesVerificationAllowlist": ["x"]},
            "preloadedImagesVerificationAllowlist: is only for the image",
        ),
        ({"podLogsDir": "/logs/../x"}, "podLogsDir: '/logs/../x' must be an absolute, normalized path"),
        (
            {
                "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
                "preloadedImagesVerificationAllowlist": ["a/b/*", "a*"],
            },
            "preloadedImagesVerificationAllowlist[1]: 'a*' must be the name of an image",
        ),
        (
            {"tracing": {"samplingRatePerMillion": -1}},
            "tracing.samplingRatePerMillion: -1 must be between 0 and 1000000",
        ),
        ({"logging": {"vmodule": [{"verbosity": 3}]}}, "logging.vmodule[0].filePattern: must be given"),
        (
            {"logging": {"format": "json", "vmodule": [{"filePattern": "a", "verbosity": 3}]}},
            "logging.vmodule: is only for the text format",
        ),
        ({"staticPodURL": "ftp://x"}, "staticPodURL: 'ftp://x' must begin with http:// or https:// (--manifest-url)"),
        ({"staticPodURLHeader": {"a b": ["c"]}}, "staticPodURLHeader.a b: is not the name of a header"),
        ({"staticPodURLHeader": {"a": ["b\r\nc: d"]}}, "staticPodURLHeader.a[0]: must be one line of text"),
        ({"podCIDR": "10.0.0.0/40"}, "podCIDR: '10.0.0.0/40' must be a range of addresses"),
        (
            {"evictionSoftGracePeriod": {"memory.available": "x"}},
            "evictionSoftGracePeriod.memory.available: 'x' is not",
        ),
    ],
)
def test_values_that_a_kubelet_rejects(given: dict[str, Any], expected: str) -> None:
    found = problems(given)
    assert any(problem.startswith(expected) for problem in found), found


@pytest.mark.parametrize(
    ("given", "gate"),
    [
        ({"cpuCFSQuotaPeriod": "200ms"}, "CustomCPUCFSQuotaPeriod"),
        ({"imageMaximumGCAge": "1h"}, "ImageMaximumGCAge"),
        ({"crashLoopBackOff": {"maxContainerRestartPeriod": "60s"}}, "KubeletCrashLoopBackOffMax"),
        ({"shutdownGracePeriod": "30s"}, "GracefulNodeShutdown"),
        (
            {"shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 1}]},
            "GracefulNodeShutdownBasedOnPodPriority",
        ),
        ({"imagePullCredentialsVerificationPolicy": "AlwaysVerify"}, "KubeletEnsureSecretPulledImages"),
        ({"serverTLSBootstrap": True}, "RotateKubeletServerCertificate"),
        ({"memorySwap": {"swapBehavior": "LimitedSwap"}}, "NodeSwap"),
        ({"enableSystemLogQuery": True}, "NodeLogQuery"),
    ],
)
def test_values_that_need_a_gate(given: dict[str, Any], gate: str) -> None:
    assert problems(given, **{gate: True}) == []
    assert any(gate in problem for problem in problems(given, **{gate: False}))


def test_an_unsupported_gate_is_named_with_its_versions() -> None:
    given = read_configuration({"shutdownGracePeriod": "30s"})
    (problem,) = (
        str(each) for each in check_configuration(given, FeatureGates(profile="v1.12")) if "shutdown" in str(each)
    )
    assert "requires feature gate GracefulNodeShutdown, which v1.12 does not have, but v1.30, v1.35" in problem
