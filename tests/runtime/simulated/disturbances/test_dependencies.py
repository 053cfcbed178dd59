"""Dependencies of containers: called in sequence, slow or down, and probes that use them."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.clock import Randomness
from kubesim.runtime.simulated.disturbances.dependencies import CallOutcome, Dependency, Needed, ask
from kubesim.runtime.simulated.settings import Span
from tests.support.played import Played, container, pod

STREAM = Randomness(0).stream("x")


def dependency(name: str, latency: int = 0, **fields: Any) -> Dependency:
    return Dependency(name, Span(latency), **fields)


def test_latencies_add_up() -> None:
    assert ask((Needed(dependency("a", 3)), Needed(dependency("b", 4))), "/", STREAM) == CallOutcome(7)


def test_a_dependency_that_is_down_refuses_and_the_rest_are_not_called() -> None:
    needs = [Needed(dependency("a", 3)), Needed(dependency("b", 4, down=True)), Needed(dependency("c", 5))]
    assert ask(needs, "/", STREAM) == CallOutcome(3, "b")
    assert ask([Needed(dependency("a", is_up=lambda: False))], "/", STREAM) == CallOutcome(0, "a")


def test_only_requests_with_its_path_call_it() -> None:
    needs = [Needed(dependency("a", 3), "/ready*")]
    assert ask(needs, "/healthz", STREAM) == CallOutcome(0)
    assert ask(needs, "/ready/all", STREAM) == CallOutcome(3)


PROBES: dict[str, dict[str, Any]] = {
    "http": {"httpGet": {"port": 80, "path": "/x"}},
    "exec": {"exec": {"command": ["check"]}},
    "grpc": {"grpc": {"port": 80}},
}


def service(kind: str, name: str = "web") -> dict[str, Any]:
    probe = {**PROBES[kind], "periodSeconds": 2, "failureThreshold": 1}
    return pod(name, containers=[container("main", ports=[{"containerPort": 80}], readinessProbe=probe)])


@pytest.mark.parametrize("change", [{"down": True}, {"latency": "3s"}])
@pytest.mark.parametrize("kind", PROBES)
def test_probes_fail_while_a_dependency_is_down_or_slow(kind: str, change: dict[str, Any]) -> None:
    story = Played(
        {"when": {"pod": "web", "condition": "Ready"}, "dependency": {"name": "db", "for": "10s", **change}},
        {"when": {"pod": "web", "condition": "Ready=False", }, "delay": "15s", "cut": "1s"},
        objects=[service(kind)],
        dependencies=[{"name": "db", "latency": "10ms"}],
        behaviours=[{"pod": "web", "needs": ["db"]}],
        expect=[{"pod": "web", "field": "status.conditions[type=Ready].status", "equals": "True"}],
    )  # fmt: skip
    assert "Unhealthy" in story.events("web")
    assert story.events("web", after=20) == []
    assert story.result.ok


def test_a_dependency_may_be_a_pod_of_the_cluster() -> None:
    story = Played(
        {"at": "15s", "delete": {"pod": "db"}},
        objects=[service("http"), pod("db")],
        dependencies=[{"name": "db", "pod": "db"}],
        behaviours=[{"pod": "web", "needs": ["db"]}],
    )
    before = story.events("web", after=5).count("Unhealthy") - story.events("web", after=15).count("Unhealthy")
    assert before == 0
    assert "Unhealthy" in story.events("web", after=15)


def test_a_tcp_connection_calls_no_dependency() -> None:
    probe = {"tcpSocket": {"port": 80}, "periodSeconds": 2, "failureThreshold": 1}
    web = pod("web", containers=[container("main", ports=[{"containerPort": 80}], readinessProbe=probe)])
    story = Played(objects=[web], dependencies=[{"name": "db", "down": True}], behaviours=[{"needs": ["db"]}])
    assert story.result.outcomes["default/web"].startswith("Running")
    assert "Unhealthy" not in story.events("web")
