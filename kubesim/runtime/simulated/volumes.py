"""Volumes of simulated pods: what their containers share, and what the cluster gives them to read.

Mirrors: pkg/volume/{emptydir,hostpath,configmap,secret}, as far as a container sees them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.configuration import configuration
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Container, Pod
from kubesim.runtime.simulated.shell import VirtualFiles, Volume

Lookup = Callable[[str, str, str], ApiObject | None]  # kind, namespace, name


class NodeVolumes:
    """The host's directories, and how the volumes of a pod are filled."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._host: dict[str, Volume] = {}

    def files(self, pod: Pod, container: Container, volumes: dict[str, Volume]) -> VirtualFiles:
        """What a container sees. `volumes` are those its pod has so far; what is missing is added."""
        context = container.security_context or {}
        files = VirtualFiles(read_only=bool(context.get("readOnlyRootFilesystem")))
        for mount in container.volume_mounts:
            name = mount.get("name", "")
            if name not in volumes:
                volumes[name] = self._make(pod, name)
            files.mount(
                mount.get("mountPath", ""),
                volumes[name],
                sub_path=mount.get("subPath", ""),
                read_only=bool(mount.get("readOnly")),
            )
        return files

    def _make(self, pod: Pod, name: str) -> Volume:
        source: Mapping[str, Any] = next((v for v in pod.spec.volumes if v.get("name") == name), {})
        namespace = pod.metadata.namespace
        host_path, config_map, secret = (source.get(kind) for kind in ("hostPath", "configMap", "secret"))
        if host_path is not None:
            return self._host.setdefault(host_path.get("path", ""), Volume())
        if config_map is not None:
            return Volume(_selected(self._data("ConfigMap", namespace, config_map.get("name", "")), config_map))
        if secret is not None:
            return Volume(_selected(self._data("Secret", namespace, secret.get("secretName", "")), secret))
        projected: dict[str, str] = {}
        for part in (source.get("projected") or {}).get("sources") or ():
            for kind, field in (("ConfigMap", "configMap"), ("Secret", "secret")):
                if part.get(field) is not None:
                    data = self._data(kind, namespace, part[field].get("name", ""))
                    projected.update(_selected(data, part[field]))
        return Volume(projected)

    def _data(self, kind: str, namespace: str, name: str) -> dict[str, str]:
        found = self._lookup(kind, namespace, name)
        return {} if found is None else configuration(found)


def _selected(data: dict[str, str], source: Mapping[str, Any]) -> dict[str, str]:
    """All keys, or those that `items` names, at the paths it gives them."""
    items = source.get("items")
    if not items:
        return data
    return {item["path"]: data[item["key"]] for item in items if item.get("key") in data}
