"""Validation of KubeletConfiguration by the kubelet's own rules.

Pure: it takes values and gates and returns problems. The rules for eviction thresholds are in
`kubelet/eviction/thresholds.py`.

Mirrors: pkg/kubelet/apis/config/validation/validation.go ValidateKubeletConfiguration; cmd/kubelet/app/server.go
parseResourceList
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.api.quantity import quantity
from kubesim.features import FeatureGates, profiles_with
from kubesim.golang.addresses import url_problem
from kubesim.golang.durations import parse_duration
from kubesim.golang.text import duration
from kubesim.kubeletconfig.decode import ConfigurationProblem, Path, Values
from kubesim.kubeletconfig.flags import flag_of

Problems = Iterator[ConfigurationProblem]

MILLISECOND, SECOND = 1_000, 1_000_000
MAX_CPUS = 1 << 16

_NOT_NEGATIVE = (
    "eventBurst", "eventRecordQPS", "kubeAPIBurst", "kubeAPIQPS", "maxOpenFiles", "maxPods", "podsPerCore",
    "registryBurst", "registryPullQPS", "evictionMaxPodGracePeriod",
)  # fmt: skip
_RANGES: Mapping[str, tuple[int, int]] = {
    "imageGCHighThresholdPercent": (0, 100),
    "imageGCLowThresholdPercent": (0, 100),
    "iptablesDropBit": (0, 31),
    "iptablesMasqueradeBit": (0, 31),
    "oomScoreAdj": (-1000, 1000),
    "port": (1, 65535),
    "readOnlyPort": (0, 65535),
    "healthzPort": (0, 65535),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
    "topologyManagerPolicy": ("none", "best-effort", "restricted", "single-numa-node"),
    "topologyManagerScope": ("container", "pod"),
    "hairpinMode": ("none", "hairpin-veth", "promiscuous-bridge"),
    "memorySwap.swapBehavior": ("", "LimitedSwap", "NoSwap"),
    "memoryReservationPolicy": ("None", "TieredReservation"),
    "configMapAndSecretChangeDetectionStrategy": ("Get", "Cache", "Watch"),
    "authorization.mode": ("AlwaysAllow", "Webhook"),
    "cgroupDriver": ("cgroupfs", "systemd"),
    "logging.format": ("text", "json"),
}
_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")
_ENFORCEMENTS = (
    "pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none",
)  # fmt: skip
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CPUS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def check_configuration(values: Values, gates: FeatureGates) -> Problems:
    """All problems of the configuration, in the kubelet's order where it has one."""
    yield from _numbers(values)
    yield from _choices(values)
    yield from _times(values, gates)
    yield from _images(values, gates)
    yield from _shutdown(values, gates)
    yield from _node(values)
    yield from _gated(values, gates)
    yield from _sources(values)


def _problem(name: str, text: str, *inside: str | int) -> ConfigurationProblem:
    path: Path = (*name.split("."), *inside)
    flag = flag_of(tuple(name.split(".")))
    return ConfigurationProblem(path, f"{text} ({flag})" if flag else text)


def _numbers(values: Values) -> Problems:
    if values["nodeLeaseDurationSeconds"] <= 0:
        yield _problem("nodeLeaseDurationSeconds", "must be greater than 0")
    for name in _NOT_NEGATIVE:
        if values[name] < 0:
            yield _problem(name, f"{values[name]} must not be a negative number")
    for name, (least, most) in _RANGES.items():
        if not least <= values[name] <= most:
            yield _problem(name, f"{values[name]} must be between {least} and {most}, inclusive")
    if values["imageGCLowThresholdPercent"] >= values["imageGCHighThresholdPercent"]:
        text = f"must be less than imageGCHighThresholdPercent ({values['imageGCHighThresholdPercent']})"
        yield _problem("imageGCLowThresholdPercent", text)
    if values["nodeStatusMaxImages"] < -1:
        yield _problem("nodeStatusMaxImages", f"{values['nodeStatusMaxImages']} must be -1 or greater")
    if values["containerLogMaxFiles"] <= 1:
        yield _problem("containerLogMaxFiles", "must be greater than 1")
    if values["containerLogMaxWorkers"] < 1:
        yield _problem("containerLogMaxWorkers", "must be greater than or equal to 1")
    if not 0 < values["memoryThrottlingFactor"] <= 1:
        yield _problem("memoryThrottlingFactor", "must be greater than 0 and less than or equal to 1.0")
    yield from _amount(values, "containerLogMaxSize", values["containerLogMaxSize"])
    if values["runOnce"]:
        yield _problem("runOnce", "the mode is deprecated and must not be set")


