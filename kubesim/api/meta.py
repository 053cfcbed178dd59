"""The parts that every object has: kind, name, owner, version."""

from __future__ import annotations

from typing import Any

from kubesim.api.model import Model, go

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_MIRROR = "kubernetes.io/config.mirror"
CONFIG_HASH = "kubernetes.io/config.hash"


class OwnerReference(Model):
    api_version: str = go("string", always=True)
    kind: str = go("string", always=True)
    name: str = go("string", always=True)
    uid: str = go("UID", always=True)
    controller: bool | None = go("*bool")
    block_owner_deletion: bool | None = go("*bool")


class ObjectMeta(Model):
    name: str = go("string")
    generate_name: str = go("string")
    namespace: str = go("string")
    self_link: str = go("string")
    uid: str = go("UID")
    resource_version: str = go("string")
    generation: int = go("int64")
    creation_timestamp: str | None = go("Time")
    deletion_timestamp: str | None = go("*Time")
    deletion_grace_period_seconds: int | None = go("*int64")
    labels: dict[str, str] = go("map[string]string")
    annotations: dict[str, str] = go("map[string]string")
    owner_references: tuple[OwnerReference, ...] = go("[]OwnerReference", merge="uid")
    finalizers: tuple[str, ...] = go("[]string", merge="")
    managed_fields: tuple[dict[str, Any], ...] = go("[]ManagedFieldsEntry")


class TypeMeta(Model, embedded_as="TypeMeta"):
    kind: str = go("string")
    api_version: str = go("string")


class ApiObject(TypeMeta):
    """Any API object; kinds without a class of their own use this class."""

    metadata: ObjectMeta = go("ObjectMeta")


class ObjectReference(Model):
    kind: str = go("string")
    namespace: str = go("string")
    name: str = go("string")
    uid: str = go("UID")
    api_version: str = go("string")
    resource_version: str = go("string")
    field_path: str = go("string")
