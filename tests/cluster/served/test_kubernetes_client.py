"""The real `kubernetes` package with the cluster over HTTP works as with a real API server."""

from __future__ import annotations

import datetime
import itertools
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import NotFoundError
from kubernetes.informer import SharedInformer

from tests.support.cluster.served import PATIENCE, ServedCluster, served_cluster

MERGE = "application/merge-patch+json"
NODE_A = "spec.nodeName=node-a"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServedCluster]:
    with served_cluster() as found:
        yield found


@pytest.fixture(scope="module")
def api(cluster: ServedCluster) -> Iterator[client.ApiClient]:
    with client.ApiClient(client.Configuration(host=cluster.address)) as found:
        yield found


@pytest.fixture(scope="module")
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def ns(core: client.CoreV1Api, request: pytest.FixtureRequest) -> str:
    """A namespace for one test."""
    name = request.node.name.replace("_", "-").lower()[:60].strip("-")
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    return str(name)


def pod(name: str, node: str | None = None, **labels: str) -> client.V1Pod:
    """A pod without apiVersion and kind, as the package's models send it."""
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels=labels or None),
        spec=client.V1PodSpec(node_name=node, containers=[client.V1Container(name="main", image="busybox:1.36")]),
    )


def names(found: Any) -> list[str]:
    return [item.metadata.name for item in found.items]


def test_create_read_and_reject(core: client.CoreV1Api, ns: str) -> None:
    assert names(core.list_namespaced_pod(ns)) == []
    made = core.create_namespaced_pod(ns, pod("web", "node-a", app="shop"))
    assert (made.status.phase, made.spec.restart_policy) == ("Pending", "Always")
    assert made.metadata.creation_timestamp.tzinfo is not None
    with pytest.raises(ApiException) as exists:
        core.create_namespaced_pod(ns, pod("web"))
    assert (exists.value.status, exists.value.reason) == (409, "Conflict")
    assert core.read_namespaced_pod("web", ns).spec.node_name == "node-a"
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_pod("ghost", ns)
    assert missing.value.status == 404
    assert 'pods \\"ghost\\" not found' in missing.value.body


def test_lists(core: client.CoreV1Api, ns: str) -> None:
    for name, node in (("c", "node-a"), ("a", "node-a"), ("b", "node-b")):
        core.create_namespaced_pod(ns, pod(name, node, app=ns[:20]))
    assert names(core.list_namespaced_pod(ns)) == ["a", "b", "c"]
    mine = {"label_selector": f"app={ns[:20]}"}
    assert names(core.list_pod_for_all_namespaces(field_selector=NODE_A, **mine)) == ["a", "c"]
    page = core.list_namespaced_pod(ns, limit=2)
    assert (names(page), page.metadata.remaining_item_count) == (["a", "b"], 1)
    core.delete_namespaced_pod("c", ns, grace_period_seconds=0)
    rest = core.list_namespaced_pod(ns, limit=2, _continue=page.metadata._continue)
    assert names(rest) == ["c"], "all pages are of one moment"
    fresh = core.list_namespaced_pod(ns, resource_version="0", resource_version_match="NotOlderThan", timeout_seconds=5)
    assert names(fresh) == ["a", "b"]


def test_every_kind_of_patch(core: client.CoreV1Api, ns: str) -> None:
    core.create_namespaced_pod(ns, pod("web", app="shop"))
    strategic = core.patch_namespaced_pod("web", ns, {"metadata": {"labels": {"x": "y"}}})
    assert strategic.metadata.labels == {"app": "shop", "x": "y"}
    json_patch = core.patch_namespaced_pod("web", ns, [{"op": "add", "path": "/metadata/labels/j", "value": "1"}])
    assert json_patch.metadata.labels == {"app": "shop", "j": "1", "x": "y"}
    merge = core.patch_namespaced_pod("web", ns, {"metadata": {"labels": {"x": None}}}, _content_type=MERGE)
    assert merge.metadata.labels == {"app": "shop", "j": "1"}
    status = core.patch_namespaced_pod_status("web", ns, {"status": {"phase": "Running"}})
    assert status.status.phase == "Running"
    node = core.patch_node_status("node-a", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert [condition.type for condition in node.status.conditions] == ["Ready"]


def test_read_change_replace(core: client.CoreV1Api, ns: str) -> None:
    """Conversions of times and numbers by the models must be reverted."""
    made = core.create_namespaced_pod(ns, pod("web"))
    made.metadata.labels = {"rep": "1"}
    replaced = core.replace_namespaced_pod("web", ns, made)
    assert replaced.metadata.labels == {"rep": "1"}
    made.metadata.labels = {"rep": "2"}
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_pod("web", ns, made)
    assert stale.value.status == 409


def test_bindings_evictions_and_deletions(core: client.CoreV1Api, ns: str) -> None:
    core.create_namespaced_pod(ns, pod("db"))
    target = client.V1ObjectReference(kind="Node", name="node-a")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="db"), target=target)
    assert core.create_namespaced_pod_binding("db", ns, binding, _preload_content=False).status == 201
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="db", namespace=ns))
    core.create_namespaced_pod_eviction("db", ns, eviction)
    assert core.read_namespaced_pod("db", ns).metadata.deletion_grace_period_seconds == 30
    options = client.V1DeleteOptions(grace_period_seconds=0, propagation_policy="Background")
    assert core.delete_namespaced_pod("db", ns, body=options).metadata.name == "db"
    assert names(core.list_namespaced_pod(ns)) == []
    core.create_namespaced_config_map(ns, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="c"), data={"a": "<&>"}))
    assert core.read_namespaced_config_map("c", ns).data == {"a": "<&>"}
    assert core.delete_namespaced_config_map("c", ns)["status"] == "Success"
    for name in ("x", "y"):
        core.create_namespaced_pod(ns, pod(name, app="shop"))
    core.delete_collection_namespaced_pod(ns, label_selector="app=shop")
    assert names(core.list_namespaced_pod(ns)) == []


