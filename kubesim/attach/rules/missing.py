"""ConfigMaps and Secrets that a pod needs and that do not exist. Objects that were not looked up are not reported.

Mirrors: volume/configmap SetUpAt, volume/secret SetUpAt; kubelet_pods.go makeEnvironmentVariables
"""

from __future__ import annotations

from kubesim.attach.explain.observation import ContainerView, Observation
from kubesim.attach.explain.statement import Cause, Fact, NextStep, upper_first
from kubesim.attach.reading.references import Purpose, Reference, references


def missing(seen: Observation, purpose: Purpose, container: str = "") -> tuple[Reference, ...]:
    """The missing objects that block the pod, or this container."""
    if not seen.objects:
        return ()
    return tuple(
        reference
        for reference in references(seen.pod)
        if reference.purpose == purpose
        and reference.container == container
        and not reference.optional
        and seen.objects.get(reference.key) is False
    )


def missing_facts(found: tuple[Reference, ...]) -> tuple[Fact, ...]:
    return tuple(Fact(reference.where, f"{reference.words} not found") for reference in found)


def missing_remedies(found: tuple[Reference, ...]) -> tuple[str, ...]:
    return tuple(f"create {words}: the next attempt finds it" for words in dict.fromkeys(one.words for one in found))


def missing_volume(seen: Observation) -> Cause | None:
    """The cause before an Event reports it: every mount attempt will fail."""
    found = missing(seen, "volume")
    if not found:
        return None
    return Cause(
        code="FailedMount",
        says=f"The pod waits for a volume: {missing_words(found)}.",
        rule=(
            "No container starts before every volume is mounted, and a volume needs the object that it names. "
            "A failed mount is retried after 0.5 s, and the wait doubles each time, up to 2m2s."
        ),
        ref="volume/configmap, volume/secret SetUpAt; util/goroutinemap/exponentialbackoff",
        steps=(NextStep("sandbox-ready", "the attempt after it was created succeeds", certain=False),),
        remedies=(*missing_remedies(found), "a reference with optional: true does not wait"),
        facts=missing_facts(found),
        detail=missing_words(found),
    )


def missing_environment(seen: Observation, view: ContainerView) -> Cause | None:
    """The cause before a status reports it: the kubelet cannot create the container's configuration."""
    found = missing(seen, "environment", view.name)
    if not found:
        return None
    return Cause(
        code="CreateContainerConfigError",
        container=view.name,
        says=f"{upper_first(view.words)} cannot start: {missing_words(found)}.",
        rule="Before a container is created, its environment is assembled from the objects that it references. "
        "A failed "
        "sync is repeated after 10 s, with jitter of up to half of that.",
        ref="kubelet_pods.go makeEnvironmentVariables; kuberuntime_container.go startContainer",
        steps=(
            NextStep("waits", "the status shows CreateContainerConfigError", view.name, certain=False),
            NextStep("started", "the sync after it was created starts it", view.name, certain=False),
        ),
        remedies=(*missing_remedies(found), "a reference with optional: true does not wait"),
        facts=missing_facts(found),
        detail=missing_words(found),
    )


def missing_words(found: tuple[Reference, ...]) -> str:
    """The missing objects in words: `ConfigMap shop/settings not found`; empty if there are none."""
    named = ", ".join(dict.fromkeys(reference.words for reference in found))
    return f"{named} not found" if named else ""
