"""The store for those who have typed objects: versions, generations, statuses, the client that takes its time."""

from __future__ import annotations

import json
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.configuration import configuration
from kubesim.api.event import Event
from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node, NodeCondition, NodeStatus
from kubesim.api.pod import Container, Pod, PodCondition, PodIP, PodSpec, PodStatus
from kubesim.api.workloads.services import Service
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.registry.bootstrap import bootstrap, create_namespace, populate_namespace
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.registry.services.cluster_ips import RANGE
from kubesim.cluster.registry.services.kubernetes_service import KUBERNETES_SERVICE
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import EVENT_TTL, Store
from kubesim.errors import ApiError


def new_store() -> Store:
    uids = iter(range(1_000_000))
    return Store(lambda: 0, lambda: f"uid-{next(uids)}")


def pod(name: str = "p", node: str = "n") -> Pod:
    spec = PodSpec(node_name=node, containers=(Container(name="c", image="i"),))
    return Pod(api_version="v1", kind="Pod", metadata=ObjectMeta(name=name, namespace="d"), spec=spec)


def stored(store: Store, name: str = "p") -> Pod:
    found = store.get("Pod", "d", name)
    assert isinstance(found, Pod)
    return found


def test_a_new_pod_is_pending_whether_or_not_it_has_a_node() -> None:
    store = new_store()
    created = store.create(pod())
    assert isinstance(created, Pod)
    assert created.status == PodStatus(phase="Pending", qos_class="BestEffort")
    assert (created.metadata.generation, created.metadata.uid, created.metadata.resource_version) == (1, "uid-0", "1")
    with pytest.raises(ApiError, match='pods "p" already exists'):
        store.create(pod())


def test_only_a_new_spec_is_a_new_generation() -> None:
    store = new_store()
    store.create(pod())
    old = stored(store)
    store.replace(old.changed(metadata=old.metadata.changed(labels={"a": "b"})))
    assert stored(store).metadata.generation == 1
    store.replace(stored(store).changed(spec=old.spec.changed(active_deadline_seconds=5)))
    assert stored(store).metadata.generation == 2


def test_a_status_that_says_nothing_new_is_not_a_write() -> None:
    store = new_store()
    store.create(pod())
    running = PodStatus(phase="Running")
    first = store.set_pod_status("d", "p", "uid-0", running)
    assert first.status.qos_class == "BestEffort", "set once, at creation"
    assert store.set_pod_status("d", "p", "uid-0", running) is first
    with pytest.raises(ApiError, match=r"metadata\.uid: Invalid value"):
        store.set_pod_status("d", "p", "another", running)


@given(
    st.lists(st.tuples(st.sampled_from(["create", "status", "delete", "force"]), st.sampled_from("ab")), max_size=30)
)
def test_versions_only_grow_and_every_write_is_reported_once(actions: list[tuple[str, str]]) -> None:
    store = new_store()
    reported: list[int] = []
    store.watch("Pod", lambda event: reported.append(event.resource_version))
    for n, (action, name) in enumerate(actions):
        before = store.resource_version
        try:
            match action:
                case "create":
                    store.create(pod(name))
                case "status":
                    store.set_pod_status("d", name, "", PodStatus(phase="Running", message=str(n)))
                case "delete":
                    store.delete("Pod", "d", name)
                case _:
                    store.delete("Pod", "d", name, grace_s=0)
        except ApiError:
            assert store.resource_version == before, "a refusal writes nothing"
    assert reported == list(range(1, store.resource_version + 1))


def test_events_are_forgotten_after_an_hour_unless_they_happen_again() -> None:
    moment = 0
    store = Store(lambda: moment, lambda: "uid")
    for name in ("old", "again"):
        store.create(Event(kind="Event", metadata=ObjectMeta(name=name, namespace="d")))
    moment = EVENT_TTL // 2
    store.replace(store.get("Event", "d", "again").changed(count=2))
    moment = EVENT_TTL
    store.create(Event(kind="Event", metadata=ObjectMeta(name="new", namespace="d")))
    assert [event.metadata.name for event in store.list("Event")] == ["again", "new"]


def test_nothing_is_copied() -> None:
    store = new_store()
    store.create(pod())
    spec = stored(store).spec
    store.set_pod_status("d", "p", "", PodStatus(phase="Running"))
    assert stored(store).spec is spec


