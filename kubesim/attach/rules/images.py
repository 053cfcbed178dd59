"""Waiting for an image: the meaning of each of the kubelet's image errors, and when it retries.

Mirrors: images/image_manager.go EnsureImageExists, images/types.go
"""

from __future__ import annotations

from kubesim.api.event import Event
from kubesim.attach.explain.observation import (
    ContainerView,
    Observation,
    event_count,
    event_fact,
    event_time,
    first_time,
    moment,
)
from kubesim.attach.explain.runtime_truth import newest_end
from kubesim.attach.explain.statement import Cause, Fact, NextStep, Window, upper_first
from kubesim.attach.explain.timing import latest_sync, pull_wait, pull_window, pulls_in_a_row, retry_window
from kubesim.attach.explain.tolerances import TRUNCATION
from kubesim.attach.rules.missing import missing, missing_facts, missing_remedies
from kubesim.golang.text import duration, quoted
from kubesim.runtime.images.image_manager import (
    ERR_IMAGE_NEVER_PULL,
    ERR_IMAGE_PULL,
    IMAGE_INSPECT_ERROR,
    IMAGE_PULL_BACK_OFF,
    INVALID_IMAGE_NAME,
    REGISTRY_UNAVAILABLE,
    SIGNATURE_VALIDATION_FAILED,
)
from kubesim.runtime.kuberuntime.decide.backoff import MAX_IMAGE_BACK_OFF
from kubesim.values import replace

PULL_REASONS = (ERR_IMAGE_PULL, IMAGE_PULL_BACK_OFF, REGISTRY_UNAVAILABLE, SIGNATURE_VALIDATION_FAILED)
OTHER_REASONS = (ERR_IMAGE_NEVER_PULL, INVALID_IMAGE_NAME, IMAGE_INSPECT_ERROR)
REASONS = (*PULL_REASONS, *OTHER_REASONS)
REF = "images/image_manager.go EnsureImageExists"

_REGISTRY_WORDS = {
    "not found": "the registry has no such image or tag: correct the name",
    "unauthorized": "the registry rejects the credentials: check imagePullSecrets",
    "denied": "the registry rejects the credentials, or the repository does not exist: check the name and "
    "imagePullSecrets",
    "401": "the registry rejects the credentials: check imagePullSecrets",
    "403": "the registry rejects the credentials: check imagePullSecrets",
    "429": "the registry limits the pull rate: wait, or use a mirror",
    "no such host": "the registry's name cannot be resolved from the node: check the name and the node's DNS",
    "connection refused": "the registry does not respond: check that it is reachable from the node",
    "i/o timeout": "the registry does not answer in time: check the node's network",
    "certificate": "the registry's certificate is not trusted by the node's runtime",
    "manifest unknown": "the registry has no such tag: correct it",
    "no match for platform": "the image is not built for this node's architecture",
}


