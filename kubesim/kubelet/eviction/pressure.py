"""Eviction thresholds over time: the met thresholds, since when, and the resulting node conditions.

A soft threshold triggers an eviction when it was met at every check of its grace period. A node condition stays for the
transition period after the last check that observed it.

Mirrors: pkg/kubelet/eviction/eviction_manager.go synchronize (the first half); helpers.go thresholdsMet,
thresholdsFirstObservedAt, thresholdsMetGracePeriod, nodeConditionsObservedSince, thresholdsUpdatedStats
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.stats import Observations
from kubesim.kubelet.eviction.thresholds import Threshold, merge_thresholds
from kubesim.values import value_object


@value_object
class PressureState:
    """The state that one check passes to the next. Conditions are in the order of their first observation; upstream has
    Go map order.
    """

    node_conditions: tuple[str, ...] = ()
    conditions_last_observed: Mapping[str, int] = field(default_factory=dict)
    first_observed: Mapping[Threshold, int] = field(default_factory=dict)
    met: tuple[Threshold, ...] = ()
    observations: Observations = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        """No threshold is met and no condition remains: only a new observation can change the state."""
        return not self.first_observed and not self.node_conditions


@value_object
class PressureCheck:
    """The new state, and the thresholds that require an eviction now, most urgent first."""

    state: PressureState
    to_reclaim: tuple[Threshold, ...]


def evaluate(
    state: PressureState,
    thresholds: tuple[Threshold, ...],
    observations: Observations,
    now: int,
    transition_period: int,
) -> PressureCheck:
    """Evaluate the thresholds against the current observations."""
    observed = thresholds_met(thresholds, observations)
    if state.met:
        observed = merge_thresholds(observed, thresholds_met(state.met, observations, enforce_min_reclaim=True))
    first_observed = {threshold: state.first_observed.get(threshold, now) for threshold in observed}
    last_observed = {**state.conditions_last_observed, **dict.fromkeys(conditions_of(observed), now)}
    met = tuple(threshold for threshold, since in first_observed.items() if now - since >= threshold.grace_period)
    after = PressureState(
        node_conditions=tuple(c for c, at in last_observed.items() if now - at < transition_period),
        conditions_last_observed=last_observed,
        first_observed=first_observed,
        met=met,
        observations=observations,
    )
    return PressureCheck(after, by_eviction_priority(_updated_since(met, observations, state.observations)))


def thresholds_met(
    thresholds: tuple[Threshold, ...], observations: Observations, *, enforce_min_reclaim: bool = False
) -> tuple[Threshold, ...]:
    """Thresholds with too little of their signal available, regardless of grace periods."""
    return tuple(t for t in thresholds if _is_met(t, observations, enforce_min_reclaim))


def _is_met(threshold: Threshold, observations: Observations, enforce_min_reclaim: bool) -> bool:
    observed = observations.get(threshold.signal)
    if observed is None:
        return False
    wanted = threshold.value.of(observed.capacity)
    if enforce_min_reclaim and threshold.min_reclaim is not None:
        wanted += threshold.min_reclaim.of(observed.capacity)
    return wanted > observed.available


def conditions_of(thresholds: tuple[Threshold, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(signals.CONDITION[threshold.signal] for threshold in thresholds))


def _updated_since(
    thresholds: tuple[Threshold, ...], observations: Observations, before: Observations
) -> tuple[Threshold, ...]:
    """Thresholds whose signal was measured again since the last check and so includes its eviction."""

    def is_new(signal: str) -> bool:
        observed, last = observations.get(signal), before.get(signal)
        if observed is None:
            return False
        return last is None or observed.time is None or last.time is None or observed.time > last.time

    return tuple(threshold for threshold in thresholds if is_new(threshold.signal))


def by_eviction_priority(thresholds: tuple[Threshold, ...]) -> tuple[Threshold, ...]:
    """Memory first, then the configured order, where hard thresholds come first. Upstream orders the rest randomly."""
    return tuple(sorted(thresholds, key=lambda threshold: signals.RESOURCE[threshold.signal] != signals.MEMORY))