def test_leases_and_events(api: client.ApiClient, core: client.CoreV1Api, ns: str) -> None:
    leases = client.CoordinationV1Api(api)
    now = datetime.datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=datetime.UTC)
    spec = client.V1LeaseSpec(holder_identity="h", renew_time=now, lease_duration_seconds=40)
    leases.create_namespaced_lease(ns, client.V1Lease(metadata=client.V1ObjectMeta(name="l"), spec=spec))
    read = leases.read_namespaced_lease("l", ns)
    assert read.spec.renew_time == now
    leases.replace_namespaced_lease("l", ns, read)
    event = client.CoreV1Event(
        metadata=client.V1ObjectMeta(name="e"),
        involved_object=client.V1ObjectReference(kind="Pod", name="web", namespace=ns),
        reason="R",
        message="m",
    )
    assert core.create_namespaced_event(ns, event).reason == "R"
    assert names(core.list_namespaced_event(ns, field_selector="involvedObject.name=web")) == ["e"]


def events(stream: Iterator[Any], count: int) -> list[tuple[str, str]]:
    return [(event["type"], event["object"].metadata.name) for event in itertools.islice(stream, count)]


def test_watch(core: client.CoreV1Api, ns: str) -> None:
    core.create_namespaced_pod(ns, pod("web", "node-a"))
    version = core.list_namespaced_pod(ns).metadata.resource_version
    seen = []
    for event in watch.Watch().stream(core.list_namespaced_pod, ns, timeout_seconds=PATIENCE):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 1:
            core.create_namespaced_pod(ns, pod("db", "node-b"))
            core.delete_namespaced_pod("web", ns, grace_period_seconds=0)
        if event["type"] == "DELETED":
            break
    assert seen == [("ADDED", "web"), ("ADDED", "db"), ("MODIFIED", "web"), ("DELETED", "web")]
    selected = watch.Watch().stream(
        core.list_namespaced_pod, ns, resource_version=version, field_selector=NODE_A, timeout_seconds=PATIENCE
    )
    assert events(selected, 2) == [("MODIFIED", "web"), ("DELETED", "web")]


def test_streaming_list(core: client.CoreV1Api, ns: str) -> None:
    core.create_namespaced_pod(ns, pod("web"))
    stream = watch.Watch().stream(
        core.list_namespaced_pod,
        ns,
        send_initial_events=True,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        timeout_seconds=PATIENCE,
    )
    assert next(stream)["type"] == "ADDED"
    marker = next(stream)
    assert marker["type"] == "BOOKMARK"
    assert marker["raw_object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_a_watch_from_an_expired_version_is_gone() -> None:
    with served_cluster(history_limit=1) as cluster:
        core = client.CoreV1Api(client.ApiClient(client.Configuration(host=cluster.address)))
        for name in ("a", "b", "c"):
            core.create_namespaced_pod("default", pod(name))
        with pytest.raises(ApiException) as gone:
            next(watch.Watch().stream(core.list_namespaced_pod, "default", resource_version="1"))
        assert gone.value.status == 410
        core.api_client.close()


def test_informer(core: client.CoreV1Api, ns: str) -> None:
    core.create_namespaced_pod(ns, pod("web"))
    received: queue.Queue[tuple[str, str]] = queue.Queue()
    informer = SharedInformer(list_func=core.list_namespaced_pod, namespace=ns)
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        informer.add_event_handler(kind, lambda obj, kind=kind: received.put((kind, obj.metadata.name)))
    informer.start()
    assert received.get(timeout=PATIENCE) == ("ADDED", "web")
    core.patch_namespaced_pod("web", ns, {"metadata": {"labels": {"a": "b"}}})
    assert received.get(timeout=PATIENCE) == ("MODIFIED", "web")
    core.create_namespaced_pod(ns, pod("db"))
    assert received.get(timeout=PATIENCE) == ("ADDED", "db")
    core.delete_namespaced_pod("web", ns, grace_period_seconds=0)
    assert received.get(timeout=PATIENCE) == ("MODIFIED", "web")
    assert received.get(timeout=PATIENCE) == ("DELETED", "web")
    assert [obj.metadata.name for obj in informer.cache.list()] == ["db"]
    informer.stop()


def test_dynamic_client_and_version(api: client.ApiClient, ns: str, tmp_path: Path) -> None:
    assert client.VersionApi(api).get_code().git_version == "v1.36.4"
    dyn = dynamic.DynamicClient(api, cache_file=str(tmp_path / "cache"))
    pods = dyn.resources.get(api_version="v1", kind="Pod")
    body = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    pods.create(body, namespace=ns)
    assert [item.metadata.name for item in pods.get(namespace=ns).items] == ["web"]
    labelled = {"metadata": {"name": "web", "labels": {"x": "y"}}}
    assert pods.patch(labelled, namespace=ns, content_type=MERGE).metadata.labels.x == "y"
    with pytest.raises(NotFoundError):
        pods.get(name="ghost", namespace=ns)
    assert dyn.resources.get(api_version="coordination.k8s.io/v1", kind="Lease").name == "leases"
    config_map = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "u"}}
    assert utils.create_from_dict(api, config_map, namespace=ns)[0].metadata.name == "u"
