"""The volumes of a node as containers see them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.features import DEFAULT_GATES
from kubesim.kubelet.volumes.mounts import make_mounts
from kubesim.runtime.simulated.volumes import NodeVolumes, SharedStorage
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import VolumeDirectory
from kubesim.shell import FileFault, VirtualFiles


def make_pod(uid: str = "u") -> Pod:
    return Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": uid}})


def directory(name: str, plugin: str = "emptyDir", **more: Any) -> VolumeDirectory:
    return VolumeDirectory(f"unique-{name}", plugin, (name,), **more)


def files(node: NodeVolumes, *mounts: dict[str, Any], uid: str = "u", **variables: str) -> VirtualFiles:
    container = Container.from_json({"name": "c", "volumeMounts": list(mounts)})
    prepare = partial(node.prepare_sub_path, uid)
    made = make_mounts(container, node.of_pod(uid), list(variables.items()), prepare, DEFAULT_GATES)
    return node.files(make_pod(uid), container, made)


def mount(name: str, path: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "mountPath": path, **more}


def node(shared: SharedStorage | None = None) -> NodeVolumes:
    return NodeVolumes(lambda: 0, shared)


def test_an_empty_dir_is_shared_only_by_its_pod() -> None:
    machine = node()
    for uid in ("u", "other"):
        machine.set_up(uid, directory("v"), None)
    files(machine, mount("v", "/a")).create("/a/file", 0).append("x", 0)
    assert files(machine, mount("v", "/b")).read("/b/file") == "x"
    assert files(machine, mount("v", "/b"), uid="other").names("/b") == []
    machine.set_up("u", directory("v"), None)
    assert files(machine, mount("v", "/b")).read("/b/file") == "x"
    machine.tear_down("u", "unique-v")
    machine.set_up("u", directory("v"), None)
    assert files(machine, mount("v", "/b")).names("/b") == []


def test_files_are_replaced_atomically_and_running_containers_see_them() -> None:
    machine = node()
    assert not machine.set_up("u", directory("v", "configMap", read_only=True), {"a": "1", "b": "1"})
    seen = files(machine, mount("v", "/v"), mount("v", "/one", subPath="a"))
    opened = seen.open("/v/a")
    assert not machine.set_up("u", directory("v", "configMap", read_only=True), {"a": "1", "b": "1"})
    assert machine.set_up("u", directory("v", "configMap", read_only=True), {"a": "2", "c/d": "2"})
    assert (seen.read("/v/a"), seen.names("/v"), seen.read("/v/c/d")) == ("2", ["a", "c"], "2")
    assert opened.text == "1"
    assert seen.read("/one") == "1"  # a separate mount is unchanged
    with pytest.raises(FileFault, match="Read-only"):
        seen.create("/v/new", 0)


def test_sub_paths_are_created_and_may_contain_variables() -> None:
    machine = node()
    machine.set_up("u", directory("v"), None)
    seen = files(machine, mount("v", "/logs", subPathExpr="logs/$(NAME)"), mount("v", "/all"), NAME="web-0")
    seen.create("/logs/today", 0).append("x", 0)
    assert seen.read("/all/logs/web-0/today") == "x"


def test_host_paths_with_different_starts_show_the_same_files() -> None:
    machine = node()
    machine.bind("u", directory("top", "hostPath"), "/data")
    machine.bind("other", directory("below", "hostPath"), "/data/below/")
    seen = files(machine, mount("top", "/top"))
    seen.make_directory("/top/below", parents=True)
    seen.create("/top/below/file", 0).append("x", 0)
    assert files(machine, mount("below", "/here"), uid="other").read("/here/file") == "x"
    container = Container.from_json({"name": "c"})
    assert node().files(make_pod(), container, (ContainerMount("top", "/top"),)).exists("/top") is False


def test_shared_storage_is_the_same_on_every_node() -> None:
    shared: SharedStorage = {}
    one, two = node(shared), node(shared)
    for machine in (one, two):
        machine.bind("u", directory("v", "nfs"), "server:/share", shared=True)
    files(one, mount("v", "/v")).create("/v/file", 0).append("x", 0)
    assert files(two, mount("v", "/v")).read("/v/file") == "x"


def test_memory_volumes_are_lost_when_the_machine_is_switched_off() -> None:
    machine = node()
    for name, in_memory in (("disk", False), ("memory", True)):
        machine.set_up("u", directory(name, in_memory=in_memory), None)
        files(machine, mount(name, "/v")).create("/v/file", 0)
    machine.lose_memory()
    assert [files(machine, mount(name, "/v")).names("/v") for name in ("disk", "memory")] == [["file"], []]


def test_directories_of_pods_stay_until_they_are_removed() -> None:
    machine = node()
    machine.set_up("u", directory("v"), None)
    assert list(machine.volumes()) == [("u", directory("v"))]
    machine.tear_down("u", "unique-v")
    assert (list(machine.volumes()), machine.pods()) == ([], ["u"])
    machine.remove_pod("u")
    assert machine.pods() == []
