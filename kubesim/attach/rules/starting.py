"""From the binding to a running container: volumes, sandbox and network, creating and starting.

Mirrors: kubelet.go SyncPod, kuberuntime_manager.go SyncPod, kuberuntime_container.go startContainer,
volumemanager/volume_manager.go WaitForAttachAndMount
"""

from __future__ import annotations

from kubesim.api.pods.pod_conditions import POD_READY_TO_START_CONTAINERS, POD_SCHEDULED
from kubesim.api.timestamps import SECOND
from kubesim.attach.explain.observation import (
    ContainerView,
    Observation,
    event_count,
    event_fact,
    event_time,
    moment,
)
from kubesim.attach.explain.runtime_truth import has_sandbox
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window, upper_first
from kubesim.attach.explain.timing import mount_window, retry_window
from kubesim.attach.rules.images import REASONS as IMAGE_REASONS
from kubesim.attach.rules.images import image_problem
from kubesim.attach.rules.missing import (
    missing,
    missing_environment,
    missing_facts,
    missing_remedies,
    missing_volume,
    missing_words,
)
from kubesim.attach.rules.named_objects import named_object
from kubesim.kubelet.status.generate.reasons import CONTAINER_CREATING, POD_INITIALIZING, RESTARTING_ALL_CONTAINERS

VOLUME_EVENTS = (
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "VolumeResizeFailed",
    "FailedMountOnFilesystemMismatch",
)
SANDBOX_EVENTS = ("FailedCreatePodSandBox", "FailedPodSandBoxStatus", "NetworkNotReady")
START_ERRORS = {
    "CreateContainerConfigError": (
        "its configuration cannot be generated",
        (
            "Before a container is created, its environment and mounts are assembled; a referenced ConfigMap, Secret "
            "or key is missing, or the security context forbids it."
        ),
        "create what is missing, or mark the reference optional; the kubelet finds it by itself",
        "kuberuntime_container.go generateContainerConfig",
    ),
    "CreateContainerError": (
        "the runtime refuses to create it",
        "The runtime's CreateContainer failed; the message contains its error.",
        "read the message: often a mount, a device, a name that is still in use, or a failing runtime",
        "kuberuntime_container.go startContainer",
    ),
    "RunContainerError": (
        "the runtime created it but cannot start it",
        "StartContainer failed. The attempt counts: the next one waits for the crash back-off.",
        "read the message: often a command that does not exist in the image, or a missing library",
        "kuberuntime_container.go startContainer",
    ),
    "PostStartHookError": (
        "its postStart hook failed",
        "A failing postStart hook kills the container, which then is treated like a crash.",
        "correct lifecycle.postStart, or what it depends on",
        "kuberuntime_container.go startContainer",
    ),
    "PreStartHookError": (
        "the kubelet's own preparation before the start failed",
        "Internal hooks (CPU and memory managers) run before a container starts; one failed.",
        "read the kubelet's log on the node",
        "kuberuntime_container.go startContainer",
    ),
    "PreCreateHookError": (
        "the kubelet's own preparation before the creation failed",
        "Internal hooks (CPU, memory and device managers) run before a container is created; one failed.",
        "read the kubelet's log on the node",
        "kuberuntime_container.go startContainer",
    ),
}


def no_sandbox(seen: Observation) -> Cause:
    """The cause if the pod has no sandbox: volumes are mounted first, then the sandbox is created with its network."""
    volume = _volumes(seen)
    if volume is not None:
        return volume
    network = _network(seen)
    if network is not None:
        return network
    awaited = missing_volume(seen)
    if awaited is not None:
        return awaited
    volumes = [str(volume.get("name")) for volume in seen.pod.spec.volumes]
    first = f"mounts its volumes ({', '.join(volumes)}), then " if volumes else ""
    return Cause(
        code="SandboxNotReady",
        says=f"The pod has no sandbox yet: the kubelet {first}creates the sandbox with its network.",
        rule="SyncPod waits for all volumes, then calls the runtime to create a sandbox; CNI plugins set up "
        "its network "
        "before the call returns. Only then are images pulled and containers created.",
        ref="kubelet.go SyncPod; kuberuntime_manager.go SyncPod step 4",
        steps=(
            NextStep(
                "sandbox-ready",
                _sandbox_words(seen),
                because="as long as mounts and CNI plugins take",
            ),
        ),
        remedies=(
            ("if it lasts, check the pod's Events (FailedMount, FailedCreatePodSandBox) and the node's runtime"),
        ),
        facts=seen.condition_facts(POD_READY_TO_START_CONTAINERS),
        unseen=("whether it waits for volumes or for the sandbox: only Events show it",),
    )


