"""The `kubernetes` package with the kubeconfig of `kubesim up`: TLS, a token, streams."""

from __future__ import annotations

import asyncio
import itertools
import queue
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import aio, client, config, dynamic, utils, watch
from kubernetes.aio.stream import WsApiClient
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock
from kubernetes.stream import stream

from tests.support.up import TIMEOUT_S, Up, running_up, wait_until


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--speed", "10", "--nodes", "2") as up:
        yield up
        code, _, errors = up.stop()
        assert (code, errors) == (0, "")


@pytest.fixture
def api(up: Up) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(up.kubeconfig)) as found:
        yield found
        found.rest_client.pool_manager.clear()


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }


def test_list_and_watch_follow_a_deployment(api: client.ApiClient) -> None:
    """Like an informer: list, then watch from that version."""
    apps, core = client.AppsV1Api(api), client.CoreV1Api(api)
    apps.create_namespaced_deployment("default", deployment("web"))
    listed = core.list_namespaced_pod("default", label_selector="app=web")
    known = {pod.metadata.name: pod for pod in listed.items}
    deleting, follower = False, watch.Watch()
    version = listed.metadata.resource_version
    select = {"label_selector": "app=web", "resource_version": version, "timeout_seconds": TIMEOUT_S}
    for event in follower.stream(core.list_namespaced_pod, "default", **select):
        pod = event["object"]
        if event["type"] == "DELETED":
            del known[pod.metadata.name]
        else:
            known[pod.metadata.name] = pod
        if deleting and not known:
            break
        if not deleting and [each.status.phase for each in known.values()] == ["Running", "Running"]:
            look_inside(core, min(known))
            apps.delete_namespaced_deployment("web", "default")
            deleting = True
    follower.stop()
    assert deleting
    assert known == {}


def look_inside(core: client.CoreV1Api, name: str) -> None:
    command = ["sh", "-c", "echo out; echo err >&2"]
    wanted = {"command": command, "stdout": True, "stderr": True, "_preload_content": False}
    answer = stream(core.connect_get_namespaced_pod_exec, name, "default", **wanted)
    connection = answer.sock.sock
    answer.run_forever(timeout=TIMEOUT_S)
    assert (answer.read_stdout(), answer.read_stderr(), answer.returncode) == ("out\n", "err\n", 0)
    answer.close()
    connection.close()  # the package leaves it open when the server has ended the stream
    assert core.read_namespaced_pod_log(name, "default") == ""


def test_the_asynchronous_client_follows_a_pod(up: Up) -> None:
    async def main() -> list[str]:
        phases: list[str] = []
        body = {"metadata": {"name": "once"}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
        async with await aio.config.new_client_from_config(str(up.kubeconfig)) as api, asyncio.timeout(TIMEOUT_S):
            core = aio.client.CoreV1Api(api)
            version = (await core.list_namespaced_pod("default")).metadata.resource_version
            await core.create_namespaced_pod("default", body)
            select = {"field_selector": "metadata.name=once", "resource_version": version}
            async with aio.watch.Watch().stream(core.list_namespaced_pod, "default", **select) as events:
                async for event in events:
                    phase = event["object"].status.phase
                    if phase not in phases:
                        phases.append(phase)
                    if phase == "Succeeded":
                        break
            assert await core.read_namespaced_pod_log("once", "default") == "hello\n"
        return phases

    assert asyncio.run(main()) in (["Pending", "Running", "Succeeded"], ["Pending", "Succeeded"])


CONTAINER = {"name": "main", "image": "busybox", "command": ["echo", "hello"]}


@pytest.fixture
def informer(api: client.ApiClient) -> Iterator[SharedInformer]:
    core = client.CoreV1Api(api)
    found = SharedInformer(core.list_namespaced_config_map, namespace="default", label_selector="cached=yes")
    yield found
    found.stop()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"cached": "yes"}}, "data": data}