class TestMemoryClient:
    def test_calls_take_their_time(self) -> None:
        async def scenario() -> list[int]:
            clock, store = LoopClock(), new_store()
            create_namespace(store, "d")
            populate_namespace(store, "d")
            client = MemoryClient(clock, store, ApiLatencies(get=3, patch=5, create=7, delete=11))
            moments = []
            created = await client.create_pod(pod())
            moments.append(clock.elapsed())
            found = await client.get_pod("d", "p")
            moments.append(clock.elapsed())
            await client.patch_pod_status("d", "p", created.metadata.uid, found.status, PodStatus(phase="Running"))
            moments.append(clock.elapsed())
            await client.delete_pod("d", "p", created.metadata.uid)
            moments.append(clock.elapsed())
            assert store.list("Pod") == []
            return moments

        assert run_virtual(scenario) == [7, 10, 15, 26]

    def test_a_status_patch_leaves_alone_what_others_wrote(self) -> None:
        async def scenario() -> PodStatus:
            store = new_store()
            create_namespace(store, "d")
            populate_namespace(store, "d")
            client = MemoryClient(LoopClock(), store)
            await client.create_pod(pod())
            ready = PodCondition(type="Ready", status="False")
            old = PodStatus(phase="Pending", conditions=(ready,), pod_ips=(PodIP(ip="10.0.0.1"),))
            others = PodCondition(type="DisruptionTarget", status="True")
            store.set_pod_status("d", "p", "", old.changed(conditions=(others, ready), nominated_node_name="x"))
            new = old.changed(
                phase="Running",
                conditions=(PodCondition(type="Initialized", status="True"), ready.changed(status="True")),
                pod_ips=(PodIP(ip="10.0.0.2"),),
            )
            return (await client.patch_pod_status("d", "p", "", old, new)).status

        status = run_virtual(scenario)
        assert (status.phase, status.nominated_node_name) == ("Running", "x")
        assert {c.type: c.status for c in status.conditions} == {
            "DisruptionTarget": "True",
            "Initialized": "True",
            "Ready": "True",
        }
        assert [ip.ip for ip in status.pod_ips] == ["10.0.0.2"]

    def test_nodes_and_events(self) -> None:
        async def scenario() -> tuple[Node, Event]:
            store = new_store()
            client = MemoryClient(LoopClock(), store)
            node = await client.create_node(Node(kind="Node", metadata=ObjectMeta(name="n")))
            ready = NodeStatus(conditions=(NodeCondition(type="Ready", status="True"),))
            node = await client.patch_node_status("n", node, node.changed(status=ready))
            event = Event(kind="Event", metadata=ObjectMeta(name="e", namespace="d"), reason="Pulled", count=1)
            created = await client.create_event(event)
            return node, await client.patch_event(created.changed(count=2, reason="ignored"))

        node, event = run_virtual(scenario)
        assert node.status.conditions[0].status == "True"
        assert (event.count, event.reason) == (2, "Pulled")


def test_a_fresh_cluster_takes_pods_in_any_namespace() -> None:
    store = new_store()
    bootstrap(store)
    create_namespace(store, "shop")
    body = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    created = create(store, Target(RESOURCES["Pod"], "shop"), body)
    assert isinstance(created, Pod)
    assert created.spec.service_account_name == "default"
    assert [volume["name"][:-5] for volume in created.spec.volumes] == ["kube-api-access-"]


def test_a_fresh_cluster_has_the_service_of_its_api_server_and_a_certificate_in_every_namespace() -> None:
    store = new_store()
    bootstrap(store)
    create_namespace(store, "shop")
    service = store.get("Service", "default", "kubernetes").to_json()
    assert service["spec"]["clusterIP"] == str(RANGE[1])
    assert service["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]
    for namespace in ("default", "kube-system", "shop"):
        certificate = configuration(store.get("ConfigMap", namespace, "kube-root-ca.crt"))["ca.crt"]
        assert ssl.PEM_cert_to_DER_cert(certificate)


def test_the_service_kubernetes_is_as_the_registry_would_store_it() -> None:
    store = new_store()
    body = {**KUBERNETES_SERVICE, "status": {}}
    create_namespace(store, "default")
    made = create(store, Target(RESOURCES["Service"], "default"), json.loads(json.dumps(body)))
    assert made.to_json()["spec"] == Service.from_json(KUBERNETES_SERVICE).to_json()["spec"]
