"""Named rules and constants in which kubelet versions differ without an upstream feature gate.

Decision code reads `gates.rules.NAME`; nothing compares versions. Each rule has a row in `differences/`, with its
values, the upstream change and the scenario that shows it; `docs/versions.md` is generated from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kubesim.values import value_object


@value_object
class Rules:
    """The rules of one kubelet. The defaults are those of v1.36."""

    bootstrap_checkpoints: bool = False  # start checkpointed pods before the API server answers
    static_pod_fields: str = ""  # the version whose Pod fields determine the uid of a static pod; empty: v1.36
    has_config_modes: bool = False  # the mux can report snapshots of all pods (SET)
    repeats_run: bool = False  # restart the sync loop at once whenever it ends
    # Pod workers and the sync loop.
    # False: only one kind of sync, and at most one pending update, which waits for the end of the sync
    pod_worker_states: bool = True
    emits_sync_errors: bool = False  # emit the Event FailedSync for each failed sync
    doubles_loop_pause: bool = True  # from 0.1 s to 5 s while the runtime is down; False: 5 s each time
    readiness_through_loop: bool = True  # False: the probe manager sets the Ready condition itself
    # Statuses, Events and the end of a pod.
    # delete the API object only after the records of dead containers are removed
    removal_waits_for_records: bool = False
    containers_ready_condition: bool = True  # report the condition ContainersReady beside Ready
    reports_pod_failed: bool = True  # PodFailed is why a failed pod is not ready; False: ContainersNotReady
    keeps_addresses: bool = True  # keep the addresses of a pod whose sandbox has stopped
    reports_all_addresses: bool = True  # False: only podIP and hostIP, no lists
    general_predicates: bool = False  # admission checks the general predicates, instead of the scheduler's plugins
    rejected_status: str = "Pod was rejected: {message}"  # the message of a rejected pod
    volume_timeout_s: int = 123  # the longest time that a sync waits for volumes
    emits_volume_timeouts: bool = False  # emit the Event FailedMount for each sync that timed out waiting for volumes
    # True: the override replaces the grace period, even if it is 0 s; False: at least 2 s
    grace_override_is_final: bool = False
    reports_containers_of_failed: bool = True  # False: after eviction or deadline, only phase, reason and message
    # Back-off, grace periods, eviction.
    retries_network_soon: bool = True  # after 1 s while the network is not ready; False: like any failed sync
    backs_off_in_new_sandbox: bool = True  # False: a crashed container starts at once in a new sandbox
    retries_at_back_off_expiry: bool = True  # False: after 10 to 15 s, like any failed sync
    honours_zero_grace: bool = True  # a requested grace period of 0 becomes 1 s; False: the pod's own applies
    hard_eviction_grace_s: int = 1
    soft_eviction_within_pod_grace: bool = True  # False: only the kubelet's maximum counts
    # SyncPod and its status.
    # and report them in status.resize; False: decide at once, report by conditions and Events
    decides_resizes_at_sync: bool = False
    # the API server sets status.resize; False: the API server rejects a resize that no node can grant
    proposes_resizes: bool = False
    # a restarted container gets them; False: it gets the allocated resources
    starts_with_refused_resources: bool = False
    # a restarted kubelet admits finished pods again; one that does not fit becomes Failed
    admits_finished_pods: bool = False
    app_armor_rejects_pod: bool = True  # False: the pod stays Pending and is retried
    reports_sandbox_ready_at_once: bool = True  # False: the next sync reports it
    repeats_initialization: bool = True  # run init containers again in a new sandbox
    reports_failed_init_containers: bool = False  # each sync fails with them, even one that restarts them
    # a running regular container implies it when the records of init containers are gone
    running_shows_initialized: bool = True
    # from regular containers, when the records of init containers are gone
    infers_finished_init_containers: bool = True
    pending_while_initializing_again: bool = True  # False: the phase stays Running while a new sandbox initializes
    # Containers and images.
    pulling_event: str = "Pulling image {image}"
    pulled_event: str = (
        "Successfully pulled image {image} in {took} ({waited} including waiting). Image size: {size} bytes."
    )
    created_event: str = "Container created"  # {id}: the first 12 digits of the ID in docker
    started_event: str = "Container started"
    reports_failed_step: bool = True  # the failed step of a start is the reason; False: the reason is RunContainerError
    hook_failed_event: str = "{hook} failed"
    post_start_error: str = "PostStartHookError"  # the waiting reason after the hook failed
    back_off_event: str = "Back-off restarting failed container {name} in pod {pod}"
    back_off_message: str = "back-off {wait} restarting failed container={name} pod={pod}"
    counts_restarts_by_logs: bool = True  # from log files, when the records are gone; False: the count starts at 0
    # The end of a container.
    emits_killing_after_stop: bool = False
    killing_event: str = "{message}"
    stopping_message: str = "Stopping container {name}"  # when the pod is stopped
    changed_message: str = "Container {name} definition changed, will be restarted"
    unhealthy_message: str = "Container {name} failed {probe} probe, will be restarted"
    unhealthy_for_good_message: str = "Container {name} failed {probe} probe"  # for a container that is not restarted
    emits_unfinished_pre_stop_hooks: bool = False
    # probe at once; False: at the next tick of a worker that began at a random time
    probes_started_containers: bool = True
    inspects_images_first: bool = False  # whatever the pull policy; False: not if the policy is Always
    ends_exec_probes: bool = True  # when their timeout expires; False: they have no limit
    probe_error_event: str = "{kind} probe errored and resulted in {result} state: {error}"
    repeats_pull_error: bool = True  # while an image pull is in back-off
    container_hash: str = "image"  # image and name; json or a dump of the struct: the whole container
    restarts_changed_sidecar: bool = True
    restarts_created_init_container: bool = True  # restart an init container that was created but did not start
    # What v1.36 and v1.37 changed.
    retries_resizes_when_pod_ends: bool = True
    # a container in the old sandbox that did not exit, or an init container that did
    old_sandbox_counts_as_initialized: bool = True
    sync_cancels_exec_probes: bool = True  # cancel the exec probes of a pod that begins to terminate
    limits_storage_of_sidecars: bool = False
    pulls_image_volumes_every_sync: bool = True  # False: only if a container starts
    explains_missing_sandbox: bool = False  # by reason and message of the condition PodReadyToStartContainers
    reports_missing_pull_secrets_every_sync: bool = True  # False: only if a pull fails
    reads_port_name_as_number: bool = True  # if the container has no port with that name
    event_qps_of_zero: int = 5  # the effective value of eventRecordQPS: 0; 0: no limit
    # Sandboxes and networks.
    failed_sandbox_event: str = "Failed to create pod sandbox"  # the beginning of its message
    network_problem: str = "container runtime network not ready: {problem}"  # the reason why no pod can start
    network_not_ready: str = "network is not ready: {problem}"  # the error of a sync
    emits_network_not_ready: bool = True  # emit the Event NetworkNotReady with the same text
    network_status_s: int = 5  # the interval at which the kubelet checks the network
    makes_empty_sandboxes: bool = False  # create a sandbox even if no container will start in it
    # containerd, dockershim or dockertools: how sandboxes and their networks are created
    sandbox_order: str = "containerd"
    containerd: str = "2"  # 2 or 1.7: the order of the steps of RunPodSandbox

    @property
    def hashes_whole_container(self) -> bool:
        return self.container_hash != "image"


DEFAULT_RULES = Rules()


class Difference(NamedTuple):
    """A rule, with the profiles in which it differs from v1.36."""

    rule: str  # the name of a field of Rules
    values: Mapping[str, Any]  # by profile
    what: str  # what a user sees in these profiles, and what in v1.36
    upstream: str  # the function that the rule mirrors, or the change that introduced it
    scenario: str  # path below scenarios/


def rules_of(profile: str) -> Rules:
    from kubesim.features.differences import DIFFERENCES

    return Rules(**{each.rule: each.values[profile] for each in DIFFERENCES if profile in each.values})