def test_an_informer_mirrors_the_objects(api: client.ApiClient, informer: SharedInformer) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_config_map("default", config_map("before"))
    seen: queue.Queue[tuple[str, str]] = queue.Queue()
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: seen.put((kind, obj.metadata.name)))
    informer.start()
    assert seen.get(timeout=TIMEOUT_S) == ("ADDED", "before")
    core.create_namespaced_config_map("default", config_map("later", a="1"))
    assert seen.get(timeout=TIMEOUT_S) == ("ADDED", "later")
    core.patch_namespaced_config_map("later", "default", {"data": {"a": "2"}})
    assert seen.get(timeout=TIMEOUT_S) == ("MODIFIED", "later")
    assert informer.cache.get_by_key("default/later").data == {"a": "2"}
    core.patch_namespaced_config_map("later", "default", {"metadata": {"labels": {"cached": "no"}}})
    assert seen.get(timeout=TIMEOUT_S) == ("DELETED", "later")
    core.delete_namespaced_config_map("before", "default")
    assert seen.get(timeout=TIMEOUT_S) == ("DELETED", "before")
    assert informer.cache.list() == []


def test_the_dynamic_client_uses_custom_resources(api: client.ApiClient) -> None:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "default": 3, "maximum": 9}}}}}}  # fmt: skip
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "shop.example", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    utils.create_from_dict(api, definition | {"metadata": {"name": "widgets.shop.example"}})
    extensions = client.ApiextensionsV1Api(api)
    wait_until(lambda: is_established(extensions, "widgets.shop.example"), "the definition to be established")
    widgets = dynamic.DynamicClient(api).resources.get(api_version="shop.example/v1", kind="Widget")
    widget = {"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
    made = widgets.create(body=widget, namespace="default")
    assert made.spec.size == 3
    too_large = {"body": {"spec": {"size": 10}}, "content_type": "application/merge-patch+json"}
    with pytest.raises(client.ApiException) as refused:
        widgets.patch(name="w", namespace="default", **too_large)
    assert refused.value.status == 422
    (event,) = itertools.islice(widgets.watch(namespace="default", timeout=TIMEOUT_S), 1)
    assert (event["type"], event["object"].metadata.name) == ("ADDED", "w")
    extensions.delete_custom_resource_definition("widgets.shop.example")


def is_established(extensions: client.ApiextensionsV1Api, name: str) -> bool:
    conditions = extensions.read_custom_resource_definition(name).status.conditions or ()
    return any(each.type == "Established" and each.status == "True" for each in conditions)


def test_leader_election_with_a_lease(api: client.ApiClient) -> None:
    """The lock of the package, with which one candidate becomes the leader and another does not."""
    locks = [LeaseLock("leader", "default", f"candidate-{number}") for number in (1, 2)]
    for lock in locks:
        lock.api_instance = client.CoordinationV1Api(api)
    now = "2026-01-01 00:00:00.123456"  # a MicroTime must have six digits
    record = LeaderElectionRecord("candidate-1", "15", now, now)
    assert locks[0].create("leader", "default", record)
    assert not locks[1].create("leader", "default", LeaderElectionRecord("candidate-2", "15", now, now))
    found, holder = locks[1].get("leader", "default")
    assert found
    assert holder.holder_identity == "candidate-1"
    stale = locks[0].get("leader", "default")
    assert locks[1].update("leader", "default", LeaderElectionRecord("candidate-2", "15", now, now))
    assert stale[0]
    assert not locks[0].update("leader", "default", record), "its copy of the lease is older"


def test_the_asynchronous_client_executes_a_command(up: Up) -> None:
    up.run_pod("async", image="nginx")

    async def main() -> str:
        settings = aio.client.Configuration()
        await aio.config.load_kube_config(str(up.kubeconfig), client_configuration=settings)
        async with WsApiClient(settings) as streams, asyncio.timeout(TIMEOUT_S):
            core = aio.client.CoreV1Api(streams)
            wanted = {"command": ["sh", "-c", "echo out; echo err >&2"], "stdout": True, "stderr": True}
            return str(await core.connect_get_namespaced_pod_exec("async", "default", **wanted))

    assert asyncio.run(main()) == "out\nerr\n"
