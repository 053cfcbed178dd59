"""The attached agent: its kubelet runs the pods of a live node, read over HTTP, and writes nothing."""

from __future__ import annotations

from typing import Any

from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.trace.records import ApiWrite, ConfigUpdate, EventRecorded, Handler, Note, SyncBegin
from tests.support.attach.attached import Attached, RealNode, attached


def only_reads(asked: list[tuple[str, str]]) -> bool:
    return bool(asked) and all(method == "GET" for method, _ in asked)


def states(stage: Attached, name: str) -> dict[str, Any]:
    pod = stage.ours(name)
    assert pod is not None
    return {status.name: status.state.to_json() for status in pod.status.container_statuses}


def test_a_created_pod_goes_through_sources_loop_and_workers() -> None:
    async def play(stage: Attached) -> None:
        await stage.sleep(5)
        pod = stage.real.create("web")
        await stage.sleep(10)
        ours = stage.ours("web")
        assert ours is not None
        assert ours.metadata.uid == pod.metadata.uid
        assert ours.status.phase == "Running"
        assert "running" in states(stage, "web")["main"]
        records = [record for record in stage.trace.records if getattr(record, "uid", "") == pod.metadata.uid]
        assert any(isinstance(record, SyncBegin) for record in records)
        assert any(isinstance(r, ConfigUpdate) and r.op == "ADD" and r.source == "api" for r in stage.trace.records)
        assert any(isinstance(r, Handler) and r.name == "HandlePodAdditions" for r in stage.trace.records)
        assert any(isinstance(r, ApiWrite) and r.resource == "pods/status" for r in records)
        assert any(isinstance(r, EventRecorded) and r.reason == "Started" for r in records)
        assert any(isinstance(r, ApiWrite) and r.resource == "leases" for r in stage.trace.records)
        # The real pod still has the state that its own kubelet wrote.
        assert stage.real.pod("web").status.phase == "Pending"
        assert stage.real.store.list("Event") == []

    assert only_reads(attached(play))


def test_a_patched_pod_is_updated_and_a_deleted_one_ends() -> None:
    async def play(stage: Attached) -> None:
        pod = stage.real.create("web")
        await stage.sleep(10)
        stage.real.runs("web")
        stage.real.store.replace(
            stage.real.pod("web").changed(metadata=stage.real.pod("web").metadata.changed(labels={"a": "b"}))
        )
        await stage.sleep(2)
        ours = stage.ours("web")
        assert ours is not None
        assert ours.metadata.labels == {"a": "b"}
        stage.real.store.delete("Pod", "default", "web", grace_s=10)
        await stage.sleep(1)
        stage.real.status("web", "Running", {"state": stage.real.ended(0, 5)})
        await stage.sleep(5)
        assert stage.ours("web") is None
        assert stage.verdict("web").relation == "ahead"  # the real pod is still being deleted
        assert stage.real.pod("web").metadata.deletion_timestamp is not None
        deletes = [r for r in stage.trace.records if isinstance(r, ApiWrite) and r.verb == "delete"]
        assert [record.uid for record in deletes] == [pod.metadata.uid]
        stage.real.store.remove("Pod", "default", "web")
        await stage.sleep(1)
        assert stage.comparison.rows() == []

    assert only_reads(attached(play))


def test_containers_exit_like_the_real_ones() -> None:
    async def play(stage: Attached) -> None:
        real = stage.real
        real.create("job", restartPolicy="Never")
        await stage.sleep(3)
        real.runs("job")
        await stage.sleep(20)
        assert "running" in states(stage, "job")["main"]
        real.status("job", "Failed", {"state": real.ended(7, 20)})
        await stage.sleep(5)
        ours = stage.ours("job")
        assert ours is not None
        assert ours.status.phase == "Failed"
        ended = states(stage, "job")["main"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (7, "Error")
        assert stage.verdict("job").relation == "same"

    assert only_reads(attached(play))


def test_a_restarted_container_is_restarted() -> None:
    async def play(stage: Attached) -> None:
        real = stage.real
        real.create("crash")
        await stage.sleep(3)
        real.runs("crash")
        await stage.sleep(5)
        last = real.ended(3, 5)
        real.status("crash", "Running", {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last})
        await stage.sleep(5)
        real.runs("crash", restarts=1, last=last)
        await stage.sleep(20)
        ours = stage.ours("crash")
        assert ours is not None
        (status,) = ours.status.container_statuses
        assert status.restart_count == 1
        assert status.state.running is not None
        assert status.last_state.terminated is not None
        assert status.last_state.terminated.exit_code == 3
        assert stage.verdict("crash").relation == "same"

    assert only_reads(attached(play))


def test_running_pods_are_started_and_finished_pods_stay_finished() -> None:
    def before(real: RealNode) -> None:
        for name in ("web", "done"):
            real.create(name, restartPolicy="Never" if name == "done" else "Always")
        real.runs("web", restarts=4)
        real.status("done", "Succeeded", {"state": real.ended(0, 3)})

    async def play(stage: Attached) -> None:
        await stage.sleep(10)
        assert stage.verdict("web").relation == "same"
        assert stage.verdict("done").relation == "same"
        started = [r.pod for r in stage.trace.records if isinstance(r, EventRecorded) and r.reason == "Started"]
        assert started == ["default/web"]

    assert only_reads(attached(play, before))


def test_probes_return_the_results_of_the_real_ones() -> None:
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1, "failureThreshold": 1}
    container = {"readinessProbe": probe, "startupProbe": probe, "livenessProbe": probe}

    async def play(stage: Attached) -> None:
        def ready() -> bool:
            ours = stage.ours("web")
            assert ours is not None
            return ours.status.container_statuses[0].ready

        stage.real.create("web", container=container)
        await stage.sleep(15)
        assert not ready()
        stage.real.runs("web")
        await stage.sleep(5)
        assert ready()
        stage.real.runs("web", ready=False)
        await stage.sleep(5)
        assert not ready()
        ours = stage.ours("web")
        assert ours is not None
        assert ours.status.container_statuses[0].restart_count == 0

    assert only_reads(attached(play))