def image_problem(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause of a container that waits for its image, from its waiting reason, or from Events that are newer than
    the status."""
    reason = view.waiting_reason
    if reason not in REASONS:
        failed = _failed_before_status(seen, view)
        if not failed:
            return None
        reason = failed
    cause = _pull(seen, view, reason) if reason in PULL_REASONS else _no_pull(seen, view, reason)
    if view.waiting_reason == reason:
        return cause
    lags = NextStep("waits", f"the next sync shows {reason} in the status, which is one sync behind", view.name)
    return replace(cause, steps=(lags, *cause.steps))


def _failed_before_status(seen: Observation, view: ContainerView) -> str:
    """The reason that the next status will show, from the Events: a status shows the result of the previous sync."""
    if view.status.state.running is not None or view.status.state.terminated is not None:
        return ""
    event = seen.newest_event("Failed", "Pulled", "Created", path=view.event_path)
    if event is None or event.reason != "Failed":
        return ""
    reported = event.message.removeprefix("Error: ")
    if reported in REASONS:
        return reported
    return ERR_IMAGE_PULL if event.message.startswith("Failed to pull image") else ""


def _pull(seen: Observation, view: ContainerView, reason: str) -> Cause:
    failed, pulling = _failed_pull(seen, view), seen.newest_event("Pulling", path=view.event_path)
    steps: list[NextStep] = []
    window: Window | None = None
    if failed is not None and pulling is not None and event_time(pulling) > event_time(failed):
        because = f"a pull is in progress, attempt {event_count(pulling)}"
    elif failed is not None and seen.is_of_earlier_kubelet(failed):
        because = "the kubelet has restarted since the last failure, and its back-off begins again"
    elif failed is not None:
        failures, failed_at = event_count(failed), event_time(failed)
        # Different errors are separate Events, each with a count; every attempt emits Pulling.
        at_most = max(failures, event_count(pulling)) if pulling is not None else failures
        intervals = seen.periods.intervals
        at_least = failures if pulls_in_a_row(failures, failed_at - first_time(failed), intervals) else 1
        window = pull_window(failed_at, at_least, at_most, intervals)
        window = Window(window.earliest, max(window.latest or 0, _crash_back_off(seen, view, failed_at)))
        held = f"after failure {failures} the kubelet does not pull for {duration(pull_wait(failures))}"
        because = f"{held}, then the next sync (they come every {seen.periods.retry_words}) pulls"
    else:
        because = "the status does not contain the time of the last failed pull; its Event does"
    steps.append(NextStep("waits", f"image {view.spec.image} is pulled again", view.name, window, because, due="pull"))
    lag = ERR_IMAGE_PULL if reason == IMAGE_PULL_BACK_OFF else IMAGE_PULL_BACK_OFF
    steps.append(
        NextStep(
            "waits",
            f"the status may alternate with {lag}: it is one sync behind",
            view.name,
            certain=False,
        )
    )
    steps.append(NextStep("started", "once a pull succeeds it starts", view.name, certain=False))
    absent = missing(seen, "pull")  # the kubelet continues without such a secret, and the registry rejects the request
    shown = "backs off from pulling" if reason == IMAGE_PULL_BACK_OFF else "could not pull"
    return Cause(
        code=reason,
        container=view.name,
        says=f"{upper_first(view.words)} has no image: the kubelet {shown} {view.spec.image}.",
        rule="A failed pull is retried after 10 s, and the wait doubles each time, up to "
        f"{duration(MAX_IMAGE_BACK_OFF)}. Until then every sync of the pod, {seen.periods.retry_words} apart, "
        "finds the back-off and reports ImagePullBackOff. A new pod or another image name starts from scratch.",
        ref=REF,
        steps=tuple(steps),
        remedies=(*missing_remedies(absent), *_remedies(seen, view)),
        facts=(*_facts(seen, view, "Failed", "BackOff", "Pulling"), *missing_facts(absent)),
        unseen=() if failed is not None else ("when the last pull failed, and how often: no Events were given",),
        detail=view.spec.image,
    )


def _crash_back_off(seen: Observation, view: ContainerView, failed_at: int) -> int:
    """The latest time at which the crash back-off of an earlier attempt allows a pull; 0 if no attempt has ended.

    A sync checks the crash back-off before the image (kuberuntime_manager.go doBackOff). The back-off counts from the
    end of the attempt. Each sync that may start a container doubles it: one that pulls, and one that then reports that
    the pull is in back-off.
    """
    ended = newest_end(view)
    finished = moment(ended.finished_at) if ended is not None else None
    if finished is None:
        return 0
    text = f"Back-off pulling image {quoted(view.spec.image)}"
    held_back = [event_time(e) for e in seen.events_of("BackOff", path=view.event_path) if e.message.startswith(text)]
    let_through = max(failed_at, *held_back) if held_back else failed_at
    backoff = seen.periods.crash_backoff()
    wait = backoff.initial
    while wait <= let_through + TRUNCATION - finished and wait < backoff.maximum:
        wait = min(2 * wait, backoff.maximum)
    return latest_sync(finished + wait + TRUNCATION, let_through, seen.periods.intervals)


def _no_pull(seen: Observation, view: ContainerView, reason: str) -> Cause:
    image = view.spec.image
    says, rule, remedy = {
        ERR_IMAGE_NEVER_PULL: (
            f"image {image} is not on the node and imagePullPolicy Never forbids to pull it",
            "With imagePullPolicy Never the kubelet only checks whether the image is present.",
            "put the image on the node, or use imagePullPolicy IfNotPresent",
        ),
        INVALID_IMAGE_NAME: (
            f"{image!r} is not a valid image name",
            "The name must parse as an image reference before the registry is contacted.",
            "correct the image name (lower case, no scheme such as https://)",
        ),
        IMAGE_INSPECT_ERROR: (
            f"the runtime could not report whether image {image} is there",
            "Before a pull, the kubelet requests the status of the image from the runtime; that call failed.",
            "check the container runtime of the node",
        ),
    }[reason]
    return Cause(
        code=reason,
        container=view.name,
        says=f"{upper_first(view.words)} cannot start: {says}.",
        rule=f"{rule} There is no back-off here: every sync, {seen.periods.retry_words} apart, tries again.",
        ref=REF,
        steps=_tries_again(seen, view, "ErrImageNeverPull", "InspectFailed"),
        remedies=(remedy,),
        facts=_facts(seen, view, "ErrImageNeverPull", "InspectFailed", "Failed"),
        detail=view.spec.image,
    )


def _tries_again(seen: Observation, view: ContainerView, *reasons: str) -> tuple[NextStep, ...]:
    event = seen.newest_event(*reasons, path=view.event_path)
    known = event is not None and not seen.is_of_earlier_kubelet(event)
    window = retry_window(event_time(event), seen.periods.intervals) if event is not None and known else None
    return (
        NextStep(
            "waits",
            "the next sync tries again and, if nothing changed, finds the same",
            view.name,
            window,
            "a failed sync is repeated after 10 s, with jitter of up to half of that",
            certain=False,
            due="retry",
        ),
        NextStep("started", "as soon as the image is found it starts", view.name, certain=False),
    )


def _failed_pull(seen: Observation, view: ContainerView) -> Event | None:
    """The Event of the newest failed pull. Events with the same text are one Event with a count."""
    text = f"Failed to pull image {quoted(view.spec.image)}"  # another image has a back-off of its own
    failed = [e for e in seen.events_of("Failed", path=view.event_path) if e.message.startswith(text)]
    return failed[-1] if failed else None


def _facts(seen: Observation, view: ContainerView, *reasons: str) -> tuple[Fact, ...]:
    facts = [Fact(f"{view.spec_path}.image", view.spec.image)]
    if view.spec.image_pull_policy:
        facts.append(Fact(f"{view.spec_path}.imagePullPolicy", view.spec.image_pull_policy))
    waiting = view.status.state.waiting
    if waiting is not None and waiting.reason:
        facts.append(view.fact("state.waiting.reason", waiting.reason))
        if waiting.message:
            facts.append(view.fact("state.waiting.message", waiting.message[:300]))
    facts += [event_fact(event) for event in seen.events_of(*reasons, path=view.event_path)[-3:]]
    return tuple(facts)


def _remedies(seen: Observation, view: ContainerView) -> tuple[str, ...]:
    waiting = view.status.state.waiting
    said = waiting.message if waiting is not None else ""
    failed = _failed_pull(seen, view)
    said = (said + " " + (failed.message if failed is not None else "")).lower()
    found = [remedy for word, remedy in _REGISTRY_WORDS.items() if word in said]
    if not found:
        found = ["check the image's name and tag, imagePullSecrets, and that the node reaches the registry"]
    return (*dict.fromkeys(found), "changing the container's image makes the kubelet try the new one immediately")
