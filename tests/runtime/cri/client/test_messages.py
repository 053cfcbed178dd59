"""What the client asks a runtime, field by field, and how long it waits for the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import run_virtual
from kubesim.runtime.allocation.linux_resources import linux_container_resources
from kubesim.runtime.cri.client.host import CriNodeHost
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.client.messages.containers import HostMount, container_config_message, image_user
from kubesim.runtime.cri.client.messages.sandboxes import sandbox_config_message
from kubesim.runtime.cri.client.runtime import CriRuntime
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import methods
from kubesim.runtime.images.pull_credentials import AuthConfig, PullSecret
from kubesim.runtime.protocol import ContainerConfig, ImageInfo, SandboxConfig
from kubesim.runtime.types import ContainerMount, RuntimeResources

OWNER = Owner("id", "/state", "node-1")
MIB = 1 << 20
MACHINE = MachineFacts(memory=8 << 30, huge_page_sizes=(1 << 30, 2 * MIB), has_cgroup_v2=True)
OLDER = MachineFacts(memory=8 << 30)


class Asked:
    """Implements `Calls`: keeps the requests with their timeouts."""

    def __init__(self) -> None:
        self.requests: dict[str, Any] = {}
        self.timeouts: dict[str, int | None] = {}

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        self.requests[name], self.timeouts[name] = request, timeout
        given = {"RunPodSandbox": "pod_sandbox_id", "CreateContainer": "container_id", "PullImage": "image_ref"}
        return methods()[name].response(**({given[name]: "made"} if name in given else {}))

    def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        raise AssertionError(name)


def pod_of(container: dict[str, Any], **spec: Any) -> Pod:
    metadata = {"name": "web", "namespace": "shop", "uid": "u-1", "annotations": {"team": "a"}}
    main = {"name": "main", "image": "busybox:1.36", **container}
    return Pod.from_json({"metadata": metadata, "spec": {"containers": [main], **spec}})


def sandbox_of(pod: Pod) -> SandboxConfig:
    annotations = {"team": "a", "kubernetes.io/config.source": "api"}
    return SandboxConfig(pod, 2, {"app": "web"}, annotations, "web", "/var/log/pods/shop_web_u-1")


def created(pod: Pod, image: ImageInfo | None = None, machine: MachineFacts = MACHINE) -> Any:
    container = pod.spec.containers[0]
    config = ContainerConfig(container, 0, "sha256:1", {}, {}, resources=linux_container_resources(pod, container))
    return container_config_message(config, sandbox_of(pod), OWNER, machine, [], image)


def sandboxed(pod: Pod, machine: MachineFacts = MACHINE) -> Any:
    return sandbox_config_message(sandbox_of(pod), OWNER, machine, "/logs", "/parent")


# -- the image ---------------------------------------------------------------------------------------------------


def test_a_pull_has_the_sandbox_and_the_annotations_of_the_pod(tmp_path: Path) -> None:
    calls, pod = Asked(), pod_of({})
    host = CriNodeHost(str(tmp_path), MACHINE, lambda uid, name, path: "")
    runtime = CriRuntime(calls, OWNER, host)
    auth = AuthConfig("me", "word", PullSecret("", "", "", ""))

    async def main() -> None:
        await runtime.run_pod_sandbox(sandbox_of(pod))
        await runtime.pull_image("busybox:1.36", pod, auth, sandbox_of(pod))

    run_virtual(main)
    request = calls.requests["PullImage"]
    assert request.sandbox_config == calls.requests["RunPodSandbox"].config
    assert request.sandbox_config.metadata.attempt == 2
    assert request.image == pb.ImageSpec(image="busybox:1.36", annotations={"team": "a"})
    assert (request.auth.username, request.auth.password) == ("me", "word")


@pytest.mark.parametrize(
    ("image", "user"),
    [
        (None, (0, "")),
        (ImageInfo("i"), (0, "")),  # names no user: root, which is a value
        (ImageInfo("i", uid=0), (0, "")),
        (ImageInfo("i", uid=7), (7, "")),
        (ImageInfo("i", username="www"), (None, "www")),
        (ImageInfo("i", uid=7, username="www"), (7, "")),
    ],
)
def test_the_user_of_an_image(image: ImageInfo | None, user: tuple[int | None, str]) -> None:
    assert image_user(image) == user
    context = created(pod_of({}), image).linux.security_context
    assert context.HasField("run_as_user") is (user[0] is not None)
    assert (context.run_as_user.value, context.run_as_username) == (user[0] or 0, user[1])


def test_a_user_that_a_pod_requests_comes_before_that_of_the_image() -> None:
    pod = pod_of({"securityContext": {"runAsGroup": 3}}, securityContext={"runAsUser": 5})
    context = created(pod, ImageInfo("i", username="www")).linux.security_context
    assert (context.run_as_user.value, context.run_as_group.value, context.run_as_username) == (5, 3, "")


def test_the_mount_of_an_image_volume_has_the_image_that_the_user_named_and_the_annotations_of_the_pod() -> None:
    pod = pod_of({})
    config = ContainerConfig(pod.spec.containers[0], 0, "sha256:1", {}, {})
    mount = HostMount(ContainerMount("data", "/data", sub_path="models"), "", "registry/models:1")
    (found,) = container_config_message(config, sandbox_of(pod), OWNER, MACHINE, [mount], None).mounts
    assert (found.image.user_specified_image, found.image.annotations) == ("registry/models:1", {"team": "a"})
    assert (found.host_path, found.image_sub_path) == ("", "models")


# -- resources ------------------------------------------------------------------------------------------------------


def test_limits_of_huge_pages_are_in_the_order_of_the_machine_and_those_of_a_container_come_first() -> None:
    of_pod = {"limits": {"hugepages-2Mi": "8Mi", "hugepages-1Gi": "1Gi", "cpu": "1"}}
    pod = pod_of({"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}, resources=of_pod)
    found = created(pod).linux.resources.hugepage_limits
    assert [(each.page_size, each.limit) for each in found] == [("1GB", 1 << 30), ("2MB", 4 * MIB)]
    assert [each.limit for each in created(pod_of({})).linux.resources.hugepage_limits] == [0, 0]


def test_with_cgroups_v2_the_kernel_ends_all_processes_of_a_container_that_runs_out_of_memory() -> None:
    pod, group = pod_of({}, overhead={"cpu": "1"}), {"memory.oom.group": "1"}
    assert dict(created(pod).linux.resources.unified) == group
    assert dict(created(pod, machine=OLDER).linux.resources.unified) == {}
    linux = sandboxed(pod).linux
    assert (dict(linux.resources.unified), dict(linux.overhead.unified)) == (group, group)
    assert sandboxed(pod_of({})).linux.overhead == pb.LinuxContainerResources()
    assert dict(sandboxed(pod, OLDER).linux.resources.unified) == {}


# -- the sandbox ----------------------------------------------------------------------------------------------------


def test_a_privileged_ephemeral_container_makes_its_sandbox_privileged() -> None:
    debugger = {"name": "debug", "image": "busybox:1.36", "securityContext": {"privileged": True}}
    assert sandboxed(pod_of({}, ephemeralContainers=[debugger])).linux.security_context.privileged
    assert not sandboxed(pod_of({})).linux.security_context.privileged


# -- timeouts -------------------------------------------------------------------------------------------------------


def test_calls_obey_the_request_timeout(tmp_path: Path) -> None:
    """runtimeRequestTimeout: twice for a sandbox, with the time of the call itself for a stop and a command, none for a
    pull and for a command without a limit."""
    calls, pod, limit = Asked(), pod_of({}), 5 * MINUTE
    host = CriNodeHost(str(tmp_path), MACHINE, lambda uid, name, path: "")
    runtime = CriRuntime(calls, OWNER, host, request_timeout=limit)
    sandbox = sandbox_of(pod)
    config = ContainerConfig(pod.spec.containers[0], 0, "sha256:1", {}, {})

    async def main() -> None:
        await runtime.run_pod_sandbox(sandbox)
        await runtime.create_container("s", config, sandbox)
        await runtime.start_container("c")
        await runtime.stop_container("c", 30 * SECOND)
        await runtime.remove_container("c")
        await runtime.update_container_resources("c", RuntimeResources())
        await runtime.stop_pod_sandbox("s")
        await runtime.remove_pod_sandbox("s")
        await runtime.list_pod_sandboxes()
        await runtime.list_containers()
        await runtime.list_images()
        await runtime.remove_image("i")
        await runtime.status()
        await runtime.pull_image("busybox:1.36", pod)
        await runtime.exec_sync("c", ("true",), 10 * SECOND)

    run_virtual(main)
    special = {
        "RunPodSandbox": 2 * limit,
        "StopContainer": limit + 30 * SECOND,
        "ExecSync": limit + 10 * SECOND,
        "PullImage": None,
    }
    assert {name: calls.timeouts[name] for name in special} == special
    assert {timeout for name, timeout in calls.timeouts.items() if name not in special} == {limit}
    run_virtual(lambda: runtime.exec_sync("c", ("true",), 0))
    assert calls.timeouts["ExecSync"] is None
