"""Eviction thresholds of the kubelet configuration: `memory.available: 100Mi`, `nodefs.available: 10%`.

A hard threshold has no grace period. A soft threshold must be met during its whole grace period. A met threshold stays
met until the available amount exceeds its value by `min_reclaim`.

Mirrors: pkg/kubelet/eviction/helpers.go ParseThresholdConfig, UpdateContainerFsThresholds; defaults_linux.go
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kubesim.api.quantity import BINARY_SI, Quantity, parse_quantity
from kubesim.api.timestamps import MINUTE
from kubesim.errors import KubesimError
from kubesim.kubelet.eviction import signals
from kubesim.values import replace, value_object

DEFAULT_EVICTION_HARD: Mapping[str, str] = {
    signals.MEMORY_AVAILABLE: "100Mi",
    signals.NODEFS_AVAILABLE: "10%",
    signals.NODEFS_INODES_FREE: "5%",
    signals.IMAGEFS_AVAILABLE: "15%",
    signals.IMAGEFS_INODES_FREE: "5%",
}


class InvalidThreshold(KubesimError):
    """An invalid threshold, grace period or minimum reclaim: the kubelet would not start."""


@value_object
class ThresholdValue:
    """An amount, or a fraction of the capacity (0.1 is 10 %)."""

    quantity: Quantity | None = None
    percentage: float = 0.0

    def of(self, capacity: Quantity) -> Quantity:
        if self.quantity is not None:
            return self.quantity
        return Quantity(int(float(capacity.value()) * self.percentage), 0, BINARY_SI)


@value_object
class Threshold:
    """A threshold. It is met when less than `value` of the signal is available, for `grace_period` microseconds."""

    signal: str
    value: ThresholdValue
    grace_period: int = 0
    min_reclaim: ThresholdValue | None = None

    @property
    def is_hard(self) -> bool:
        return self.grace_period == 0

    @property
    def key(self) -> tuple[str, int, ThresholdValue]:
        """The identity of a threshold; it excludes the minimum reclaim."""
        return self.signal, self.grace_period, self.value


def parse_threshold_config(
    hard: Mapping[str, str],
    soft: Mapping[str, str] | None = None,
    soft_grace_period: Mapping[str, int] | None = None,
    minimum_reclaim: Mapping[str, str] | None = None,
    *,
    enforce_node_allocatable: bool = True,
) -> tuple[Threshold, ...]:
    """All thresholds, hard ones first. Raises InvalidThreshold with the kubelet's message."""
    thresholds = _statements(hard)
    periods = soft_grace_period or {}
    for signal, period in periods.items():
        _check_signal(signal)
        if period < 0:
            raise InvalidThreshold(f"invalid eviction grace period specified: {period}, must be a positive value")
    for threshold in _statements(soft or {}):
        if threshold.signal not in periods:
            raise InvalidThreshold(f"grace period must be specified for the soft eviction threshold {threshold.signal}")
        thresholds.append(replace(threshold, grace_period=periods[threshold.signal]))
    reclaims = {signal: _minimum_reclaim(signal, text) for signal, text in (minimum_reclaim or {}).items()}
    thresholds = [replace(threshold, min_reclaim=reclaims.get(threshold.signal)) for threshold in thresholds]
    if enforce_node_allocatable:
        thresholds += [
            replace(threshold, signal=signals.ALLOCATABLE_MEMORY_AVAILABLE)
            for threshold in thresholds
            if threshold.signal == signals.MEMORY_AVAILABLE and threshold.is_hard
        ]
    return tuple(thresholds)


def _statements(statements: Mapping[str, str]) -> list[Threshold]:
    found = (_statement(signal, text) for signal, text in statements.items())
    return [threshold for threshold in found if threshold is not None]


def _statement(signal: str, text: str) -> Threshold | None:
    """One threshold; None for 0% and 100%, which disable it."""
    _check_signal(signal)
    if text.endswith("%"):
        if text in ("0%", "100%"):
            return None
        percentage = _percentage(text)
        if percentage < 0:
            raise InvalidThreshold(f"eviction percentage threshold {signal} must be >= 0%: {text}")
        if percentage > 1:
            raise InvalidThreshold(f"eviction percentage threshold {signal} must be <= 100%: {text}")
        return Threshold(signal, ThresholdValue(percentage=percentage))
    amount = _quantity(text)
    if amount.sign <= 0:
        raise InvalidThreshold(f"eviction threshold {signal} must be positive: {amount}")
    return Threshold(signal, ThresholdValue(amount))


def _minimum_reclaim(signal: str, text: str) -> ThresholdValue:
    _check_signal(signal)
    if text.endswith("%"):
        percentage = _percentage(text)
        if percentage <= 0:
            raise InvalidThreshold(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
        return ThresholdValue(percentage=percentage)
    amount = _quantity(text)
    if amount.sign < 0:
        raise InvalidThreshold(f"negative eviction minimum reclaim specified for {signal}")
    return ThresholdValue(amount)


def _check_signal(signal: str) -> None:
    if signal not in signals.RESOURCE:
        raise InvalidThreshold(f"unsupported eviction signal {signal}")


def _percentage(text: str) -> float:
    """The fraction in single precision, as upstream computes it: 10 % of a capacity is slightly more than a tenth."""
    try:
        return _float32(_float32(float(text.rstrip("%"))) / 100)
    except ValueError:
        raise InvalidThreshold(f'strconv.ParseFloat: parsing "{text.rstrip("%")}": invalid syntax') from None


def _float32(number: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def _quantity(text: str) -> Quantity:
    try:
        return parse_quantity(text)
    except ValueError as error:
        raise InvalidThreshold(str(error)) from None


def with_container_fs(thresholds: tuple[Threshold, ...], *, dedicated_image_fs: bool) -> tuple[Threshold, ...]:
    """Set the thresholds of containerfs: those of the file system that it is on, replacing configured ones."""
    for own, of_nodefs, of_imagefs in (
        (signals.CONTAINERFS_AVAILABLE, signals.NODEFS_AVAILABLE, signals.IMAGEFS_AVAILABLE),
        (signals.CONTAINERFS_INODES_FREE, signals.NODEFS_INODES_FREE, signals.IMAGEFS_INODES_FREE),
    ):
        model = of_imagefs if dedicated_image_fs else of_nodefs
        others = tuple(threshold for threshold in thresholds if threshold.signal != own)
        thresholds = (*others, *(replace(threshold, signal=own) for threshold in others if threshold.signal == model))
    return thresholds


def merge_thresholds(first: tuple[Threshold, ...], second: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
    """The first list, and those of the second whose key is not in the first."""
    known = {threshold.key for threshold in first}
    return (*first, *(threshold for threshold in second if threshold.key not in known))


@value_object
class EvictionConfig:
    thresholds: tuple[Threshold, ...] = parse_threshold_config(DEFAULT_EVICTION_HARD)
    pressure_transition_period: int = 5 * MINUTE
    max_pod_grace_period_s: int = 0  # for soft thresholds
