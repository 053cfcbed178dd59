"""The `kubernetes` package with the kubeconfig of `kubesim up`: TLS, a token, streams."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import aio, client, config, watch
from kubernetes.stream import stream

from tests.support.up import PATIENCE_S, Up, running_up


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
    select = {"label_selector": "app=web", "resource_version": version, "timeout_seconds": PATIENCE_S}
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
    answer.run_forever(timeout=PATIENCE_S)
    assert (answer.read_stdout(), answer.read_stderr(), answer.returncode) == ("out\n", "err\n", 0)
    answer.close()
    connection.close()  # the package leaves it open when the server has ended the stream
    assert core.read_namespaced_pod_log(name, "default") == ""


def test_the_asynchronous_client_follows_a_pod(up: Up) -> None:
    async def main() -> list[str]:
        phases: list[str] = []
        body = {"metadata": {"name": "once"}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
        async with await aio.config.new_client_from_config(str(up.kubeconfig)) as api, asyncio.timeout(PATIENCE_S):
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
