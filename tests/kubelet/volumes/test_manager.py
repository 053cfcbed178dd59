"""Volumes in whole lifecycles of pods: when they are mounted, errors, and what containers see."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.scenario.language.document import Scenario
from kubesim.trace.records import CriCall, EventRecorded, SyncBegin, SyncEnd, WorkerState
from tests.support.driven_node import DrivenNode
from tests.support.played import Played, pod

Json = dict[str, Any]
SCENARIO = {"metadata": {"name": "story"}, "spec": {"images": [{"name": "*", "present": True}]}}
MISSING = 'MountVolume.SetUp failed for volume "v" : configmap "later" not found'


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def with_volumes(name: str, *volumes: Json, token: bool = False, **spec: Any) -> Json:
    """A pod that mounts each volume in a directory of its name, and has no token."""
    made = pod(name, volumes=list(volumes), automountServiceAccountToken=token, **spec)
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    made["spec"]["containers"][0]["volumeMounts"] = mounts
    return made


def config(name: str = "later", **more: Any) -> Json:
    return {"name": "v", "configMap": {"name": name, **more}}


def cat(at: str, path: str, pod: str = "web") -> Json:
    return {"at": at, "exec": {"pod": pod, "command": ["cat", path]}}


def reported(story: Played, reason: str = "FailedMount") -> list[tuple[float, str]]:
    events = [r for r in story.records if isinstance(r, EventRecorded) and r.reason == reason]
    return [(round(r.t / 1_000_000, 1), r.message) for r in events]


def outputs(story: Played) -> Iterator[str]:
    for note in story.notes():
        if note.startswith("exec 'cat "):
            yield note.partition(" ended with ")[2]


# -- waiting for a mount ------------------------------------------------------------------------------------------


def test_a_pod_without_volumes_is_created_immediately_and_one_with_volumes_when_they_are_mounted() -> None:
    objects = [with_volumes("plain"), with_volumes("scratch", {"name": "v", "emptyDir": {}}), pod("token")]
    for seed in range(5):
        story = Played(objects=objects, duration="5s", seed=seed)
        begun = {name: story.when(CriCall, name, call="RunPodSandbox")[0] for name in ("plain", "scratch", "token")}
        assert begun["plain"] == 0.005
        # The rounds of populator and reconciler take up to 0.3 s; every 0.3 s the wait checks whether all is mounted.
        assert {begun["scratch"], begun["token"]} <= {0.305, 0.605}


def test_a_volume_that_cannot_be_mounted_is_retried_with_back_off_and_its_pod_waits() -> None:
    story = Played(
        {"at": "25s", "apply": config_map("later", k="value")},
        cat("40s", "/v/k"),
        objects=[with_volumes("web", config())],
    )
    moments = [moment for moment, message in reported(story) if message == MISSING]
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert gaps == pytest.approx([0.5, 1, 2, 4, 8], abs=0.2)  # and a little more, until the next round
    (sandbox,) = story.when(CriCall, call="RunPodSandbox")
    assert 31.5 < sandbox < 33  # the next attempt is 16 s after the last one
    assert "volume v is mounted now" in story.notes()
    assert list(outputs(story)) == ["0: value"]
    assert story.result.phases == {"default/web": "Running"}


def test_the_back_off_ends_at_two_minutes_and_the_sync_after_2m3s() -> None:
    story = Played(objects=[with_volumes("web", config())], duration="10m")
    moments = [moment for moment, _ in reported(story)]
    gaps = [later - earlier for earlier, later in pairwise(moments)]
    assert [round(gap) for gap in gaps[-5:]] == [32, 64, 122, 122, 122]
    begun, ended = story.when(SyncBegin, "web"), story.when(SyncEnd, "web")
    assert {round(end - begin, 3) for begin, end in zip(begun, ended, strict=False)} == {123.0}
    errors = {r.error for r in story.records if isinstance(r, SyncEnd)}
    unmounted = "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]"
    assert errors == {f"{unmounted}: context deadline exceeded"}
    # The end of a timeout is not an event of its own.
    assert {message for _, message in reported(story)} == {MISSING}


def test_a_deletion_ends_the_wait_immediately() -> None:
    story = Played({"at": "5s", "delete": {"pod": "web"}}, objects=[with_volumes("web", config())], duration="15s")
    ended = next(r for r in story.records if isinstance(r, SyncEnd))
    assert ended.error.endswith("failed to process volumes=[]: context canceled")
    assert ended.t == 5_005_000
    assert story.calls() == []
    assert story.result.phases == {"default/web": "Failed"}
    (finished,) = story.when(WorkerState, "web", state="finished")
    assert [moment for moment, _ in reported(story) if moment > finished] == []


@pytest.mark.parametrize(
    ("volume", "problem"),
    [
        (config(items=[{"key": "no", "path": "p"}], name="there"), "configmap references non-existent config key: no"),
        ({"name": "v", "secret": {"secretName": "no"}}, 'secret "no" not found'),
        (
            {"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}, {"secret": {"name": "b"}}]}},
            '[configmap "a" not found, secret "b" not found]',
        ),
        (
            {"name": "v", "hostPath": {"path": "/no", "type": "Directory"}},
            "hostPath type check failed: /no is not a directory",
        ),
    ],
)
def test_invalid_volumes(volume: Json, problem: str) -> None:
    story = Played(objects=[config_map("there", k="v"), with_volumes("web", volume)], duration="2s")
    assert {message for _, message in reported(story)} == {f'MountVolume.SetUp failed for volume "v" : {problem}'}


def test_an_optional_object_may_be_missing() -> None:
    objects = [with_volumes("web", config(optional=True))]
    story = Played(
        {"at": "10s", "apply": config_map("later", k="value")}, cat("5s", "/v/k"), cat("110s", "/v/k"),
        objects=objects, duration="2m",
    )  # fmt: skip
    assert reported(story) == []
    assert list(outputs(story)) == ["1: cat: can't open '/v/k': No such file or directory", "0: value"]


def test_each_attempt_waits_a_second_for_an_unlisted_object() -> None:
    node = DrivenNode(Scenario.model_validate(SCENARIO), seed=1)
    try:
        node.apply(config_map("later", k="value"))
        node.apply(with_volumes("web", config()))
        node.wait(6 * MILLISECOND)  # the kubelet knows the pod, and is about to request the ConfigMap
        node.api.cut()
        node.wait(10 * SECOND)
        node.api.restore()
        node.wait(20 * SECOND)
        (event,) = [e for e in node.store.list("Event") if isinstance(e, Event) and e.reason == "FailedMount"]
        problem = "failed to sync configmap cache: timed out waiting for the condition"
        assert event.message == f'MountVolume.SetUp failed for volume "v" : {problem}'
        assert event.count == 4  # after 1.2, 2.8, 4.9, 8 s: a second of waiting, then the back-off
        assert [each.status.phase for each in node.pods()] == ["Running"]
        node.close()
    finally:
        node.shut()


# -- claims -------------------------------------------------------------------------------------------------------


def claim(name: str, **spec: Any) -> Json:
    size = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    return {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {**size, **spec}
    }  # fmt: skip


DATA = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
PLACED: Json = {"nodeName": "node-1"}  # without a scheduler the pod gets to the kubelet directly


def test_a_missing_claim_fails_the_sync_which_is_retried() -> None:
    story = Played({"at": "20s", "apply": claim("c")}, objects=[with_volumes("web", DATA, **PLACED)])
    lost = "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]"
    problem = (
        'error processing PVC default/c: failed to fetch PVC from API server: persistentvolumeclaims "c" not found'
    )
    assert {message for _, message in reported(story)} == {f"Unable to attach or mount volumes: {lost}: {problem}"}
    moments = [moment for moment, _ in reported(story)]
    assert moments[0] == 0.3
    assert all(10 <= later - earlier <= 17 for earlier, later in pairwise(moments))
    assert story.result.phases == {"default/web": "Running"}


def test_a_claim_without_a_matching_volume_stays_unbound() -> None:
    objects = [claim("c", storageClassName="fast"), with_volumes("web", DATA, **PLACED)]
    story = Played(objects=objects, duration="5s")
    ((_, message),) = reported(story)
    assert message.endswith("failed to process volumes=[v]: error processing PVC default/c: PVC is not bound")


def test_data_written_to_a_claim_outlives_its_pod() -> None:
    writer = with_volumes("writer", DATA, restartPolicy="Never")
    writer["spec"]["containers"][0]["command"] = ["sh", "-c", "echo kept > /v/file"]
    story = Played(
        {"at": "10s", "delete": {"pod": "writer"}},
        {"at": "20s", "apply": with_volumes("web", DATA)},
        cat("30s", "/v/file"),
        objects=[claim("c"), writer],
        duration="40s",
    )
    assert list(outputs(story)) == ["0: kept"]


def test_a_volume_for_one_pod_only() -> None:
    objects = [claim("c", accessModes=["ReadWriteOncePod"]), with_volumes("one", DATA)]
    two = {"at": "5s", "apply": with_volumes("two", DATA, **PLACED)}
    story = Played(two, {"at": "20s", "delete": {"pod": "one"}}, objects=objects)
    assert "volume uses the ReadWriteOncePod access mode and is already in use by another pod" in reported(story)[0][1]
    (moment,) = story.when(CriCall, "two", call="RunPodSandbox")
    assert 20 < moment < 60


# -- what containers see ------------------------------------------------------------------------------------------


def test_a_change_is_seen_after_the_next_resync_of_the_pod() -> None:
    looks = [cat(f"{second}s", "/v/k") for second in range(20, 125, 5)]
    for seed in range(3):
        story = Played(
            {"at": "20s", "apply": config_map("cm", k="new")}, *looks,
            objects=[config_map("cm", k="old"), with_volumes("web", config("cm"))], duration="130s", seed=seed,
        )  # fmt: skip
        seen = list(outputs(story))
        first = seen.index("0: new")
        assert set(seen[:first]) == {"0: old"}
        assert set(seen[first:]) == {"0: new"}
        assert first >= 5  # a resync comes after 60 to 90 s
        assert "volume v has its new content" in story.notes()


def test_a_label_is_updated_immediately() -> None:
    fields = [{"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}]
    story = Played(
        {"at": "10s", "patch": {"pod": "web", "patch": {"metadata": {"labels": {"a": "1"}}}}},
        cat("5s", "/v/labels"), cat("11s", "/v/labels"),
        objects=[with_volumes("web", {"name": "v", "downwardAPI": {"items": fields}})], duration="20s",
    )  # fmt: skip
    assert list(outputs(story)) == ["0", '0: a="1"']


def test_the_token_volume_of_a_pod_and_its_files() -> None:
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    story = Played(cat("5s", f"{path}/namespace"), cat("6s", f"{path}/token"), objects=[pod("web")], duration="10s")
    namespace, token = outputs(story)
    assert namespace == "0: default"
    assert token.startswith("0: ey")
    assert token.count(".") == 2


def test_a_sub_path_keeps_the_old_content() -> None:
    made = with_volumes("web", config("cm"))
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    mounts.append({"name": "v", "mountPath": "/etc/one", "subPath": "k"})
    story = Played(
        {"at": "20s", "apply": config_map("cm", k="new")}, cat("120s", "/v/k"), cat("121s", "/etc/one"),
        objects=[config_map("cm", k="old"), made], duration="130s",
    )  # fmt: skip
    assert list(outputs(story)) == ["0: new", "0: old"]


def test_an_image_as_a_volume_is_pulled_before_any_container_starts_and_in_every_sync() -> None:
    volume = {"name": "v", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}}
    images = [{"name": "example.com/*", "pullTime": "1s"}, {"name": "*", "present": True}]
    story = Played(objects=[with_volumes("web", volume)], duration="90s", images=images)
    pulled = [r for r in story.records if isinstance(r, EventRecorded) and r.reason in ("Pulling", "Pulled")]
    assert [(r.container, "example.com" in r.message) for r in pulled[:3]] == [("", True), ("", True), ("main", False)]
    assert all("already present" in r.message for r in pulled[2:])
    assert len([r for r in pulled if not r.container]) >= 4  # once for each sync


def test_an_image_volume_that_cannot_be_pulled_blocks_its_container() -> None:
    volume = {"name": "v", "image": {"reference": "example.com/data:1", "pullPolicy": "IfNotPresent"}}
    images = [{"name": "example.com/*", "missing": True}, {"name": "*", "present": True}]
    story = Played(objects=[with_volumes("web", volume)], duration="30s", images=images)
    failed = [r for r in story.records if isinstance(r, EventRecorded) and r.reason == "Failed"]
    assert failed[0].message.startswith('Failed to pull image "example.com/data:1"')
    assert [(r.container, r.message) for r in failed[1:3]] == [
        ("main", "Error: ErrImagePull"), ("main", "Error: ImagePullBackOff")
    ]  # fmt: skip
    assert "CreateContainer" not in story.calls()


# -- going and coming ---------------------------------------------------------------------------------------------


def test_an_empty_dir_exists_as_long_as_its_pod() -> None:
    scratch = with_volumes("web", {"name": "v", "emptyDir": {}})
    scratch["spec"]["containers"][0]["command"] = ["sh", "-c", "echo $HOSTNAME >> /v/file; sleep 10; exit 1"]
    story = Played(cat("15s", "/v/file"), objects=[scratch], duration="20s")
    assert list(outputs(story)) == ["0: web\nweb"]


def test_a_restarted_kubelet_sets_up_existing_volumes_and_unmounts_unused_ones() -> None:
    objects = [config_map("cm", k="v"), with_volumes("web", config("cm")), with_volumes("gone", config("cm"))]
    story = Played(
        {"at": "10s", "stop": "kubelet"},
        {"at": "12s", "delete": {"pod": "gone", "gracePeriodSeconds": 0}},
        {"at": "15s", "start": "kubelet"},
        cat("30s", "/v/k"),
        objects=objects,
        duration="60s",
    )
    assert list(outputs(story)) == ["0: v"]
    assert reported(story) == []
    assert story.events("web", after=10) == []
    ended = story.when(WorkerState, "gone", state="finished")
    assert ended
    assert ended[0] < 25


def test_the_trace_equals_that_of_a_kubelet_that_executes_every_round() -> None:
    objects = [config_map("cm", k="old"), with_volumes("web", config("cm")), with_volumes("late", config("later"))]
    steps = [
        {"at": "12s", "apply": config_map("later", k="value")},
        {"at": "20s", "apply": config_map("cm", k="new")},
        {"at": "100s", "delete": {"pod": "web"}},
    ]
    skipped, executed = (
        [r.to_json() for r in Played(*steps, objects=objects, duration="110s", every_tick=every).records]
        for every in (False, True)
    )
    assert skipped == executed


@pytest.mark.parametrize(("zone", "fits"), [("here", True), ("there", False)])
def test_a_local_volume_belongs_to_its_node(zone: str, fits: bool) -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }
    objects = [volume, claim("c", storageClassName="local"), with_volumes("web", DATA, **PLACED)]
    nodes = [{"name": "node-1", "labels": {"zone": "here"}}]
    story = Played(objects=objects, nodes=nodes, duration="5s")
    problem = 'MountVolume.NodeAffinity check failed for volume "disk" : no matching NodeSelectorTerms'
    assert {message for _, message in reported(story)} == (set() if fits else {problem})
    assert story.result.phases == {"default/web": "Running" if fits else "Pending"}