def _sandbox_words(seen: Observation) -> str:
    """The fields that show a ready sandbox. Kubelets before v1.29 have no condition for it."""
    reported = seen.condition(POD_READY_TO_START_CONTAINERS) is not None
    return "PodReadyToStartContainers becomes True" if reported else "the sandbox is ready and the pod has its address"


def _volumes(seen: Observation) -> Cause | None:
    event = seen.newest_event(*VOLUME_EVENTS)
    if event is None or _is_over(seen, event_time(event)):
        return None
    failures, failed_at = event_count(event), event_time(event)
    # A sync that stopped waiting emits the other kind of FailedMount.
    retried = event.reason == "FailedMount" and event.message.startswith("MountVolume.")
    absent = missing(seen, "volume")
    window: Window | None = mount_window(failed_at, failures)
    if not retried:
        window = retry_window(failed_at, seen.periods.intervals)
    if seen.is_of_earlier_kubelet(event):
        window = None
    return Cause(
        code=event.reason,
        says=f"The pod waits for a volume: {event.message.strip()}",
        rule="No container starts before every volume is mounted. A failed mount is retried after 0.5 s, then "
        "twice as long each time, at most 2m2s; every 2m3s the sync gives up waiting, emits an Event and starts again.",
        ref="volumemanager/volume_manager.go WaitForAttachAndMount; util/goroutinemap/exponentialbackoff",
        steps=(
            NextStep(
                "waits",
                f"mount attempt {failures + 1}" if retried else "the next sync tries again",
                window=window,
                because="the wait after each failure doubles"
                if retried
                else "a failed sync is repeated after 10 to 15 s",
                certain=False,
                due="mount" if retried else None,
            ),
            NextStep("sandbox-ready", "once the mount succeeds the sandbox is created", window=window, certain=False),
        ),
        remedies=(
            *(missing_remedies(absent) or (_volume_remedy(event.message),)),
            "delete the pod: one that waits for volumes ends without delay",
        ),
        facts=(event_fact(event), *missing_facts(absent), *seen.condition_facts(POD_READY_TO_START_CONTAINERS)),
        detail=missing_words(absent) or named_object(event.message),
    )


def _volume_remedy(message: str) -> str:
    said = message.lower()
    if "not found" in said and ("configmap" in said or "secret" in said):
        return "create the missing object; the next attempt finds it. A reference with optional: true does not wait"
    if "multi-attach" in said:
        return "the volume is still attached to another node: the pod continues when that attachment ends"
    if "not attached" in said or "attach" in said:
        return "the attach/detach controller or the CSI driver has to attach the volume to the node"
    if "driver" in said and "not found" in said:
        return "install the CSI driver on this node"
    return "read the message: the volume, its driver or what it refers to is not ready"


def _network(seen: Observation) -> Cause | None:
    event = seen.newest_event(*SANDBOX_EVENTS)
    if event is None or _is_over(seen, event_time(event)):
        return None
    if event.reason == "NetworkNotReady":
        window = Window(event_time(event) + 1 * SECOND, event_time(event) + 1_500_000)
        says = "The node's network is not ready: the runtime has no usable CNI configuration yet."
        rule = (
            "A pod that is not on the host network waits until the runtime reports the network ready; it is tried "
            "again after 1 to 1.5 s."
        )
        remedies: tuple[str, ...] = (
            "install or repair the CNI plugin of the node (its configuration directory is empty or invalid)",
        )
    else:
        window = retry_window(event_time(event), seen.periods.intervals)
        says = f"The sandbox could not be created: {event.message.strip()}"
        rule = (
            "RunPodSandbox failed, most often in the CNI plugins. The sync fails with it and is repeated after 10 "
            "to 15 s, each time with a new sandbox."
        )
        remedies = (_cni_remedy(event.message),)
    return Cause(
        code=event.reason,
        says=says,
        rule=rule,
        ref="kubelet.go SyncPod; pod_workers.go completeWork",
        steps=(
            NextStep(
                "waits",
                "the sandbox is tried again",
                window=window,
                because="a failed sync is repeated after 10 s, with jitter of up to half of that",
                certain=False,
            ),
            NextStep("sandbox-ready", f"once it succeeds {_sandbox_words(seen)}", certain=False),
        ),
        remedies=remedies,
        facts=(event_fact(event), *seen.condition_facts(POD_READY_TO_START_CONTAINERS)),
    )


