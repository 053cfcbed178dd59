"""Describes claims, volumes and storage classes.

Mirrors: kubectl/pkg/describe describe.go describePersistentVolumeClaim, describePersistentVolume, describeStorageClass
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.cluster.kubectl.describe.page import DescriptionPage, canonical, date
from kubesim.cluster.kubectl.describe.volumes import describe_source, source_kind
from kubesim.cluster.tables.ages import age
from kubesim.cluster.tables.data_kinds import class_of, is_default_class
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, access_modes, format_labels, yes_or_no

_HEADS = ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")


def _phase(page: DescriptionPage, obj: JsonObject) -> str:
    deleted = dig(obj, "metadata.deletionTimestamp")
    return f"Terminating (lasts {age(deleted, page.now)})" if deleted else dig(obj, "status.phase", "")


def _finalizers(obj: JsonObject) -> str:
    return f"[{' '.join(dig(obj, 'metadata.finalizers', ()))}]"


def describe_claim(
    page: DescriptionPage, obj: JsonObject, pods: Iterable[JsonObject], events: Sequence[JsonObject]
) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    volume = spec.get("volumeName", "")
    page.names(obj)
    page.field("StorageClass", class_of(obj))
    page.field("Status", _phase(page, obj))
    page.field("Volume", volume)
    page.marks(obj)
    page.field("Finalizers", _finalizers(obj))
    page.field("Capacity", canonical(dig(status, "capacity.storage", "0")) if volume else "")
    page.field("Access Modes", access_modes(status.get("accessModes")) if volume else "")
    page.optional("VolumeMode", spec.get("volumeMode"))
    source = spec.get("dataSource")
    if source is not None:
        page.line("DataSource:")
        page.optional("APIGroup", source.get("apiGroup"), 1)
        page.field("Kind", source.get("kind", ""), 1)
        page.field("Name", source.get("name", ""), 1)
    page.rows("Used By", sorted(pod["metadata"]["name"] for pod in pods if _uses(pod, obj["metadata"]["name"])))
    if status.get("conditions"):
        page.line("Conditions:")
        page.line("\t".join(_HEADS), 1)
        page.line("----\t------\t-----------------\t------------------\t------\t-------", 1)
    for each in status.get("conditions") or ():
        cells = [each.get("type", ""), each.get("status", "")]
        cells += [date(each.get("lastProbeTime")), date(each.get("lastTransitionTime")), each.get("reason", "")]
        page.line(" \t".join([*cells, each.get("message", "")]), 1)
    page.events(events)


def _uses(pod: JsonObject, claim: str) -> bool:
    name = pod["metadata"]["name"]
    for volume in dig(pod, "spec.volumes", ()):
        made = f"{name}-{volume['name']}" if volume.get("ephemeral") is not None else ""
        if claim in (dig(volume, "persistentVolumeClaim.claimName"), made):
            return True
    return False


def describe_persistent_volume(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    spec = obj.get("spec") or {}
    claim = spec.get("claimRef")
    page.field("Name", obj["metadata"]["name"])
    page.marks(obj)
    page.field("Finalizers", _finalizers(obj))
    page.field("StorageClass", class_of(obj))
    page.field("Status", _phase(page, obj))
    page.field("Claim", f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "")
    page.field("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy", ""))
    page.field("Access Modes", access_modes(spec.get("accessModes")))
    page.optional("VolumeMode", spec.get("volumeMode"))
    page.field("Capacity", canonical(dig(spec, "capacity.storage", "0")))
    _affinity(page, dig(spec, "nodeAffinity.required"))
    page.field("Message", dig(obj, "status.message", ""))
    page.line("Source:")
    kind = source_kind(spec)
    if kind is None:
        page.line("<unknown>", 1)
    else:
        describe_source(page, kind, spec[kind])
    page.events(events)


def _affinity(page: DescriptionPage, required: JsonObject | None) -> None:
    if required is None:
        page.field("Node Affinity", NONE)
        return
    terms = required.get("nodeSelectorTerms") or ()
    page.line("Node Affinity:\t")
    page.line("Required Terms:\t" + ("" if terms else NONE), 1)
    for number, term in enumerate(terms):
        rows = [_requirement(each) for each in term.get("matchExpressions") or ()]
        page.line(f"Term {number}:\t" + "\n    \t".join(rows or [NONE]), 2)


def _requirement(each: JsonObject) -> str:
    values = f" [{', '.join(each['values'])}]" if each.get("values") else ""
    return f"{each.get('key', '')} {each.get('operator', '').lower()}{values}"


def describe_storage_class(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    page.field("Name", obj["metadata"]["name"])
    page.field("IsDefaultClass", "Yes" if is_default_class(obj) else "No")
    page.field("Annotations", format_labels(dig(obj, "metadata.annotations")))
    page.field("Provisioner", obj.get("provisioner", ""))
    page.field("Parameters", format_labels(obj.get("parameters")))
    page.field("AllowVolumeExpansion", yes_or_no(obj.get("allowVolumeExpansion")))
    options = obj.get("mountOptions") or ()
    page.line("MountOptions:" + ("" if options else f"\t{NONE}"))
    for option in options:
        page.line(option, 1)
    page.optional("ReclaimPolicy", obj.get("reclaimPolicy"))
    page.optional("VolumeBindingMode", obj.get("volumeBindingMode"))
    page.events(events)
