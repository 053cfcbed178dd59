"""Cases after upstream's host_path_test.go TestOSFileTypeChecker and checkTypeInternal."""

from __future__ import annotations

import pytest

from kubesim.kubelet.volumes.host_paths import check_host_path
from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.runtime.simulated.volumes import NodeVolumes


def node() -> NodeVolumes:
    return NodeVolumes(lambda: 0)


@pytest.mark.parametrize(
    ("path", "type"),
    [
        ("/anything/at/all", ""),
        ("/var/log", "Directory"),
        ("/var/log/", "DirectoryOrCreate"),
        ("/new/directory", "DirectoryOrCreate"),
        ("/etc/hosts", "File"),
        ("/tmp/new", "FileOrCreate"),
        ("/run/containerd/containerd.sock", "Socket"),
        ("/dev/null", "CharDevice"),
        ("/dev/vda", "BlockDevice"),
    ],
)
def test_paths_that_exist_or_may_be_created(path: str, type: str) -> None:
    check_host_path({"path": path, "type": type}, node())


@pytest.mark.parametrize(
    ("path", "type", "problem"),
    [
        ("/no", "Directory", "hostPath type check failed: /no is not a directory"),
        ("/etc/hosts", "DirectoryOrCreate", "hostPath type check failed: /etc/hosts is not a directory"),
        ("/no", "File", "hostPath type check failed: /no is not a file"),
        ("/var/log", "FileOrCreate", "hostPath type check failed: /var/log is not a file"),
        ("/no/where", "FileOrCreate", "open /no/where: no such file or directory"),
        ("/etc/hosts", "Socket", "hostPath type check failed: /etc/hosts is not a socket file"),
        ("/dev/vda", "CharDevice", "hostPath type check failed: /dev/vda is not a character device"),
        ("/dev/null", "BlockDevice", "hostPath type check failed: /dev/null is not a block device"),
        ("/var/log", "Socket2", "Socket2 is an invalid volume type"),
        ("/a/../b", "", "invalid HostPath `/a/../b`: must not contain '..'"),
    ],
)
def test_rejected_host_paths(path: str, type: str, problem: str) -> None:
    with pytest.raises(VolumeError) as error:
        check_host_path({"path": path, "type": type}, node())
    assert str(error.value) == problem


def test_created_host_paths_exist() -> None:
    machine = node()
    for path, type, kind in (("/d/e", "DirectoryOrCreate", "directory"), ("/d/f", "FileOrCreate", "file")):
        check_host_path({"path": path, "type": type}, machine)
        assert machine.path_kind(path) == kind
