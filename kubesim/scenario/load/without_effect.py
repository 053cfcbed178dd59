"""What a scenario asks for that has no effect here, in lines to print: kinds that are only stored, fields of objects,
fields of the kubelet's configuration.

Static pods in files and text are not here: `scenario.play.effect_notes` looks at what the kubelet has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.api.effects.findings import WITHOUT_EFFECT, Findings
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.served_kinds import stored_kind
from kubesim.scenario.language.document import Spec
from kubesim.scenario.language.source_items import Manifest
from kubesim.scenario.language.step_items import Patch
from kubesim.scenario.load.objects import items_of

JsonObject = dict[str, Any]

STORED = "stored, no effect here: "
PREFIXES = (STORED, WITHOUT_EFFECT)


def given_objects(spec: Spec) -> tuple[JsonObject, ...]:
    return (*spec.objects, *(step.apply for step in spec.steps if step.apply is not None))


def find_fields(spec: Spec) -> Findings:
    """The fields of all objects that the scenario applies or patches, and of static pods that it gives as objects."""
    findings = Findings()
    for manifest in (*given_objects(spec), *_static_pods(spec)):
        for _, item in items_of(manifest):
            resource = RESOURCES.get(stored_kind(item["apiVersion"], item["kind"]))
            if resource is not None:
                metadata = item.get("metadata") or {}
                namespace = (metadata.get("namespace") or "default") if resource.namespaced else ""
                name = metadata.get("name") or metadata.get("generateName", "") + "*"
                findings.add(resource.kind, item, namespace, name)
    for step in spec.steps:
        if step.patch is not None and step.patch.kind in RESOURCES:
            for patch in _patched(step.patch):
                findings.add(step.patch.kind, patch, *step.patch.key)
    return findings


def _static_pods(spec: Spec) -> Iterator[JsonObject]:
    """Those that are given as text are only known when the kubelet has read them."""
    given: list[Manifest | None] = list(spec.sources.file.manifests.values())
    given += [step.write_static_pod.manifest for step in spec.steps if step.write_static_pod is not None]
    for answer in (spec.sources.http, *(step.serve_manifest for step in spec.steps)):
        if answer is not None:
            given += [answer.manifest, *answer.manifests]
    yield from (manifest for manifest in given if isinstance(manifest, dict))


def configuration_line(spec: Spec) -> list[str]:
    """One line for all fields of the kubelet's configuration, or none."""
    names = spec.kubelet_configuration.without_effect()
    return [f"{WITHOUT_EFFECT}{', '.join(names)} (kubelet configuration)"] if names else []


def _patched(patch: Patch) -> Iterator[JsonObject]:
    """Objects that hold what the patch sets, as far as it sets something."""
    if isinstance(patch.patch, dict):
        yield patch.patch
        return
    for operation in patch.patch:
        value: Any = operation.get("value")
        for step in reversed(str(operation.get("path", "")).strip("/").split("/")):
            value = [value] if step == "-" or step.isdigit() else {step: value}
        if isinstance(value, dict):
            yield value
