"""PodConfig: the updates that a source's report causes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubesim.api.meta import CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import pod_full_name
from kubesim.api.timestamps import SECOND
from kubesim.sources.mux import PodConfig, PodUpdate
from tests.support.soak import LONG, rounds

pytestmark = LONG


def pod(name: str = "a", uid: str = "u", image: str = "i", phase: str = "", **meta: Any) -> Pod:
    return Pod.from_json(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": uid, **meta},
            "spec": {"containers": [{"name": "c", "image": image}]},
            "status": {"phase": phase} if phase else {},
        }
    )


def operations(updates: list[PodUpdate]) -> list[tuple[str, list[str]]]:
    return [(update.op, [p.metadata.uid for p in update.pods]) for update in updates]


def test_an_empty_first_report_only_makes_the_source_seen() -> None:
    config = PodConfig(["api", "file"])
    assert config.merge("api", [], 0) == [PodUpdate("ADD", "api", ())]
    assert config.merge("api", [], 0) == []
    assert not config.seen_all_sources({"api", "file"})
    config.merge("file", [pod()], 0)
    assert config.seen_all_sources({"api", "file"})
    assert not config.seen_all_sources({"api"})


def test_the_updates_of_one_report_have_a_fixed_order() -> None:
    config = PodConfig(["api"])
    config.merge("api", [pod("a", "1"), pod("b", "2"), pod("c", "3"), pod("d", "4")], 0)
    updates = config.merge(
        "api",
        [
            pod("a", "1", phase="Running"),
            pod("b", "2", image="other"),
            pod("c", "3", deletionTimestamp="2026-01-01T00:00:00Z"),
            pod("e", "5"),
        ],
        0,
    )
    assert operations(updates) == [
        ("REMOVE", ["4"]),
        ("ADD", ["5"]),
        ("UPDATE", ["2"]),
        ("DELETE", ["3"]),
        ("RECONCILE", ["1"]),
    ]


def test_a_pod_gets_its_timestamp_when_it_is_first_seen_and_keeps_it() -> None:
    config = PodConfig(["api"])
    [added] = config.merge("api", [pod(annotations={"x": "1"})], 1_500_000)
    assert added.pods[0].metadata.annotations == {
        "x": "1",
        CONFIG_SOURCE: "api",
        CONFIG_SEEN: "1970-01-01T00:00:01.5Z",
    }
    [updated] = config.merge("api", [pod(annotations={"y": "2", CONFIG_MIRROR: "m"})], 9 * SECOND)
    assert updated.pods[0].metadata.annotations == {
        "y": "2",
        CONFIG_SOURCE: "api",
        CONFIG_SEEN: "1970-01-01T00:00:01.5Z",
        CONFIG_MIRROR: "m",
    }
    # The kubelet's own writes are not a change.
    assert config.merge("api", [pod(annotations={"y": "2"})], 9 * SECOND) == []


def test_a_new_name_under_the_same_uid_is_not_noticed() -> None:
    config = PodConfig(["api"])
    config.merge("api", [pod("a")], 0)
    assert config.merge("api", [pod("b")], 0) == []
    [updated] = config.merge("api", [pod("b", image="other", resourceVersion="7", generation=2)], 0)
    assert updated.pods[0].metadata.name == "a"
    assert updated.pods[0].metadata.resource_version == ""
    assert updated.pods[0].metadata.generation == 2


def test_the_second_of_two_pods_with_one_name_is_dropped_and_if_known_removed() -> None:
    config = PodConfig(["file"])
    config.merge("file", [pod("a", "1"), pod("b", "2")], 0)
    assert operations(config.merge("file", [pod("a", "1"), pod("a", "2")], 0)) == [("REMOVE", ["2"])]
    assert [dropped.message for dropped in config.dropped] == [
        'Error validating pod a_ns(2) from file due to duplicate pod name "a", ignoring'
    ]


def test_a_uid_under_two_names_is_compared_twice() -> None:
    config = PodConfig(["api"])
    config.merge("api", [pod("a", "1")], 0)
    [updated] = config.merge("api", [pod("a", "1", image="x"), pod("b", "1", image="y")], 0)
    assert [p.spec.containers[0].image for p in updated.pods] == ["y", "y"]


PODS = st.builds(
    pod,
    name=st.sampled_from(["a", "b", "c"]),
    uid=st.sampled_from(["1", "2", "3", "4"]),
    image=st.sampled_from(["i", "j"]),
    phase=st.sampled_from(["", "Running"]),
    annotations=st.sampled_from([{}, {"x": "y"}]),
    deletionTimestamp=st.sampled_from([None, "2026-01-01T00:00:00Z"]),
)
CHANGES = st.lists(st.one_of(PODS, st.sampled_from(["a", "b", "c"])), max_size=12)


@settings(max_examples=rounds(3000), deadline=None)
@given(first=st.one_of(st.none(), st.lists(PODS, max_size=3)), changes=CHANGES)
def test_reporting_one_change_equals_reporting_everything(first: list[Pod] | None, changes: list[Pod | str]) -> None:
    """Also for a source that gives one uid to several names."""
    whole, single = PodConfig(["api"]), PodConfig(["api"])
    wanted: dict[str, Pod] = {}
    if first is not None:
        for given_pod in first:
            wanted.setdefault(pod_full_name(given_pod), given_pod)
        assert whole.merge("api", wanted.values(), 0) == single.merge("api", wanted.values(), 0)
    for now, change in enumerate(changes):
        if isinstance(change, str):
            wanted.pop(f"{change}_ns", None)
            reported = single.remove("api", "ns", change, now)
        else:
            wanted[pod_full_name(change)] = change
            reported = single.upsert("api", change, now)
        assert reported == whole.merge("api", wanted.values(), now)
        assert single.seen_all_sources({"api"})


def test_restored_pods_are_passed_on_and_not_kept() -> None:
    config = PodConfig({"api"})
    assert config.restore("api", []) == []
    [restored] = config.restore("api", [pod("a")])
    assert (restored.op, [p.metadata.name for p in restored.pods]) == ("RESTORE", ["a"])
    assert restored.pods[0].metadata.annotations == pod("a").metadata.annotations, "nothing is written into it"
    assert not config.seen_all_sources({"api"})
    [added] = config.merge("api", [pod("a")], 0)
    assert added.op == "ADD", "to its source it is new"
    assert config.merge("api", [], 0)[0].op == "REMOVE"
