"""Mounts of a container: rows of pkg/kubelet/kubelet_pods_linux_test.go TestMakeMounts and TestMakeBlockVolumes, of
kubelet_pods_test.go TestResolveRecursiveReadOnly, and of container/helpers_test.go TestExpandVolumeMountsWithSubpath.

TestMakeMounts, with a VolumeDirectory instead of a Mounter; host paths are the runtime's on a simulated node.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Container
from kubesim.features import DEFAULT_GATES
from kubesim.kubelet.volumes.mounts import check_block_volumes, make_mounts, resolve_recursive_read_only
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import SubPathProblem, VolumeDirectory
from tests.support.played import Played, container, pod

VOLUMES = {
    name: VolumeDirectory(name, plugin, (name,), read_only=read_only)
    for name, plugin, read_only in (
        ("disk", "emptyDir", False),
        ("disk4", "hostPath", False),
        ("disk5", "hostPath", False),
        ("config", "configMap", True),
        ("image1", "image", True),
    )
}


def mounts(
    *given: dict[str, Any], env: dict[str, str] | None = None, problem: SubPathProblem | None = None
) -> tuple[ContainerMount, ...]:
    made = Container.from_json({"name": "main", "volumeMounts": list(given)})
    return make_mounts(made, VOLUMES, list((env or {}).items()), lambda name, path: problem, DEFAULT_GATES)


MADE = {
    "valid mounts in unprivileged container": (
        [
            {"name": "disk", "mountPath": "/etc/hosts"},
            {"name": "disk", "mountPath": "/mnt/path3", "readOnly": True, "mountPropagation": "HostToContainer"},
            {"name": "disk4", "mountPath": "/mnt/path4", "mountPropagation": "None"},
            {"name": "disk5", "mountPath": "/mnt/path5"},
        ],
        [
            ContainerMount("disk", "/etc/hosts"),
            ContainerMount("disk", "/mnt/path3", read_only=True, propagation="host to container"),
            ContainerMount("disk4", "/mnt/path4"),
            ContainerMount("disk5", "/mnt/path5"),
        ],
    ),
    "valid mounts in privileged container": (
        [{"name": "disk4", "mountPath": "/mnt/path4", "mountPropagation": "Bidirectional"}],
        [ContainerMount("disk4", "/mnt/path4", propagation="bidirectional")],
    ),
    "valid mounts in unprivileged container with image volumes": (
        [{"name": "image1", "mountPath": "/mnt/image", "subPath": "a"}],
        [ContainerMount("image1", "/mnt/image", "a", read_only=True)],
    ),
    "a volume that is read-only by itself": (
        [{"name": "config", "mountPath": "/config", "subPath": "key"}],
        [ContainerMount("config", "/config", "key", read_only=True)],
    ),
    "a relative path": ([{"name": "disk", "mountPath": "data"}], [ContainerMount("disk", "/data")]),
    "recursive read-only": (
        [{"name": "disk", "mountPath": "/a", "readOnly": True, "recursiveReadOnly": "Enabled"}],
        [ContainerMount("disk", "/a", read_only=True, recursive_read_only=True)],
    ),
}


@pytest.mark.parametrize(("given", "expected"), MADE.values(), ids=MADE)
def test_make_mounts(given: list[dict[str, Any]], expected: list[ContainerMount]) -> None:
    assert list(mounts(*given)) == expected


NOT_READ_ONLY = 'volume "disk" requested recursive read-only mode, but it is not read-only'
REFUSED = {
    "invalid absolute SubPath": (
        {"name": "disk", "mountPath": "/a", "subPath": "/must/not/be/absolute"},
        "error SubPath `/must/not/be/absolute` must not be an absolute path",
    ),
    "invalid SubPath with backsteps": (
        {"name": "disk", "mountPath": "/a", "subPath": "no/backsteps/../allowed"},
        "unable to provision SubPath `no/backsteps/../allowed`: must not contain '..'",
    ),
    "volume doesn't exist": (
        {"name": "other", "mountPath": "/a"},
        'cannot find volume "other" to mount into container "main"',
    ),
    "invalid propagation": (
        {"name": "disk", "mountPath": "/a", "mountPropagation": "Up"},
        'invalid MountPropagation mode: "Up"',
    ),
    "recursive, but not read-only": (
        {"name": "disk", "mountPath": "/a", "recursiveReadOnly": "Enabled"},
        f"failed to resolve recursive read-only mode: {NOT_READ_ONLY}",
    ),
}


@pytest.mark.parametrize(("given", "expected"), REFUSED.values(), ids=REFUSED)
def test_invalid_mounts(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ContainerConfigError) as error:
        mounts(given)
    assert str(error.value) == expected


@pytest.mark.parametrize("problem", ["create subPath directory", "prepare subPath"])
def test_the_reason_is_not_reported(problem: SubPathProblem) -> None:
    with pytest.raises(ContainerConfigError) as error:
        mounts({"name": "disk", "mountPath": "/a", "subPath": "a"}, problem=problem)
    assert str(error.value) == f'failed to {problem} for volumeMount "disk" of container "main"'


EXPANDED = {
    "subpath with no expansion": ("foo", {}, "foo"),
    "volumes with expanded subpath": ("foo/$(POD_NAME)", {"POD_NAME": "bar"}, "foo/bar"),
    "volumes expanded with empty subpath": ("", {"POD_NAME": "bar"}, ""),
    "volumes expanded with leading environment variable": ("$(POD_NAME)/bar", {"POD_NAME": "foo"}, "foo/bar"),
    "an escaped reference": ("$$(A)", {}, "$(A)"),
}


@pytest.mark.parametrize(("expression", "env", "expected"), EXPANDED.values(), ids=EXPANDED)
def test_sub_path_expressions(expression: str, env: dict[str, str], expected: str) -> None:
    [made] = mounts({"name": "disk", "mountPath": "/a", "subPathExpr": expression}, env=env)
    assert made.sub_path == expected


MISSING = {
    "volumes expanded with no envs subpath": ("/foo/$(POD_NAME)", {}, "POD_NAME"),
    "subpaths with empty environment variable": (
        "foo/$(POD_NAME)/$(ANNOTATION)",
        {"ANNOTATION": ""},
        "ANNOTATION, POD_NAME",
    ),
    "subpaths with missing env variables": ("foo/$(ODD_NAME)/$(POD_NAME)", {"POD_NAME": "bar"}, "ODD_NAME"),
    "subpaths with empty expansion": ("$()", {}, ""),
    "subpaths with nested expandable envs": (
        "$(POD_NAME$(ANNOTATION))",
        {"POD_NAME": "foo", "ANNOTATION": "bar"},
        "POD_NAME$(ANNOTATION",
    ),
    "a name that is missing twice": ("$(A)/$(A)", {}, "A"),
}


@pytest.mark.parametrize(("expression", "env", "expected"), MISSING.values(), ids=MISSING)
def test_missing_variables(expression: str, env: dict[str, str], expected: str) -> None:
    with pytest.raises(ContainerConfigError) as error:
        mounts({"name": "disk", "mountPath": "/a", "subPathExpr": expression}, env=env)
    assert str(error.value) == f"missing value for {expected}"


def test_an_expanded_path_is_checked_too() -> None:
    with pytest.raises(ContainerConfigError, match="must not be an absolute path"):
        mounts({"name": "disk", "mountPath": "/a", "subPathExpr": "$(A)"}, env={"A": "/etc"})


# readOnly, recursiveReadOnly, mountPropagation, supported -> the result, or the end of the error
RECURSIVE: list[tuple[bool, str | None, str | None, bool, bool | str]] = [
    (False, None, None, True, False),
    (True, None, None, True, False),
    (True, "Disabled", None, True, False),
    (True, "IfPossible", None, True, True),
    (True, "IfPossible", None, False, False),
    (True, "IfPossible", "None", True, True),
    (True, "IfPossible", "HostToContainer", True, 'not compatible with propagation "HostToContainer"'),
    (True, "IfPossible", "Bidirectional", True, 'not compatible with propagation "Bidirectional"'),
    (False, "IfPossible", None, True, "not read-only"),
    (False, "IfPossible", None, False, "not read-only"),
    (True, "Enabled", None, True, True),
    (True, "Enabled", "None", True, True),
    (True, "Enabled", "HostToContainer", True, 'not compatible with propagation "HostToContainer"'),
    (True, "Enabled", "Bidirectional", True, 'not compatible with propagation "Bidirectional"'),
    (False, "Enabled", None, True, "not read-only"),
    (True, "Enabled", None, False, "not supported by the runtime"),
    (True, "foo", None, True, 'unknown recursive read-only mode "foo"'),
]


@pytest.mark.parametrize(("read_only", "mode", "propagation", "supported", "expected"), RECURSIVE)
def test_recursive_read_only(
    read_only: bool, mode: str | None, propagation: str | None, supported: bool, expected: bool | str
) -> None:
    mount = {"name": "v", "readOnly": read_only, "recursiveReadOnly": mode, "mountPropagation": propagation}
    if isinstance(expected, bool):
        assert resolve_recursive_read_only(mount, supported) is expected
    else:
        with pytest.raises(ValueError, match=expected):
            resolve_recursive_read_only(mount, supported)


DEVICES = {
    "valid volumeDevices in container": ({"name": "disk", "devicePath": "/dev/sda"}, ""),
    "invalid absolute Path": (
        {"name": "disk", "devicePath": "must/be/absolute"},
        "error DevicePath `must/be/absolute` must be an absolute path",
    ),
    "volume doesn't exist": (
        {"name": "other", "devicePath": "/dev/sdaa"},
        'cannot find volume "other" to pass into container "main"',
    ),
}


@pytest.mark.parametrize(("device", "expected"), DEVICES.values(), ids=DEVICES)
def test_block_volumes(device: dict[str, str], expected: str) -> None:
    made = Container.from_json({"name": "main", "volumeDevices": [device]})
    problem = ""
    try:
        check_block_volumes(made, VOLUMES)
    except ContainerConfigError as error:
        problem = str(error)
    assert problem == expected


# -- as a user sees it ------------------------------------------------------------------------------------------


def story(*containers: dict[str, Any], **spec: Any) -> Played:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"key": "value"}}
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "config", "configMap": {"name": "c"}}]
    return Played(
        objects=[config, pod("web", containers=list(containers), volumes=volumes, restartPolicy="Never", **spec)]
    )


def test_a_container_whose_mounts_fail_waits_with_the_reason() -> None:
    through_a_file = [{"name": "config", "mountPath": "/c", "subPath": "key/below"}]
    played = story(container("main", "true", volumeMounts=through_a_file))
    message = 'failed to prepare subPath for volumeMount "config" of container "main"'
    assert played.messages("Failed", "web")[0] == f"Error: {message}"
    assert "CreateContainerConfigError" in str(played.statuses("web"))


def test_a_missing_key_becomes_a_directory() -> None:
    mount = [{"name": "config", "mountPath": "/c", "subPath": "none"}]
    played = story(container("main", "test -d /c && exit 7", volumeMounts=mount))
    assert "terminated/7" in str(played.statuses("web"))


def test_writes_to_read_only_mounts_and_roots_fail() -> None:
    mount = [{"name": "scratch", "mountPath": "/s", "readOnly": True}]
    script = ("echo x > /s/file || echo y > /tmp/file || exit 7",)
    context = {"readOnlyRootFilesystem": True}
    played = story(container("main", *script, volumeMounts=mount, securityContext=context))
    assert "terminated/7" in str(played.statuses("web"))


def test_users_and_groups_are_those_of_the_security_context() -> None:
    script = '[ "$(id -u) $(id -g) $(id -G)" = "1001 7 7 2000 3000" ] && exit 7'
    of_pod = {"runAsUser": 1000, "runAsGroup": 7, "fsGroup": 3000, "supplementalGroups": [2000]}
    played = story(container("main", script, securityContext={"runAsUser": 1001}), securityContext=of_pod)
    assert "terminated/7" in str(played.statuses("web"))


READ_ONLY: dict[str, dict[str, Any]] = {
    "nfs": {"server": "s", "path": "/"},
    "iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2026-01.com.example:disk", "lun": 0},
    "fc": {"targetWWNs": ["50060e801049cfd1"], "lun": 0},
    "csi": {"driver": "inline.example.com"},
}


def inline(field: str, modes: list[str], read_only: bool) -> Played:
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "inline.example.com"}}
    volume = {"name": "v", field: {**READ_ONLY[field], "readOnly": read_only}}
    writer = container("main", "echo x > /v/file || exit 7", volumeMounts=[{"name": "v", "mountPath": "/v"}])
    whole = pod("web", containers=[writer], volumes=[volume], restartPolicy="Never")
    return Played(objects=[{**driver, "spec": {"volumeLifecycleModes": modes}}, whole])


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("field", READ_ONLY)
def test_a_volume_of_the_pod_may_be_read_only(field: str, read_only: bool) -> None:
    played = inline(field, ["Ephemeral"], read_only)
    assert f"terminated/{7 if read_only else 0}" in str(played.statuses("web"))


def test_a_driver_without_inline_volumes() -> None:
    played = inline("csi", ["Persistent"], False)
    assert played.messages("FailedMount", "web")[0] == (
        'MountVolume.SetUp failed for volume "v" : kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle '
        'mode: volume mode "Ephemeral" not supported by driver inline.example.com (only supports ["Persistent"])'
    )
