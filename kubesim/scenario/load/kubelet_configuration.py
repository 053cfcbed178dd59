"""A kubelet's configuration: the values of the user, and their meaning for the simulated components.

It comes from a file of the real type, from a scenario, from flags, or from several of them: the more specific overrides
the more general. `jitter` is an addition of kubesim, for scenarios only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kubesim.api.node import Taint
from kubesim.api.pods.sysctl_names import normalize_name
from kubesim.api.quantity import Quantity, quantity
from kubesim.errors import GateError
from kubesim.features import FeatureGates, configured_gates
from kubesim.golang.addresses import ip_text, parse_ip_sloppy
from kubesim.golang.durations import parse_duration
from kubesim.kubelet.admission.sysctls import namespace_of
from kubesim.kubelet.cm.node_allocatable import NodeAllocatableConfig
from kubesim.kubelet.containers.log_rotation import LogRotatePolicy
from kubesim.kubelet.eviction.thresholds import (
    DEFAULT_EVICTION_HARD,
    EvictionConfig,
    InvalidThreshold,
    parse_threshold_config,
)
from kubesim.kubelet.images.image_gc import ImageGCPolicy
from kubesim.kubelet.node.node_shutdown import ShutdownGracePeriod, shutdown_periods
from kubesim.kubelet.resize.resize_feasibility import NodePolicies
from kubesim.kubelet.sandbox.settings import CgroupSettings, DNSSettings, SandboxSettings
from kubesim.kubelet.sandbox.userns import ALL_IDS, UNIT_LENGTH, range_problem
from kubesim.kubeletconfig.decode import ConfigurationProblem, Path, Values, read_configuration
from kubesim.kubeletconfig.fields import ConfigurationField, all_fields
from kubesim.kubeletconfig.rules import check_configuration
from kubesim.runtime.allocation.cpuset import parse_cpus
from kubesim.runtime.images.image_manager import ImagePullSettings
from kubesim.runtime.images.pull_records import VerificationPolicy, verification_policy
from kubesim.values import replace

JsonObject = dict[str, Any]

JITTER = "jitter"


@dataclass(frozen=True)
class KubeletConfiguration:
    """The configuration of a kubelet. `given` are the user's values, in the spelling of v1beta1. Raises
    ConfigurationProblem for invalid values."""

    given: Mapping[str, Any] = field(default_factory=dict)
    jitter: bool = True
    values: Values = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", read_configuration(dict(self.given)))

    def over(self, base: Mapping[str, Any]) -> KubeletConfiguration:
        """This configuration on top of a more general one."""
        return KubeletConfiguration(merged(base, self.given), self.jitter)

    def under(self, top: Mapping[str, Any]) -> KubeletConfiguration:
        """This configuration with flags on top. A flag that holds several values replaces them all."""
        given = dict(self.given)
        for name, value in top.items():
            inner = given.get(name)
            deeper = isinstance(inner, dict) and name in _NESTED
            given[name] = merged(inner, value) if deeper else value
        return KubeletConfiguration(given, self.jitter)

    def check(self, gates: FeatureGates) -> None:
        """Raises ConfigurationProblem if a kubelet with these gates would not start with this configuration."""
        for problem in check_configuration(self.values, gates):
            raise problem
        for pattern in self.values["allowedUnsafeSysctls"] or ():
            if not namespace_of(normalize_name(pattern).partition("*")[0]):
                text = f"the sysctls {pattern} are not known to be namespaced"
                raise ConfigurationProblem(("allowedUnsafeSysctls",), text)
        ids = self.values["userNamespaces.idsPerPod"]
        too_few = range_problem(ids, ALL_IDS - ids, ids, self.values["maxPods"]) if ids else ""
        if too_few:
            raise ConfigurationProblem(("userNamespaces", "idsPerPod"), too_few)
        try:
            _ = self.eviction
        except InvalidThreshold as error:
            raise ConfigurationProblem(_eviction_field(str(error), self.given), str(error)) from None

    def without_effect(self, *, has_port: bool = False) -> list[str]:
        """The top-level fields that are set and have no effect in kubesim. `has_port`: the kubelet serves its port."""
        names = (
            name
            for name, known in all_fields()
            if not (known.played and (has_port or not name.startswith(_OF_THE_PORT)))
            and _says_something(name, known, self.given)
        )
        return list(dict.fromkeys(name.partition(".")[0] for name in names))

    # -- settings of the components -------------------------------------------------------------------------------

    @property
    def feature_gates(self) -> dict[str, bool]:
        return self.values["featureGates"] or {}

    def check_gates(self, profile: str) -> None:
        try:
            configured_gates(self.feature_gates, profile)
        except GateError as error:
            raise ConfigurationProblem(("featureGates",), str(error)) from None

    @property
    def image_pulls(self) -> ImagePullSettings:
        """The settings of image pulls. By default, pulls are parallel only if several at a time are allowed."""
        values = self.values
        serialize, at_once = values["serializeImagePulls"], values["maxParallelImagePulls"]
        if serialize is None:
            serialize = (at_once or 0) < 2
        return ImagePullSettings(serialize, at_once, values["registryPullQPS"], values["registryBurst"])

    @property
    def verification(self) -> VerificationPolicy:
        name = self.values["imagePullCredentialsVerificationPolicy"] or "NeverVerifyPreloadedImages"
        return verification_policy(name, self.values["preloadedImagesVerificationAllowlist"] or ())

    def max_pods(self, cpus: int) -> int:
        limit: int = self.values["maxPods"]
        per_core: int = self.values["podsPerCore"]
        return min(limit, per_core * cpus) if per_core else limit

    @property
    def reserved(self) -> dict[str, Quantity]:
        """The reserved amount of each resource. Reserved CPU ids take precedence over CPU quantities."""
        system, kube = dict(self.values["systemReserved"] or {}), dict(self.values["kubeReserved"] or {})
        if self.values["reservedSystemCPUs"]:
            kube.pop("cpu", None)
            system["cpu"] = str(len(parse_cpus(self.values["reservedSystemCPUs"])))
        total: dict[str, Quantity] = {}
        for reserved in (system, kube):
            for resource, amount in reserved.items():
                known = total.get(resource)
                total[resource] = quantity(amount) if known is None else known + quantity(amount)
        return total

    @property
    def taints(self) -> tuple[Taint, ...]:
        return tuple(
            Taint(key=taint["key"], value=taint["value"], effect=taint["effect"])
            for taint in self.values["registerWithTaints"] or ()
        )

    @cached_property
    def eviction(self) -> EvictionConfig:
        values = self.values
        graces = {name: parse_duration(text) for name, text in (values["evictionSoftGracePeriod"] or {}).items()}
        thresholds = parse_threshold_config(
            self._eviction_hard,
            values["evictionSoft"] or {},
            graces,
            values["evictionMinimumReclaim"] or {},
            enforce_node_allocatable="pods" in values["enforceNodeAllocatable"],
        )
        return EvictionConfig(
            thresholds, values["evictionPressureTransitionPeriod"], values["evictionMaxPodGracePeriod"]
        )

    @property
    def _eviction_hard(self) -> Mapping[str, str]:
        """Hard eviction thresholds, which replace all the defaults unless merging with the defaults is on."""
        hard: Mapping[str, str] | None = self.values["evictionHard"]
        if hard is None or self.values["mergeDefaultEvictionSettings"]:
            hard = {**DEFAULT_EVICTION_HARD, **(hard or {})}
        return hard

    @property
    def node_allocatable(self) -> NodeAllocatableConfig:
        """The allocatable resources that the node reports: reservations and hard thresholds are subtracted even if no
        cgroup enforces them."""
        thresholds = parse_threshold_config(self._eviction_hard, enforce_node_allocatable=False)
        return NodeAllocatableConfig(self.reserved, thresholds)

    @property
    def policies(self) -> NodePolicies:
        return NodePolicies(self.values["cpuManagerPolicy"], self.values["memoryManagerPolicy"])

    @property
    def sandbox(self) -> SandboxSettings:
        """The DNS settings of sandboxes. Absent clusterDNS and clusterDomain mean those of a kubeadm cluster; empty
        values mean none."""
        values, given, dns = self.values, self.given, DNSSettings(resolv_conf=self.values["resolvConf"])
        if given.get("clusterDNS") is not None:
            addresses = map(parse_ip_sloppy, values["clusterDNS"] or ())  # the kubelet skips invalid addresses
            dns = replace(dns, cluster_dns=tuple(ip_text(address) for address in addresses if address is not None))
        if given.get("clusterDomain") is not None:
            dns = replace(dns, cluster_domain=values["clusterDomain"])
        cgroups = CgroupSettings(values["cgroupDriver"], values["cgroupRoot"] or "/", values["cgroupsPerQOS"])
        return SandboxSettings(dns, cgroups, values["userNamespaces.idsPerPod"] or UNIT_LENGTH)

    @property
    def image_gc(self) -> ImageGCPolicy:
        values = self.values
        return ImageGCPolicy(
            values["imageGCHighThresholdPercent"],
            values["imageGCLowThresholdPercent"],
            values["imageMinimumGCAge"],
            values["imageMaximumGCAge"],
        )

    @property
    def log_rotation(self) -> LogRotatePolicy:
        values = self.values
        size = quantity(values["containerLogMaxSize"]).value()
        return LogRotatePolicy(size, values["containerLogMaxFiles"], values["containerLogMonitorInterval"])

    @property
    def shutdown_periods(self) -> tuple[ShutdownGracePeriod, ...]:
        values = self.values
        by_priority = tuple(
            ShutdownGracePeriod(item["priority"], item["shutdownGracePeriodSeconds"])
            for item in values["shutdownGracePeriodByPodPriority"] or ()
        )
        return shutdown_periods(values["shutdownGracePeriod"], values["shutdownGracePeriodCriticalPods"], by_priority)


_NESTED = ("authentication", "authorization", "logging", "memorySwap", "crashLoopBackOff")


def merged(base: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396), as the kubelet merges its drop-in files."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(base) if isinstance(base, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


_OF_THE_PORT = ("authentication.", "authorization.")


def _says_something(dotted: str, known: ConfigurationField, given: Mapping[str, Any]) -> bool:
    """Whether a value is set, and not to the zero value that means the default."""
    value: Any = given
    for step in dotted.split("."):
        if not isinstance(value, Mapping) or value.get(step) is None:
            return False
        value = value[step]
    return known.pointer or value not in ("", "0", "0s", 0, False)


def _eviction_field(problem: str, given: Mapping[str, Any]) -> Path:
    """The field that a threshold problem is about: the one that contains the signal."""
    names = ("evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim", "evictionHard")
    for name, signal in _signals(names, given):
        if signal in problem:
            return (name, signal)
    return ("evictionHard",)


def _signals(names: Sequence[str], given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in names:
        yield from ((name, signal) for signal in given.get(name) or ())
