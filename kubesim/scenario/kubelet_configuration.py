"""The fields of a KubeletConfiguration that change what is simulated, with the kubelet's own rules about them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.api.quantity import quantity
from kubesim.kubelet.admission.sysctls import namespace_of, normalize_name
from kubesim.kubelet.eviction.thresholds import (
    DEFAULT_EVICTION_HARD,
    EvictionConfig,
    InvalidThreshold,
    parse_threshold_config,
)
from kubesim.kubelet.image_gc import ImageGCPolicy
from kubesim.kubelet.log_rotation import LogRotatePolicy
from kubesim.kubelet.node_shutdown import ShutdownGracePeriod, shutdown_periods
from kubesim.kubelet.resize_feasibility import NodePolicies
from kubesim.runtime.images import ImagePullSettings
from kubesim.runtime.pull_records import VerificationPolicy, verification_policy
from kubesim.scenario.durations import Duration
from kubesim.scenario.strict import Strict, as_list, is_amount

MINUTE = 60_000_000


class CrashLoopBackOff(Strict):
    max_container_restart_period: Duration | None = None


class ByPodPriority(Strict):
    priority: int
    shutdown_grace_period_seconds: int = Field(ge=0)


class KubeletConfiguration(Strict):
    """As upstream spells and defaults them, and `jitter`, which is ours."""

    jitter: bool = True
    max_pods: int = Field(default=110, ge=0)
    sync_frequency: Duration | None = None
    crash_loop_back_off: CrashLoopBackOff = CrashLoopBackOff()

    cpu_manager_policy: Literal["none", "static"] = "none"
    memory_manager_policy: Literal["None", "Static"] = "None"

    serialize_image_pulls: bool | None = None  # by default, unless several may go side by side
    max_parallel_image_pulls: int | None = Field(default=None, ge=1)
    registry_pull_qps: int = Field(default=5, ge=0, alias="registryPullQPS")
    registry_burst: int = Field(default=10, ge=0)
    image_pull_credentials_verification_policy: Literal[
        "NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"
    ] = "NeverVerifyPreloadedImages"
    preloaded_images_verification_allowlist: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()

    allowed_unsafe_sysctls: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()

    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] = Field(default_factory=dict)
    eviction_soft_grace_period: dict[str, Duration] = Field(default_factory=dict)
    eviction_minimum_reclaim: dict[str, str] = Field(default_factory=dict)
    eviction_pressure_transition_period: Duration = 5 * MINUTE
    eviction_max_pod_grace_period: int = Field(default=0, ge=0)  # seconds
    merge_default_eviction_settings: bool = False

    image_gc_high_threshold_percent: int = Field(default=85, ge=0, le=100, alias="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: int = Field(default=80, ge=0, le=100, alias="imageGCLowThresholdPercent")
    image_minimum_gc_age: Duration = Field(default=2 * MINUTE, alias="imageMinimumGCAge")
    image_maximum_gc_age: Duration = Field(default=0, alias="imageMaximumGCAge")

    container_log_max_size: str = "10Mi"
    container_log_max_files: int = Field(default=5, gt=1)
    container_log_monitor_interval: Duration = Field(default=10_000_000, ge=3_000_000)

    shutdown_grace_period: Duration = 0
    shutdown_grace_period_critical_pods: Duration = 0
    shutdown_grace_period_by_pod_priority: Annotated[tuple[ByPodPriority, ...], BeforeValidator(as_list)] = ()

    @model_validator(mode="after")
    def _as_the_kubelet_wants_it(self) -> KubeletConfiguration:
        try:
            _ = self.eviction
        except InvalidThreshold as error:
            raise PydanticCustomError("eviction", "{problem}", {"problem": str(error)}) from None
        is_amount(self.container_log_max_size)
        for pattern in self.allowed_unsafe_sysctls:
            if not namespace_of(normalize_name(pattern).partition("*")[0]):
                problem = "the sysctls {pattern} are not known to be namespaced"
                raise PydanticCustomError("sysctls", problem, {"pattern": pattern})
        if self.serialize_image_pulls and (self.max_parallel_image_pulls or 1) > 1:
            raise PydanticCustomError(
                "pulls", "maxParallelImagePulls cannot be larger than 1 unless serializeImagePulls is false"
            )
        if self.image_gc_low_threshold_percent >= self.image_gc_high_threshold_percent:
            raise PydanticCustomError(
                "image_gc", "imageGCLowThresholdPercent must be less than imageGCHighThresholdPercent"
            )
        if 0 < self.image_maximum_gc_age <= self.image_minimum_gc_age:
            raise PydanticCustomError("image_gc", "imageMaximumGCAge must be greater than imageMinimumGCAge")
        if self.shutdown_grace_period_critical_pods > self.shutdown_grace_period:
            raise PydanticCustomError(
                "shutdown", "shutdownGracePeriodCriticalPods must not be greater than shutdownGracePeriod"
            )
        if self.shutdown_grace_period and self.shutdown_grace_period_by_pod_priority:
            raise PydanticCustomError(
                "shutdown", "give shutdownGracePeriodByPodPriority or shutdownGracePeriod, not both"
            )
        return self

    @property
    def eviction(self) -> EvictionConfig:
        """Hard thresholds that are given replace all the defaults, unless they are to be merged with them."""
        hard = self.eviction_hard
        if hard is None or self.merge_default_eviction_settings:
            hard = {**DEFAULT_EVICTION_HARD, **(hard or {})}
        thresholds = parse_threshold_config(
            hard, self.eviction_soft, self.eviction_soft_grace_period, self.eviction_minimum_reclaim
        )
        return EvictionConfig(thresholds, self.eviction_pressure_transition_period, self.eviction_max_pod_grace_period)

    @property
    def image_pulls(self) -> ImagePullSettings:
        serialize = self.serialize_image_pulls
        if serialize is None:
            serialize = (self.max_parallel_image_pulls or 1) == 1
        return ImagePullSettings(serialize, self.max_parallel_image_pulls, self.registry_pull_qps, self.registry_burst)

    @property
    def verification_policy(self) -> VerificationPolicy:
        """Whether a pod must prove that it may use an image which is already on the node."""
        name = self.image_pull_credentials_verification_policy
        return verification_policy(name, self.preloaded_images_verification_allowlist)

    @property
    def policies(self) -> NodePolicies:
        return NodePolicies(self.cpu_manager_policy, self.memory_manager_policy)

    @property
    def image_gc(self) -> ImageGCPolicy:
        return ImageGCPolicy(
            self.image_gc_high_threshold_percent,
            self.image_gc_low_threshold_percent,
            self.image_minimum_gc_age,
            self.image_maximum_gc_age,
        )

    @property
    def log_rotation(self) -> LogRotatePolicy:
        size = quantity(self.container_log_max_size).value()
        return LogRotatePolicy(size, self.container_log_max_files, self.container_log_monitor_interval)

    @property
    def shutdown_periods(self) -> tuple[ShutdownGracePeriod, ...]:
        by_priority = tuple(
            ShutdownGracePeriod(item.priority, item.shutdown_grace_period_seconds)
            for item in self.shutdown_grace_period_by_pod_priority
        )
        return shutdown_periods(self.shutdown_grace_period, self.shutdown_grace_period_critical_pods, by_priority)
