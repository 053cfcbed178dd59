"""Terms of pod affinity and anti-affinity, with their selectors parsed once per pod.

Mirrors: kube-scheduler/framework/types.go AffinityTerm, GetAffinityTerms; pkg/registry/core/pod/strategy.go
applyMatchLabelKeysAndMismatchLabelKeys
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.pod import Pod
from kubesim.cluster.store.selectors import LabelSelector, Requirement, selector_from
from kubesim.values import value_object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@value_object
class AffinityTerm:
    """A term: pods with these labels and namespaces, in the same topology domain. Without a weight it is required."""

    namespaces: frozenset[str]
    selector: LabelSelector
    topology_key: str
    namespace_selector: LabelSelector | None = None
    weight: int = 0

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        if namespace not in self.namespaces and not (
            self.namespace_selector is not None and self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)

    def matches_pod(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        return self.matches(pod.metadata.namespace, pod.metadata.labels, namespace_labels)


NO_TERMS: tuple[AffinityTerm, ...] = ()


@value_object
class AffinityTerms:
    """All terms of a pod."""

    required_affinity: tuple[AffinityTerm, ...] = NO_TERMS
    required_anti_affinity: tuple[AffinityTerm, ...] = NO_TERMS
    preferred_affinity: tuple[AffinityTerm, ...] = NO_TERMS
    preferred_anti_affinity: tuple[AffinityTerm, ...] = NO_TERMS

    @property
    def any(self) -> bool:
        return bool(
            self.required_affinity
            or self.required_anti_affinity
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )


NO_AFFINITY = AffinityTerms()


def affinity_terms(pod: Pod) -> AffinityTerms:
    affinity = pod.spec.affinity
    if not affinity:
        return NO_AFFINITY
    near, apart = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    if not near and not apart:
        return NO_AFFINITY
    return AffinityTerms(
        _terms(pod, near.get(_REQUIRED)),
        _terms(pod, apart.get(_REQUIRED)),
        _weighted(pod, near.get(_PREFERRED)),
        _weighted(pod, apart.get(_PREFERRED)),
    )


def _terms(pod: Pod, terms: Sequence[Mapping[str, Any]] | None) -> tuple[AffinityTerm, ...]:
    return tuple(_term(pod, term) for term in terms or ())


def _weighted(pod: Pod, terms: Sequence[Mapping[str, Any]] | None) -> tuple[AffinityTerm, ...]:
    return tuple(_term(pod, each.get("podAffinityTerm") or {}, each.get("weight", 0)) for each in terms or ())


def _term(pod: Pod, term: Mapping[str, Any], weight: int = 0) -> AffinityTerm:
    namespaces, namespace_selector = term.get("namespaces") or (), term.get("namespaceSelector")
    if not namespaces and namespace_selector is None:
        namespaces = (pod.metadata.namespace,)
    return AffinityTerm(
        frozenset(namespaces),
        with_label_keys(
            selector_from(term.get("labelSelector")),
            pod.metadata.labels,
            term.get("matchLabelKeys") or (),
            term.get("mismatchLabelKeys") or (),
        ),
        term.get("topologyKey", ""),
        None if namespace_selector is None else selector_from(namespace_selector),
        weight,
    )


def with_label_keys(
    selector: LabelSelector, labels: Mapping[str, str], match: Sequence[str], mismatch: Sequence[str] = ()
) -> LabelSelector:
    """The selector extended by matchLabelKeys and mismatchLabelKeys with the pod's own values."""
    own = [(key, operator) for keys, operator in ((match, "in"), (mismatch, "notin")) for key in keys if key in labels]
    if not own:
        return selector
    added = tuple(Requirement(key, operator, frozenset((labels[key],))) for key, operator in own)
    return LabelSelector((*selector.requirements, *added))