def _cni_remedy(message: str) -> str:
    said = message.lower()
    if "no ip addresses available" in said or "failed to allocate" in said or "range set" in said:
        return "the node's range of pod addresses is used up, or old reservations were not released (IPAM state)"
    if "cni plugin not initialized" in said or "no networks found" in said or "cni config" in said:
        return "the node has no CNI configuration: install or repair the network plugin"
    if "failed to find plugin" in said or "executable file not found" in said or "no such file" in said:
        return "a CNI plugin binary is missing on the node (bin directory of the runtime)"
    if "name is reserved" in said or "already exists" in said:
        return "an earlier sandbox of this pod still holds the name: the runtime has to clean it up"
    return "read the message: a CNI plugin or the runtime on the node failed; see their logs"


def _is_over(seen: Observation, said_at: int) -> bool:
    """Whether an error is outdated: older than the pod's sandbox, or than the newest start of a container."""
    newest = seen.newest_event("Pulled", "Pulling", "Created", "Started")
    return has_sandbox(seen) or (newest is not None and event_time(newest) > said_at)


def cannot_start(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause for a container that has not run (in this attempt) and waits: for its image, its configuration, the
    runtime, or its turn."""
    reason = view.waiting_reason
    if reason in START_ERRORS:
        return _start_error(seen, view, reason)
    if reason in IMAGE_REASONS:
        return image_problem(seen, view)
    if reason == RESTARTING_ALL_CONTAINERS:
        return _restarting_all(view)
    early = image_problem(seen, view) or _start_error_in_events(seen, view) or missing_environment(seen, view)
    if early is not None:
        return early
    if reason in ("", CONTAINER_CREATING, POD_INITIALIZING):
        return _creating(seen, view)
    return _unknown_reason(view, reason)


def _start_error(seen: Observation, view: ContainerView, reason: str) -> Cause:
    says, rule, remedy, ref = START_ERRORS[reason]
    waiting = view.status.state.waiting
    message = waiting.message if waiting is not None else ""
    event = seen.newest_event("Failed", "FailedPostStartHook", path=view.event_path)
    window = retry_window(event_time(event), seen.periods.intervals) if event is not None else None
    facts = [view.fact("state.waiting.reason", reason)]
    if message:
        facts.append(view.fact("state.waiting.message", message[:400]))
    if event is not None:
        facts.append(event_fact(event))
    absent = missing(seen, "environment", view.name)
    return Cause(
        code=reason,
        container=view.name,
        says=f"{upper_first(view.words)} cannot start: {says}{': ' + message[:200] if message else ''}.",
        rule=f"{rule} A failed sync is repeated after 10 s, with jitter of up to half of that.",
        ref=ref,
        steps=(
            NextStep(
                "started",
                "the next sync tries again; it starts if the cause is fixed",
                view.name,
                window,
                "10 to 15 s after the last try",
                certain=False,
            ),
            NextStep("waits", "otherwise the reason stays or changes", view.name, certain=False),
        ),
        remedies=missing_remedies(absent) or (remedy,),
        facts=(*facts, *missing_facts(absent)),
        detail=missing_words(absent) or named_object(message),
    )


def _start_error_in_events(seen: Observation, view: ContainerView) -> Cause | None:
    """The start error in an Event: the status lags one sync behind, so an Event may already name it."""
    event = seen.newest_event("Failed", "Created", "Started", path=view.event_path)
    if event is None or event.reason != "Failed" or view.status.state.running is not None:
        return None
    said = event.message.removeprefix("Error: ")
    return Cause(
        code="StartFailed",
        container=view.name,
        says=f"{upper_first(view.words)} could not be started: {said[:200].rstrip('.')}.",
        rule="A sync writes the status before it starts containers, so that the reason of a failure is shown by the "
        "sync after it; Events are sent immediately.",
        ref="kubelet.go SyncPod (reason cache)",
        steps=(
            NextStep("waits", "the next sync shows the reason in the status", view.name),
            NextStep("started", "and tries again", view.name, certain=False),
        ),
        facts=(event_fact(event),),
        detail=named_object(said),
    )


def _creating(seen: Observation, view: ContainerView) -> Cause:
    pulling = seen.newest_event("Pulling", "Pulled", "Created", "Started", path=view.event_path)
    doing, facts = (
        "pulls its image if need be, creates it and starts it",
        [view.fact("state.waiting.reason", view.waiting_reason or '""')],
    )
    if pulling is not None:
        facts.append(event_fact(pulling))
        doing = {
            "Pulling": f"pulls image {view.spec.image}; then creates and starts it",
            "Pulled": "has the image; creates and starts it",
            "Created": "has created it; starts it",
            "Started": "has started it; the next status shows it running",
        }[pulling.reason]
    return Cause(
        code=view.waiting_reason or CONTAINER_CREATING,
        container=view.name,
        says=f"{upper_first(view.words)} is about to start: the sandbox is ready, the kubelet {doing}.",
        rule="With the sandbox ready, SyncPod starts what compute_pod_actions lists: image, create, start, postStart "
        "hook. The status changes when the container runs, or when the next sync reports why it does not.",
        ref="kuberuntime_manager.go SyncPod; kuberuntime_container.go startContainer",
        steps=(
            NextStep("started", f"{view.words} runs", view.name, because="the time of pull, create, start and hook"),
            NextStep(
                "exited", "a container that ends immediately may be shown as terminated", view.name, certain=False
            ),
            NextStep("waits", "if it does not start, the reason is shown", view.name, certain=False),
        ),
        remedies=("if it lasts, the image is large or the registry is slow: see the Events Pulling and Pulled",),
        facts=tuple(facts),
        unseen=() if pulling is not None else ("the progress of the start: only Events show it",),
    )


def _restarting_all(view: ContainerView) -> Cause:
    return Cause(
        code=RESTARTING_ALL_CONTAINERS,
        container=view.name,
        says=f"{upper_first(view.words)} was stopped because a restart rule restarts all containers of the pod.",
        rule="An exit that matches a rule with action RestartAllContainers stops and removes every container; the "
        "pod then begins again with its first init container, without any back-off.",
        ref="kuberuntime_manager.go computePodActions (getContainersToReset)",
        steps=(NextStep("started", "it starts after the previous containers", view.name),),
        facts=(view.fact("state.waiting.reason", RESTARTING_ALL_CONTAINERS),),
    )


def _unknown_reason(view: ContainerView, reason: str) -> Cause:
    waiting = view.status.state.waiting
    message = waiting.message if waiting is not None else ""
    return Cause(
        code=reason,
        container=view.name,
        says=f"{upper_first(view.words)} waits: {reason}{': ' + message[:200] if message else ''}.",
        rule="Kubelet v1.36 does not use this reason; only the component "
        "that wrote it defines its meaning. A failed sync is repeated every 10 to 15 s.",
        ref="container/sync_result.go",
        steps=(
            NextStep("started", "it starts when the cause is fixed", view.name, certain=False),
            NextStep("waits", "or the reason changes", view.name, certain=False),
        ),
        facts=(view.fact("state.waiting.reason", reason),)
        + ((view.fact("state.waiting.message", message[:400]),) if message else ()),
    )


def arriving(seen: Observation) -> Cause:
    """The cause for a pod that is bound to a node whose kubelet has not reported anything yet."""
    pod = seen.pod
    scheduled = seen.condition(POD_SCHEDULED)
    bound_at = (moment(scheduled.last_transition_time) if scheduled is not None else None) or seen.now
    facts = [Fact("spec.nodeName", pod.spec.node_name), Fact("status.phase", pod.status.phase or '""')]
    return Cause(
        code="NotSeenByKubelet",
        says=f"The pod is bound to {pod.spec.node_name}, whose kubelet has not written a status yet.",
        rule="The kubelet watches the pods that are bound to its node, checks whether the node can run a new one, and "
        "writes its first status immediately. A pod that it rejects gets phase Failed.",
        ref="kubelet.go HandlePodAdditions",
        steps=(
            NextStep(
                "accepted",
                "the kubelet writes startTime and conditions",
                window=Window(None, bound_at + 1 * SECOND),
                because="within a second on a healthy node",
                due="accept",
            ),
            NextStep("rejected", "the kubelet rejects it, with phase Failed and the reason", certain=False),
        ),
        remedies=("if it lasts longer than a few seconds, the kubelet does not run or cannot reach the API server",),
        facts=tuple(facts),
    )