def _amount(values: Values, name: str, text: str, *inside: str) -> Problems:
    try:
        quantity(text)
    except ValueError as error:
        yield _problem(name, str(error), *inside)


def _choices(values: Values) -> Problems:
    for name, known in _CHOICES.items():
        if values[name] not in known:
            choices = ", ".join(choice or '""' for choice in known)
            yield _problem(name, f"{values[name]!r} must be one of {choices}")


def _times(values: Values, gates: FeatureGates) -> Problems:
    for name in ("syncFrequency", "fileCheckFrequency", "httpCheckFrequency", "nodeStatusUpdateFrequency"):
        if values[name] < 0:  # upstream accepts it and then never pauses
            yield _problem(name, "must not be negative")
    quota = values["cpuCFSQuotaPeriod"]
    if not gates.enabled("CustomCPUCFSQuotaPeriod"):
        if quota != 100 * MILLISECOND:
            yield _problem("cpuCFSQuotaPeriod", _requires("CustomCPUCFSQuotaPeriod", gates))
    elif not MILLISECOND <= quota <= SECOND:
        yield _problem("cpuCFSQuotaPeriod", f"{duration(quota)} must be between 1ms and 1s, inclusive")
    if values["containerLogMonitorInterval"] < 3 * SECOND:
        yield _problem("containerLogMonitorInterval", "must be greater than or equal to 3s")
    if values["evictionPressureTransitionPeriod"] < 0:
        yield _problem("evictionPressureTransitionPeriod", "must not be negative")
    if values["logging.flushFrequency"] <= 0:
        yield _problem("logging.flushFrequency", "must be greater than zero")
    period = values["crashLoopBackOff.maxContainerRestartPeriod"]
    if period is not None:
        if not gates.enabled("KubeletCrashLoopBackOffMax"):
            text = "must not be set without feature gate KubeletCrashLoopBackOffMax"
            yield _problem("crashLoopBackOff.maxContainerRestartPeriod", text)
        elif not SECOND <= period <= 300 * SECOND:
            text = f"{duration(period)} must be between 1s and 300s"
            yield _problem("crashLoopBackOff.maxContainerRestartPeriod", text)


def _images(values: Values, gates: FeatureGates) -> Problems:
    least, most = values["imageMinimumGCAge"], values["imageMaximumGCAge"]
    if most and not gates.enabled("ImageMaximumGCAge"):
        yield _problem("imageMaximumGCAge", _requires("ImageMaximumGCAge", gates))
    for name in ("imageMinimumGCAge", "imageMaximumGCAge"):
        if values[name] < 0:
            yield _problem(name, f"{duration(values[name])} must not be negative")
    if 0 < most <= least:
        yield _problem("imageMaximumGCAge", f"must be greater than imageMinimumGCAge ({duration(least)})")
    parallel = values["maxParallelImagePulls"]
    if parallel is not None and parallel < 1:
        yield _problem("maxParallelImagePulls", f"{parallel} must be a positive number")
    if values["serializeImagePulls"] and (parallel or 0) > 1:
        yield _problem("maxParallelImagePulls", "cannot be larger than 1 unless serializeImagePulls is set to false")
    policy, listed = values["imagePullCredentialsVerificationPolicy"], values["preloadedImagesVerificationAllowlist"]
    if not gates.enabled("KubeletEnsureSecretPulledImages"):
        for name in ("imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist"):
            if values[name]:
                yield _problem(name, "must not be set without feature gate KubeletEnsureSecretPulledImages")
    elif policy and policy not in _POLICIES:
        yield _problem("imagePullCredentialsVerificationPolicy", f"{policy!r} must be one of {', '.join(_POLICIES)}")
    elif listed and policy != "NeverVerifyAllowlistedImages":
        text = "is only for the imagePullCredentialsVerificationPolicy NeverVerifyAllowlistedImages"
        yield _problem("preloadedImagesVerificationAllowlist", text)
    for number, pattern in enumerate(listed or ()):
        trimmed = pattern.removesuffix("*") if pattern.endswith("/*") else pattern
        if pattern != pattern.strip() or trimmed in ("", "/") or "*" in trimmed:
            text = f"{pattern!r} must be the name of an image, or of a place such as registry.example/team/*"
            yield _problem("preloadedImagesVerificationAllowlist", text, number)


