"""Named rules and constants by which kubelets of other versions decide, where no feature gate of upstream's tells them
apart.

Decision code asks `gates.rules.NAME`; nothing compares versions. Each rule has a row in `differences/`, with its
values, its upstream change and the scenario that shows it; `docs/versions.md` is made from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubesim.values import value_object


@value_object
class Rules:
    """The rules of one kubelet. The defaults are those of v1.36."""

    bootstrap_checkpoints: bool = False  # pods that were written down start before the API server answers
    # Pod workers and the sync loop.
    pod_worker_states: bool = True  # False: one kind of sync, and one update that waits for its end
    emits_sync_errors: bool = False  # an Event FailedSync for each sync that failed
    readiness_through_loop: bool = True  # False: the probe manager writes it into the status itself
    # Statuses, Events and the end of a pod.
    removal_waits_for: str = "last sync"  # when the API object goes; or "records", or "containers"
    containers_ready_condition: bool = True  # beside Ready
    rejected_status: str = "Pod was rejected: {message}"  # the message of a pod that was not admitted
    emits_volume_timeouts: bool = False  # an Event FailedMount for each sync that waited for volumes in vain
    grace_override_is_final: bool = False  # True: an eviction's 0 s are no time at all; False: 2 s at least
    reports_containers_of_failed: bool = True  # False: eviction and deadline leave phase, reason and message


class Difference(NamedTuple):
    """One rule, and the profiles in which it is not that of v1.36."""

    rule: str  # a field of Rules
    values: Mapping[str, Any]  # by profile
    what: str  # what a user sees of it there, and in v1.36 instead
    upstream: str  # the function that it mirrors, or the change that brought it
    scenario: str  # below scenarios/


def rules_of(profile: str) -> Rules:
    from kubesim.features.differences import DIFFERENCES

    return Rules(**{each.rule: each.values[profile] for each in DIFFERENCES if profile in each.values})
