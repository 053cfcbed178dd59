"""Volume mounts and block devices of a container.

Mirrors: pkg/apis/core/validation ValidateVolumeMounts, ValidateVolumeDevices
"""

from __future__ import annotations

from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.volumes.paths import has_backsteps, validate_local_descending_path
from kubesim.api.validation.volumes.volumes import Volumes


def validate_volume_mounts(errors: Errors, container: JsonObject, volumes: Volumes, path: str) -> None:
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for n, mount in enumerate(container.get("volumeMounts") or ()):
        where, name, mount_path = f"{path}[{n}]", mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.required(f"{where}.name")
        if name not in volumes:
            errors.not_found(f"{where}.name", name)
        if not mount_path:
            errors.required(f"{where}.mountPath")
        if mount_path in seen:
            errors.invalid(f"{where}.mountPath", mount_path, "must be unique")
        seen.add(mount_path)
        if name in devices:
            errors.invalid(f"{where}.name", name, "must not already exist in volumeDevices")
        if mount_path in devices.values():
            detail = "must not already exist as a path in volumeDevices"
            errors.invalid(f"{where}.mountPath", mount_path, detail)
        _validate_sub_path(errors, mount, path, where)
        # Errors about these fields are reported at the list, not at its element.
        propagation, read_only = mount.get("mountPropagation"), mount.get("recursiveReadOnly")
        if propagation is not None:
            _validate_propagation(errors, propagation, container, f"{path}.mountPropagation")
        if read_only is not None:
            _validate_recursive_read_only(errors, mount, read_only, f"{path}.recursiveReadOnly")


def _validate_sub_path(errors: Errors, mount: JsonObject, path: str, where: str) -> None:
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        validate_local_descending_path(errors, sub_path, f"{path}.subPath")
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.invalid(f"{where}.subPathExpr", expression, detail)
        validate_local_descending_path(errors, expression, f"{path}.subPathExpr")


def _validate_propagation(errors: Errors, propagation: str, container: JsonObject, path: str) -> None:
    errors.unless_one_of(path, propagation, ("Bidirectional", "HostToContainer", "None"))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        errors.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")


def _validate_recursive_read_only(errors: Errors, mount: JsonObject, mode: str, path: str) -> None:
    if mode == "Disabled":
        return
    if mode not in ("Enabled", "IfPossible"):
        errors.unsupported(path, mode, ("Disabled", "Enabled", "IfPossible"))
        return
    if not mount.get("readOnly"):
        errors.forbidden(path, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        errors.forbidden(path, "may only be specified when mountPropagation is None or not specified")


def validate_volume_devices(errors: Errors, container: JsonObject, volumes: Volumes, path: str) -> None:
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for n, device in enumerate(container.get("volumeDevices") or ()):
        where, name, device_path = f"{path}[{n}]", device.get("name", ""), device.get("devicePath", "")
        if not name:
            errors.required(f"{where}.name")
        if name in names:
            errors.invalid(f"{where}.name", name, "must be unique")
        _validate_device_volume(errors, name, volumes, where)
        if not device_path:
            errors.required(f"{where}.devicePath")
        if device_path in paths:
            errors.invalid(f"{where}.devicePath", device_path, "must be unique")
        if device_path and has_backsteps(device_path):
            errors.invalid(f"{where}.devicePath", device_path, "can not contain backsteps ('..')")
        else:
            paths.add(device_path)
        if name in mounts:
            errors.invalid(f"{where}.name", name, "must not already exist in volumeMounts")
        if device_path in mounts.values():
            errors.invalid(f"{where}.devicePath", device_path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)


def _validate_device_volume(errors: Errors, name: str, volumes: Volumes, path: str) -> None:
    volume = volumes.get(name)
    if volume is None:
        errors.not_found(f"{path}.name", name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.invalid(f"{path}.name", name, detail)