def test_without_learning_containers_run_their_command_lines() -> None:
    async def play(stage: Attached) -> None:
        stage.real.create("job", restartPolicy="Never", container={"command": ["sh", "-c", "sleep 4; exit 9"]})
        await stage.sleep(12)
        assert states(stage, "job")["main"]["terminated"]["exitCode"] == 9

    assert only_reads(attached(play, learn=False))


def test_a_pod_waits_for_its_secret_in_the_agent() -> None:
    reference = {"secretKeyRef": {"name": "token", "key": "t"}}
    container = {"env": [{"name": "T", "valueFrom": reference}]}

    async def play(stage: Attached) -> None:
        real = stage.real
        real.create("web", container=container)
        real.status("web", "Pending", {"state": {"waiting": {"reason": "CreateContainerConfigError"}}})
        await stage.sleep(30)
        assert states(stage, "web")["main"]["waiting"]["reason"] == "CreateContainerConfigError"
        assert stage.verdict("web").relation == "same"
        value = {"metadata": {"name": "token"}, "stringData": {"t": "s3cret"}}
        create(real.store, Target(RESOURCES["Secret"], "default"), value)
        await stage.sleep(30)
        real.runs("web")
        await stage.sleep(5)
        assert "running" in states(stage, "web")["main"]
        assert stage.verdict("web").relation == "same"
        assert "s3cret" not in repr([record.to_json() for record in stage.trace.records])

    assert only_reads(attached(play, references=True))


def test_an_image_that_the_node_cannot_pull_fails_in_the_agent() -> None:
    async def play(stage: Attached) -> None:
        stage.real.create("web", container={"image": "registry.local/none"})
        stage.real.status("web", "Pending", {"state": {"waiting": {"reason": "ImagePullBackOff"}}})
        await stage.sleep(20)
        assert states(stage, "web")["main"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff")
        assert stage.verdict("web").relation == "same"
        stage.real.runs("web")
        await stage.sleep(40)
        assert stage.verdict("web").relation == "same"

    assert only_reads(attached(play))


def test_a_pod_waits_for_its_claim_in_the_agent() -> None:
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    container = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}

    async def play(stage: Attached) -> None:
        stage.real.create("db", container=container, volumes=[volume])
        await stage.sleep(30)
        assert "waiting" in states(stage, "db")["main"]

    asked = attached(play, references=True)
    assert only_reads(asked)
    assert ("GET", "/api/v1/namespaces/default/persistentvolumeclaims/data") in asked


def test_without_references_every_referenced_object_exists() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "settings", "configMap": {"name": "settings", "items": [{"key": "a", "path": "a"}]}},
    ]
    mounts = [{"name": "data", "mountPath": "/data"}, {"name": "settings", "mountPath": "/settings"}]
    env = [{"name": "T", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}}]

    async def play(stage: Attached) -> None:
        stage.real.create("db", container={"volumeMounts": mounts, "env": env}, volumes=volumes)
        await stage.sleep(15)
        assert "running" in states(stage, "db")["main"]

    asked = attached(play)
    assert only_reads(asked)
    assert not any("secrets" in path or "configmaps" in path for _, path in asked)


def test_fields_without_effect_are_named_once() -> None:
    async def play(stage: Attached) -> None:
        for name in ("web", "other"):
            stage.real.create(name, hostIPC=True)
        await stage.sleep(3)
        stage.real.create("later", hostIPC=True)
        await stage.sleep(3)
        notes = [r.text for r in stage.trace.records if isinstance(r, Note) and r.text.startswith("without effect")]
        assert len(notes) == 1
        assert notes[0].startswith("without effect here: spec.hostIPC (pod default/")

    assert only_reads(attached(play))
