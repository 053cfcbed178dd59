"""An attached agent writes nothing: mirror pods, patches and deletions stay in its memory."""

from __future__ import annotations

import pytest

from kubesim.cluster.remote.transport import Call, Verb
from kubesim.errors import ReadOnlyError
from kubesim.trace.records import ApiWrite
from kubesim.trace.sinks.console import would_write
from tests.support.attach.attached import Attached, attached

STATIC = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "etcd", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
}
MIRROR = "etcd-node-a"


def test_a_mirror_pod_is_recorded_as_a_suppressed_write() -> None:
    async def play(stage: Attached) -> None:
        await stage.sleep(5)
        stage.simulation.world.write_static_pod_everywhere("etcd.yaml", STATIC)
        await stage.sleep(40)
        mirror = stage.ours(MIRROR)
        assert mirror is not None
        assert mirror.status.phase == "Running"
        writes = [r for r in stage.trace.records if isinstance(r, ApiWrite) and r.resource == "pods"]
        assert [(record.verb, record.pod) for record in writes] == [("create", f"default/{MIRROR}")]
        assert all(map(would_write, writes))
        assert stage.real.store.find("Pod", "default", MIRROR) is None

    assert {method for method, _ in attached(play)} == {"GET"}


def test_a_kubelet_that_patches_and_deletes_sends_only_reads() -> None:
    async def play(stage: Attached) -> None:
        stage.real.create("web")
        await stage.sleep(10)
        stage.real.runs("web")
        stage.real.store.delete("Pod", "default", "web", grace_s=10)
        await stage.sleep(30)
        writes = {(r.verb, r.resource) for r in stage.trace.records if isinstance(r, ApiWrite)}
        assert {("patch", "pods/status"), ("delete", "pods")} <= writes
        assert stage.ours("web") is None
        assert stage.real.pod("web").metadata.deletion_timestamp is not None

    assert {method for method, _ in attached(play)} == {"GET"}


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete", "deletecollection"])
def test_the_transport_of_the_agent_refuses_to_write(verb: Verb) -> None:
    """Writes are refused even if a part of the kubelet gets this transport."""

    async def play(stage: Attached) -> None:
        with pytest.raises(ReadOnlyError):
            stage.live.transport.open(Call(verb, "/api/v1/namespaces/default/pods/web"))

    assert {method for method, _ in attached(play)} == {"GET"}
