"""The cluster at a given time of a run equals the API server's state at that time."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.app import Trial, run_scenario
from kubesim.cli.flags.saving_flags import header_of
from kubesim.cluster.saved.history import RunHistory
from kubesim.cluster.saved.lines import shown_object
from kubesim.cluster.saved.moment import ClusterMoment, ObjectSelection
from kubesim.cluster.saved.observer import history_of
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.selectors import parse_field_selector, parse_label_selector
from kubesim.cluster.store.store import Store
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import load_scenarios
from kubesim.shipped import scenario_file
from kubesim.trace import Record

NAMES = ("hello-pod", "crashloop", "init-containers", "kubelet-restart", "static-pod", "job")
WORKLOADS = ("scenarios/workloads/rolling-update-readiness.yaml", "scenarios/workloads/statefulset-claims.yaml")


class StoreKeeper:
    """A sink that exposes the store of a run."""

    store: Store

    def follow_store(self, store: Store) -> None:
        self.store = store

    def record(self, record: Record) -> None:
        """Ignored."""


@cache
def scenario(name: str) -> Scenario:
    return load_scenarios([scenario_file(name)])


@cache
def whole_run(name: str) -> RunHistory:
    history, observer = history_of(header_of(scenario(name), None))
    result = run_scenario(scenario(name), sinks=(observer,))
    history.ended(result.duration)
    return history


def key(obj: dict[str, Any]) -> tuple[str, str, str]:
    return obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def store_at(name: str, t: int) -> list[dict[str, Any]]:
    """Run again up to this time. Leases are written when they are read, such as at the end."""
    keeper = StoreKeeper()
    run_scenario(scenario(name), sinks=(keeper,), trial=Trial(scenario(name).gates, t + 1))
    store = keeper.store
    kinds = [kind for kind in store.kinds() if kind != "Lease"]
    return sorted((shown_object(obj) for kind in kinds for obj in store.list(kind)), key=key)


@pytest.mark.parametrize("name", [*NAMES, *WORKLOADS])
@settings(max_examples=3, deadline=None, phases=[Phase.generate])
@given(t=st.integers(0, 40 * SECOND // MILLISECOND))
def test_it_equals_the_store_at_that_time(name: str, t: int) -> None:
    history = whole_run(name)
    moment = min(t * MILLISECOND, history.end - 1)
    found = [obj for obj in history.objects_at(moment) if obj["kind"] != "Lease"]
    assert sorted(found, key=key) == store_at(name, moment)


def test_changes_at_exactly_that_time_are_included() -> None:
    history = whole_run("hello-pod")
    change = next(each for each in history.changes if each.object["kind"] == "Pod" and each.t > 0)
    before, at = (
        ClusterMoment(history, t).find(RESOURCES["Pod"], "default", "hello") for t in (change.t - 1, change.t)
    )
    assert before is not None
    assert at is not None
    assert int(at["metadata"]["resourceVersion"]) >= int(change.object["metadata"]["resourceVersion"])
    assert int(before["metadata"]["resourceVersion"]) < int(change.object["metadata"]["resourceVersion"])


def test_objects_are_selected_by_namespace_labels_and_fields() -> None:
    history = whole_run(WORKLOADS[0])
    moment, pods = ClusterMoment(history), RESOURCES["Pod"]
    everything = moment.list(pods)
    assert everything
    assert moment.list(pods, ObjectSelection("default")) == everything
    assert moment.list(pods, ObjectSelection("other")) == []
    assert moment.list(pods, ObjectSelection(labels=parse_label_selector("pod-template-hash"))) == everything
    running = ObjectSelection(fields=parse_field_selector("status.phase=Running,spec.hostNetwork=false"))
    assert moment.list(pods, running) == everything
    one = everything[0]["metadata"]["name"]
    assert [
        obj["metadata"]["name"]
        for obj in moment.list(pods, ObjectSelection(fields=parse_field_selector(f"metadata.name={one}")))
    ] == [one]


def test_output_belongs_to_one_container_id() -> None:
    moment = ClusterMoment(whole_run("crashloop"), 25 * SECOND)
    pod = moment.find(RESOURCES["Pod"], "default", "crash")
    assert pod is not None
    [status] = pod["status"]["containerStatuses"]
    now, before = (moment.output(status[of]["terminated"]["containerID"]) for of in ("state", "lastState"))
    assert [line.text for line in (*now, *before)] == ["starting"] * 2
    assert now[0].t > before[0].t
