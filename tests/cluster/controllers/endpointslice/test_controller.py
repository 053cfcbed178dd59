"""EndpointSlices during the lifecycle of pods: a pod gets its address, becomes unready, and terminates."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodIP
from kubesim.cluster.registry.deletion import DeleteOptions
from tests.support.cluster.controlled import ControlledCluster, controlled

TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
READY, SERVES, ENDS, NOT_READY = (True, True, False), (False, True, True), (False, False, True), (False, False, False)


def service(cluster: ControlledCluster, name: str = "web", **spec: Any) -> None:
    if not cluster.all("Node"):
        cluster.create({"kind": "Node", "metadata": {"name": "n"}})
    body = {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}], **spec}
    cluster.create({"kind": "Service", "metadata": {"name": name}, "spec": body})


def pod(cluster: ControlledCluster, n: int, node: str = "n") -> Pod:
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
    made = cluster.create({"kind": "Pod", "metadata": {"name": f"p{n}", "labels": {"app": "web"}}, "spec": spec})
    assert isinstance(made, Pod)
    address = f"10.0.0.{n}"
    return cluster.set_phase(made, "Running", ready=False, pod_ip=address, pod_ips=(PodIP(ip=address),))


async def endpoints(cluster: ControlledCluster) -> dict[str, tuple[Any, Any, Any]]:
    """Ready, serving and terminating by pod name, in order."""
    await cluster.wait(0.05)
    return {
        endpoint.target_ref.name: (
            endpoint.conditions.ready,
            endpoint.conditions.serving,
            endpoint.conditions.terminating,
        )
        for item in cluster.all("EndpointSlice")
        for endpoint in item.endpoints
    }


def test_conditions_from_the_first_address_to_the_deletion() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        assert await endpoints(cluster) == {}
        (item,) = cluster.all("EndpointSlice")
        made = pod(cluster, 1)
        pod(cluster, 2)
        assert await endpoints(cluster) == {"p1": NOT_READY, "p2": NOT_READY}
        cluster.make_all_ready()
        assert await endpoints(cluster) == {"p1": READY, "p2": READY}
        cluster.delete("Pod", "p1")
        assert await endpoints(cluster) == {"p1": SERVES, "p2": READY}
        made = cluster.set_phase(cluster.get("Pod", "p1"), "Running", ready=False)
        assert await endpoints(cluster) == {"p1": ENDS, "p2": READY}
        cluster.set_phase(made, "Succeeded")
        assert await endpoints(cluster) == {"p2": READY}, "it is gone before the pod is"
        (last,) = cluster.all("EndpointSlice")
        assert (last.metadata.name, last.metadata.generation) == (item.metadata.name, 6)
        assert not cluster.events()

    controlled(story)


def test_each_write_has_a_reason() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        pod(cluster, 1)
        await cluster.wait(0.1)
        cluster.make_all_ready()
        await cluster.wait(0.1)
        cluster.delete("Pod", "p1")
        await cluster.wait(0.1)
        cluster.remove_ending()
        await cluster.wait(0.1)
        assert [record.why for record in cluster.trace.records if record.why] == [
            "pod p1 has an address and is not ready, so it gets no connections",
            "pod p1 is ready",
            "pod p1 is being deleted: it still serves, and gets no new connections",
            "pod p1 has ended, so its address leaves",
        ]

    controlled(story)


def test_the_trigger_time_is_the_readiness_transition() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await cluster.wait(2)
        service(cluster)
        await cluster.wait(5)
        times = []

        async def note() -> None:
            await cluster.wait(0.05)
            times.append(cluster.all("EndpointSlice")[0].metadata.annotations.get(TRIGGER_TIME))

        await note()
        pod(cluster, 1)
        await note()
        cluster.delete("Pod", "p1")
        await note()
        assert times == ["2000-01-01T00:00:02Z", "2000-01-01T00:00:07Z", None]

    controlled(story)


@pytest.mark.parametrize("spec", [{"selector": {}}, {"type": "ExternalName", "externalName": "example.com"}])
def test_services_that_select_no_pods_have_no_slices(spec: dict[str, Any]) -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster, **spec)
        pod(cluster, 1)
        assert await endpoints(cluster) == {}
        assert cluster.all("EndpointSlice") == []

    controlled(story)


def test_labels_decide_which_services_select_a_pod() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        pod(cluster, 1)
        assert list(await endpoints(cluster)) == ["p1"]
        cluster.patch("Pod", "p1", {"metadata": {"labels": {"app": "other"}}})
        assert await endpoints(cluster) == {}
        cluster.patch("Service", "web", {"spec": {"selector": {"app": "other"}}})
        assert list(await endpoints(cluster)) == ["p1"]

    controlled(story)


def test_slices_are_deleted_with_their_service() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        await cluster.wait(0.1)
        cluster.delete("Service", "web")
        await cluster.wait(0.1)
        assert cluster.all("EndpointSlice") == []

    controlled(story)


def test_a_slice_deleted_or_changed_by_another_client_is_restored_after_a_second() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        pod(cluster, 1)
        await cluster.wait(0.1)
        cluster.delete("EndpointSlice", cluster.all("EndpointSlice")[0].metadata.name)
        await cluster.wait(0.9)
        assert cluster.all("EndpointSlice") == []
        await cluster.wait(0.2)
        (item,) = cluster.all("EndpointSlice")
        assert list(await endpoints(cluster)) == ["p1"]
        cluster.patch("EndpointSlice", item.metadata.name, {"endpoints": None})
        assert await endpoints(cluster) == {}
        await cluster.wait(1)
        assert list(await endpoints(cluster)) == ["p1"]

    controlled(story)


def test_a_pod_whose_node_does_not_exist_is_retried() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        pod(cluster, 1, node="late")
        assert await endpoints(cluster) == {}
        event = cluster.events("FailedToUpdateEndpointSlices")[0]
        problem = "skipping Pod p1 for Service default/web: Node late Not Found"
        assert event.message == f"Error updating Endpoint Slices for Service default/web: {problem}"
        cluster.create({"kind": "Node", "metadata": {"name": "late"}})
        await cluster.wait(2)
        assert list(await endpoints(cluster)) == ["p1"]

    controlled(story)


def test_a_pod_that_is_deleted_immediately() -> None:
    async def story(cluster: ControlledCluster) -> None:
        service(cluster)
        pod(cluster, 1)
        await cluster.wait(0.1)
        cluster.delete("Pod", "p1", DeleteOptions(grace_s=0))
        assert await endpoints(cluster) == {}

    controlled(story)
