"""File contents of API volumes: ConfigMaps, Secrets, the downward API, tokens, and projected volumes.

All functions return path -> text. They raise VolumeError with the kubelet's message, or `NotListedYet` for an object
that the caller may wait for.

Mirrors: pkg/volume/{configmap,secret,downwardapi,projected} MakePayload, CollectData, collectData
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kubesim.api.configuration import binary_data, configuration
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod, ResourceList
from kubesim.golang.text import aggregate
from kubesim.kubelet.containers.downward_api import extract_field_path, resource_value_for_volume
from kubesim.kubelet.volumes.object_manager import CONFIG_MAP, SECRET, NotListedYet, ObjectNotFound, ObjectUnavailable
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.runtime.helper import ContainerConfigError

Source = Mapping[str, Any]
Payload = dict[str, str]

_MISSING_KEY = {
    CONFIG_MAP: "configmap references non-existent config key: ",
    SECRET: "references non-existent secret key: ",
}


class VolumeHost(Protocol):
    """The data sources of payloads."""

    def get_object(self, kind: str, namespace: str, name: str) -> ApiObject:
        """The ConfigMap or Secret. Raises ObjectUnavailable."""
        ...

    def service_account_token(self, pod: Pod, source: Source) -> str:
        """A token. Raises VolumeError."""
        ...

    def node_allocatable(self) -> ResourceList: ...


def config_map_payload(source: Source, pod: Pod, host: VolumeHost) -> Payload:
    return _object_payload(CONFIG_MAP, source.get("name") or "", source, pod, host)


def secret_payload(source: Source, pod: Pod, host: VolumeHost) -> Payload:
    return _object_payload(SECRET, source.get("secretName") or "", source, pod, host)


def _object_payload(kind: str, name: str, source: Source, pod: Pod, host: VolumeHost) -> Payload:
    optional = bool(source.get("optional"))
    try:
        found = host.get_object(kind, pod.metadata.namespace, name)
        data = {**configuration(found), **binary_data(found)}
    except ObjectNotFound as error:
        if not optional:
            raise VolumeError(str(error)) from None
        data = {}
    except NotListedYet:
        raise
    except ObjectUnavailable as error:
        raise VolumeError(str(error)) from None
    return make_payload(kind, source.get("items") or (), data, optional=optional)


def make_payload(kind: str, items: Sequence[Source], data: Mapping[str, str], *, optional: bool) -> Payload:
    """All keys, or the keys in `items` at their paths."""
    if not items:
        return dict(data)
    payload = {}
    for item in items:
        key = item.get("key") or ""
        if key in data:
            payload[item.get("path") or ""] = data[key]
        elif not optional:
            raise VolumeError(_MISSING_KEY[kind] + key)
    return payload


def downward_api_payload(source: Source, pod: Pod, host: VolumeHost) -> Payload:
    payload, errors = {}, []
    for item in source.get("items") or ():
        text = ""
        try:
            if (field := item.get("fieldRef")) is not None:
                text = extract_field_path(pod, field.get("fieldPath") or "")
            elif (resource := item.get("resourceFieldRef")) is not None:
                text = resource_value_for_volume(resource, pod, host.node_allocatable())
        except ContainerConfigError as error:
            errors.append(str(error))
        payload[posixpath.normpath(item.get("path") or "")] = text
    if errors:
        raise VolumeError(aggregate(errors))
    return payload


def projected_payload(source: Source, pod: Pod, host: VolumeHost) -> Payload:
    """All sources in one directory: later files replace earlier ones, and all errors are reported together."""
    payload: Payload = {}
    errors = []
    for part in source.get("sources") or ():
        try:
            payload.update(_projection(part, pod, host))
        except VolumeError as error:
            errors.append(str(error))
    if errors:
        raise VolumeError(aggregate(errors))
    return payload


def _projection(part: Source, pod: Pod, host: VolumeHost) -> Payload:
    if (secret := part.get("secret")) is not None:
        return _object_payload(SECRET, secret.get("name") or "", secret, pod, host)
    if (config_map := part.get("configMap")) is not None:
        return _object_payload(CONFIG_MAP, config_map.get("name") or "", config_map, pod, host)
    if (downward_api := part.get("downwardAPI")) is not None:
        return downward_api_payload(downward_api, pod, host)
    if (token := part.get("serviceAccountToken")) is not None:
        return {token.get("path") or "": host.service_account_token(pod, token)}
    if (bundle := part.get("clusterTrustBundle")) is not None:
        return {bundle.get("path") or "": ""}
    return {}


PAYLOADS: Mapping[str, Callable[[Source, Pod, VolumeHost], Payload]] = {
    "configMap": config_map_payload,
    "secret": secret_payload,
    "downwardAPI": downward_api_payload,
    "projected": projected_payload,
}
