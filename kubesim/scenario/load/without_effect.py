"""Finds the parts of a scenario that have no effect in kubesim: kinds that are only stored, fields of objects, fields
of the kubelet's configuration.

Static pods in files and text are examined by `scenario.play.effect_notes` when the kubelet has read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kubesim.api.effects.findings import WITHOUT_EFFECT, Findings, object_named
from kubesim.api.effects.scan import fields_without_effect
from kubesim.cluster.store.kinds import RESOURCES, Resource
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.sources.source_items import Manifest
from kubesim.scenario.load.manifests import object_of_operation
from kubesim.scenario.load.objects import has_effect, items_of, shown

if TYPE_CHECKING:
    from kubesim.scenario.language.step_items import Patch

JsonObject = dict[str, Any]

STORED = "stored, no effect here: "
PREFIXES = (STORED, WITHOUT_EFFECT)


def survey(spec: Spec) -> tuple[list[str], Findings]:
    """The names of the objects that are only stored, and the fields without effect of the others: all objects that the
    scenario applies or patches, and static pods given as objects."""
    stored: dict[str, None] = {}
    findings = Findings()
    resources: dict[tuple[str, str], Resource | None] = {}
    for manifest in (*spec.objects, *(step.apply for step in spec.steps if step.apply is not None)):
        for item in [manifest] if not manifest["kind"].endswith("List") else [item for _, item in items_of(manifest)]:
            key = item["apiVersion"], item["kind"]
            if key not in resources:
                resources[key] = RESOURCES[item["kind"]] if has_effect(item) else None
            resource = resources[key]
            if resource is None:
                stored[shown(item)] = None
            elif paths := fields_without_effect(resource.kind, item):
                findings.add(paths, _named(resource, item))
    for item in _static_pods(spec):
        findings.add(fields_without_effect("Pod", item), _named(RESOURCES["Pod"], item))
    for step in spec.steps:
        if step.patch is not None and step.patch.kind in RESOURCES:
            for patch in _patched(step.patch):
                findings.add(
                    fields_without_effect(step.patch.kind, patch), object_named(step.patch.kind, *step.patch.key)
                )
    return list(stored), findings


def _named(resource: Resource, manifest: JsonObject) -> str:
    metadata = manifest.get("metadata") or {}
    namespace = (metadata.get("namespace") or "default") if resource.namespaced else ""
    return object_named(resource.kind, namespace, metadata.get("name") or metadata.get("generateName", "") + "*")


def _static_pods(spec: Spec) -> Iterator[JsonObject]:
    """The static pods given as objects; pods given as text are unknown until the kubelet has read them."""
    given: list[Manifest | None] = list(spec.sources.file.manifests.values())
    given += [step.write_static_pod.manifest for step in spec.steps if step.write_static_pod is not None]
    for answer in (spec.sources.http, *(step.serve_manifest for step in spec.steps)):
        if answer is not None:
            given += [answer.manifest, *answer.manifests]
    for manifest in given:
        if isinstance(manifest, dict):
            yield from (item for _, item in items_of(manifest))


def configuration_line(spec: Spec, *, has_port: bool) -> list[str]:
    """One line for all such fields of the kubelet's configuration; None if there are none."""
    names = spec.kubelet_configuration.without_effect(has_port=has_port)
    return [f"{WITHOUT_EFFECT}{', '.join(names)} (kubelet configuration)"] if names else []


def _patched(patch: Patch) -> Iterator[JsonObject]:
    """Objects with the fields that the patch sets."""
    if isinstance(patch.patch, dict):
        yield patch.patch
        return
    yield from (value for each in patch.patch if isinstance(value := object_of_operation(each), dict))
