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

    bootstrap_checkpoints: bool = False  # checkpointed pods start before the API server answers
    static_pod_fields: str = ""  # the version whose fields of a pod the uid of a static pod covers; empty: v1.36
    has_config_modes: bool = False  # the mux can report snapshots of all pods (SET)
    repeats_run: bool = False  # a sync loop that ended is started again immediately, again and again
    # Pod workers and the sync loop.
    pod_worker_states: bool = True  # False: one kind of sync, and one update that waits for its end
    emits_sync_errors: bool = False  # an Event FailedSync for each sync that failed
    doubles_loop_pause: bool = True  # from 0.1 s to 5 s while the runtime is down; False: 5 s each time
    readiness_through_loop: bool = True  # False: the probe manager writes it into the status itself
    # Statuses, Events and the end of a pod.
    removal_waits_for_records: bool = False  # of dead containers, before the API object goes
    containers_ready_condition: bool = True  # beside Ready
    reports_pod_failed: bool = True  # as the reason why a failed pod is not ready; False: its containers
    keeps_addresses: bool = True  # of a pod whose sandbox has stopped
    reports_all_addresses: bool = True  # False: one podIP and one hostIP, no lists
    general_predicates: bool = False  # by which it is admitted, instead of the scheduler's plugins
    rejected_status: str = "Pod was rejected: {message}"  # the message of a pod that was not admitted
    volume_timeout_s: int = 123  # that a sync waits for volumes
    emits_volume_timeouts: bool = False  # an Event FailedMount for each sync that waited for volumes without effect
    grace_override_is_final: bool = False  # True: it replaces the grace period, also 0 s; False: 2 s at least
    reports_containers_of_failed: bool = True  # False: eviction and deadline leave phase, reason and message
    # Back-off, grace periods, eviction.
    retries_network_soon: bool = True  # after 1 s while the network is not ready; False: like any failed sync
    backs_off_in_new_sandbox: bool = True  # False: a crashed container starts in it immediately
    retries_at_back_off_expiry: bool = True  # False: after 10 to 15 s, like any failed sync
    honours_zero_grace: bool = True  # a grace period of 0 is 1 s; False: it is the pod's own
    hard_eviction_grace_s: int = 1
    soft_eviction_within_pod_grace: bool = True  # False: the kubelet's maximum counts alone
    # SyncPod and its status.
    decides_resizes_at_sync: bool = False  # and reports them as status.resize; else at once, by conditions and Events
    proposes_resizes: bool = False  # the API server writes it into status.resize; else it refuses what no node can give
    starts_with_refused_resources: bool = False  # a container, when it restarts; else with what is allocated to it
    admits_finished_pods: bool = False  # again, when a kubelet starts: one that does not fit becomes Failed
    app_armor_rejects_pod: bool = True  # False: the pod stays Pending and is tried again
    reports_sandbox_ready_at_once: bool = True  # False: the next sync reports it
    repeats_initialization: bool = True  # in a new sandbox
    reports_failed_init_containers: bool = False  # as a failure of each sync, also of one that restarts it
    running_shows_initialized: bool = True  # a regular container that runs, when the records are gone
    infers_finished_init_containers: bool = True  # from regular containers, when the records are gone
    pending_while_initializing_again: bool = True  # False: the phase stays Running in the next sandbox
    # Containers and images.
    pulling_event: str = "Pulling image {image}"
    pulled_event: str = (
        "Successfully pulled image {image} in {took} ({waited} including waiting). Image size: {size} bytes."
    )
    created_event: str = "Container created"  # {id}: the first 12 digits of docker's
    started_event: str = "Container started"
    reports_failed_step: bool = True  # of a start, as its reason; False: RunContainerError
    hook_failed_event: str = "{hook} failed"
    post_start_error: str = "PostStartHookError"  # the reason for which a container waits then
    back_off_event: str = "Back-off restarting failed container {name} in pod {pod}"
    back_off_message: str = "back-off {wait} restarting failed container={name} pod={pod}"
    counts_restarts_by_logs: bool = True  # when the records are gone; False: from 0
    # The end of a container.
    emits_killing_after_stop: bool = False
    killing_event: str = "{message}"
    stopping_message: str = "Stopping container {name}"  # with its pod
    changed_message: str = "Container {name} definition changed, will be restarted"
    unhealthy_message: str = "Container {name} failed {probe} probe, will be restarted"
    unhealthy_for_good_message: str = "Container {name} failed {probe} probe"  # it is not restarted
    emits_unfinished_pre_stop_hooks: bool = False
    probes_started_containers: bool = True  # immediately; False: with the next tick of a worker that began at random
    inspects_images_first: bool = False  # whatever the pull policy; else unless that is Always
    ends_exec_probes: bool = True  # when their timeout is over; False: without a limit
    probe_error_event: str = "{kind} probe errored and resulted in {result} state: {error}"
    repeats_pull_error: bool = True  # while it backs off from pulling the image again
    container_hash: str = "image"  # and name; or the whole container, as json or as a dump of its struct
    restarts_changed_sidecar: bool = True
    restarts_created_init_container: bool = True  # one that was created and did not start
    # What v1.36 and v1.37 changed.
    retries_resizes_when_pod_ends: bool = True
    old_sandbox_counts_as_initialized: bool = True  # a container of it that did not exit, or an init container that did
    sync_cancels_exec_probes: bool = True  # a pod that terminates is not probed by commands any more
    limits_storage_of_sidecars: bool = False
    pulls_image_volumes_every_sync: bool = True  # False: only if a container starts
    explains_missing_sandbox: bool = False  # by reason and message of PodReadyToStartContainers
    reports_missing_pull_secrets_every_sync: bool = True  # False: only if a pull fails
    reads_port_name_as_number: bool = True  # if the container has no port of that name
    event_qps_of_zero: int = 5  # what eventRecordQPS: 0 means; 0: no limit
    # Sandboxes and networks.
    failed_sandbox_event: str = "Failed to create pod sandbox"  # how its message begins
    network_problem: str = "container runtime network not ready: {problem}"  # why no pod can start
    network_not_ready: str = "network is not ready: {problem}"  # how a sync fails then
    emits_network_not_ready: bool = True  # the Event NetworkNotReady with the same text
    network_status_s: int = 5  # how often the kubelet asks whether the network is ready
    makes_empty_sandboxes: bool = False  # also if nothing is to be started in them
    sandbox_order: str = "containerd"  # or dockershim, dockertools: how sandboxes and their networks are created
    containerd: str = "2"  # or 1.7: whose order of RunPodSandbox it is

    @property
    def hashes_whole_container(self) -> bool:
        return self.container_hash != "image"


DEFAULT_RULES = Rules()


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