def _shutdown(values: Values, gates: FeatureGates) -> Problems:
    whole, critical = values["shutdownGracePeriod"], values["shutdownGracePeriodCriticalPods"]
    if gates.enabled("GracefulNodeShutdown"):
        if critical > whole:
            text = f"must not be greater than shutdownGracePeriod ({duration(whole)})"
            yield _problem("shutdownGracePeriodCriticalPods", text)
        for name, period in (("shutdownGracePeriod", whole), ("shutdownGracePeriodCriticalPods", critical)):
            if period < 0 or 0 < period < SECOND:
                yield _problem(name, f"{duration(period)} must be either zero or at least 1s")
    elif whole > 0 or critical > 0:
        yield _problem("shutdownGracePeriod", _requires("GracefulNodeShutdown", gates))
    by_priority = values["shutdownGracePeriodByPodPriority"]
    if by_priority and not gates.enabled("GracefulNodeShutdownBasedOnPodPriority"):
        text = _requires("GracefulNodeShutdownBasedOnPodPriority", gates)
        yield _problem("shutdownGracePeriodByPodPriority", text)
    elif by_priority and (whole > 0 or critical > 0):
        yield _problem("shutdownGracePeriodByPodPriority", "cannot be given together with shutdownGracePeriod")
    for number, item in enumerate(by_priority or ()):
        if item["shutdownGracePeriodSeconds"] < 0:
            text = "must not be a negative number"
            yield _problem("shutdownGracePeriodByPodPriority", text, number, "shutdownGracePeriodSeconds")


def _node(values: Values) -> Problems:
    if values["systemCgroups"] and not values["cgroupRoot"]:
        yield _problem("systemCgroups", "needs a cgroupRoot")
    for name in ("systemReserved", "kubeReserved"):
        for resource, amount in (values[name] or {}).items():
            if resource not in _RESERVABLE:
                yield _problem(name, f"cannot reserve {resource!r}, only {', '.join(_RESERVABLE)}", resource)
            elif not (problems := list(_amount(values, name, amount, resource))):
                if quantity(amount).sign < 0:
                    yield _problem(name, f"{amount} cannot be negative", resource)
            else:
                yield from problems
    for number, taint in enumerate(values["registerWithTaints"] or ()):
        if not taint["key"]:
            yield _problem("registerWithTaints", "is needed", number, "key")
        if taint["effect"] not in _TAINT_EFFECTS:
            yield _problem("registerWithTaints", f"must be one of {', '.join(_TAINT_EFFECTS)}", number, "effect")
        if taint["timeAdded"]:
            yield _problem("registerWithTaints", "must not be set", number, "timeAdded")
    reserved = values["reservedSystemCPUs"]
    if reserved:
        if values["systemReservedCgroup"] or values["kubeReservedCgroup"]:
            yield _problem("reservedSystemCPUs", "cannot be used with systemReservedCgroup or kubeReservedCgroup")
        if not _is_cpu_set(reserved):
            yield _problem("reservedSystemCPUs", f"{reserved!r} is not a set of CPUs such as 0-3,7")
    yield from _reserved_memory(values)
    yield from _enforcements(values)
    ids = values["userNamespaces.idsPerPod"]
    if ids is not None and (ids < 65536 or ids % 65536 or ids >= 1 << 32):
        yield _problem("userNamespaces.idsPerPod", "must be a multiple of 65536 that is less than 4294967296")
    logs = values["podLogsDir"]
    if not logs.startswith("/") or not logs.isascii() or posixpath.normpath(logs) != logs:
        yield _problem("podLogsDir", f"{logs!r} must be an absolute, normalized path of ASCII characters")


def _is_cpu_set(text: str) -> bool:
    """Whether the text is a CPU set such as `0-3,7`."""
    if not _CPUS.fullmatch(text):
        return False
    ranges = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return all(ends[0] <= ends[-1] < MAX_CPUS for ends in ranges)


def _reserved_memory(values: Values) -> Problems:
    seen: set[tuple[int, str]] = set()
    for number, item in enumerate(values["reservedMemory"] or ()):
        for resource, amount in item["limits"].items():
            inside = (number, "limits", resource)
            if resource != "memory" and not resource.startswith("hugepages-"):
                yield _problem("reservedMemory", "only memory and hugepages-<size> can be reserved", *inside)
            if amount.value() == 0:
                yield _problem("reservedMemory", "may not be zero", *inside)
            if (item["numaNode"], resource) in seen:
                yield _problem("reservedMemory", f"given twice for NUMA node {item['numaNode']}", *inside)
            seen.add((item["numaNode"], resource))


def _enforcements(values: Values) -> Problems:
    given = values["enforceNodeAllocatable"]
    for number, name in enumerate(given):
        kind = name.removesuffix("-compressible").partition("-")[0]
        if name not in _ENFORCEMENTS:
            yield _problem("enforceNodeAllocatable", f"{name!r} must be one of {', '.join(_ENFORCEMENTS)}", number)
        elif given.index(name) != number:
            yield _problem("enforceNodeAllocatable", f"{name!r} is given twice", number)
        elif name == "none" and len(given) > 1:
            yield _problem("enforceNodeAllocatable", "may not contain more when none is specified", number)
        elif name.endswith("-compressible") and name.removesuffix("-compressible") in given:
            text = f"{name!r} and {name.removesuffix('-compressible')!r} cannot be specified together"
            yield _problem("enforceNodeAllocatable", text, number)
        elif kind in ("system", "kube") and not values[f"{kind}ReservedCgroup"]:
            yield _problem(f"{kind}ReservedCgroup", f"must be specified when enforceNodeAllocatable has {name!r}")
        elif name != "none" and not values["cgroupsPerQOS"]:
            yield _problem("cgroupsPerQOS", f"must be true when enforceNodeAllocatable has {name!r}")


def _requires(gate: str, gates: FeatureGates) -> str:
    others = profiles_with(gate)
    missing = "" if gates.profile in others else f", which {gates.profile} does not have, but {', '.join(others)}"
    return f"requires feature gate {gate}{missing}"


def _gated(values: Values, gates: FeatureGates) -> Problems:
    if values["serverTLSBootstrap"] and not gates.enabled("RotateKubeletServerCertificate"):
        yield _problem("serverTLSBootstrap", _requires("RotateKubeletServerCertificate", gates))
    if values["memorySwap.swapBehavior"] and not gates.enabled("NodeSwap"):
        yield _problem("memorySwap.swapBehavior", _requires("NodeSwap", gates))
    if values["memoryReservationPolicy"] == "TieredReservation" and not gates.enabled("MemoryQoS"):
        yield _problem("memoryReservationPolicy", _requires("MemoryQoS", gates))
    rate = values["tracing.samplingRatePerMillion"]
    if rate is not None and not 0 <= rate <= 1_000_000:
        yield _problem("tracing.samplingRatePerMillion", f"{rate} must be between 0 and 1000000, inclusive")
    modules = values["logging.vmodule"] or ()
    if modules and values["logging.format"] != "text":
        yield _problem("logging.vmodule", "is only for the text format")
    for number, module in enumerate(modules):
        if not module["filePattern"] or set("=,") & set(module["filePattern"]):
            yield _problem("logging.vmodule", "must be given, without = and comma", number, "filePattern")
    if values["enableSystemLogQuery"] and not gates.enabled("NodeLogQuery"):
        yield _problem("enableSystemLogQuery", _requires("NodeLogQuery", gates))
    if values["enableSystemLogQuery"] and not values["enableSystemLogHandler"]:
        yield _problem("enableSystemLogQuery", "requires enableSystemLogHandler")


def _sources(values: Values) -> Problems:
    """Problems of static pod sources that the kubelet finds only when it reads them."""
    url = values["staticPodURL"]
    if url and not url.startswith(("http://", "https://")):
        yield _problem("staticPodURL", f"{url!r} must begin with http:// or https://")
    elif url and (problem := url_problem(url)):
        yield _problem("staticPodURL", f"{url!r} is no usable URL: {problem}")
    yield from check_header("staticPodURLHeader", values["staticPodURLHeader"] or {})
    cidr = values["podCIDR"]
    if cidr:
        try:
            network: Any = ipaddress.ip_network(cidr, strict=False)
        except ValueError:
            network = None
        if network is None or network.num_addresses < 8:
            yield _problem("podCIDR", f"{cidr!r} must be a range of addresses such as 10.88.0.0/24")
    for signal, period in (values["evictionSoftGracePeriod"] or {}).items():
        try:
            parse_duration(period)
        except ValueError as error:
            yield _problem("evictionSoftGracePeriod", str(error), signal)


def check_header(name: str, header: Mapping[str, list[str]]) -> Problems:
    for key, lines in header.items():
        if not _TOKEN.fullmatch(key):
            yield _problem(name, "is not the name of a header", key)
        for number, line in enumerate(lines):
            if not line.isprintable():
                yield _problem(name, "must be one line of text", key, number)
