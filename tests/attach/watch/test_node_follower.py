"""The attached agent with a whole simulated cluster in virtual time: its findings, requests and failures."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND, format_micro_time, format_time
from kubesim.attach.watch.node_follower import NodeLease
from kubesim.attach.watch.table import header, table
from kubesim.attach.watch.views import metrics, respond
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.remote.transport import READS, Call, ReadOnlyTransport
from kubesim.errors import ReadOnlyError
from kubesim.scenario.load.loader import parse_scenario
from tests.support.attach.pods import conditions, pod, running, terminated
from tests.support.attach.watching import SCENARIOS, Watching, scenario, watched
from tests.support.sources.faulty_api import Fault

NAMES = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
IDLE = parse_scenario(
    "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: idle}\nspec: {duration: 3m}\n", "idle.yaml"
)


@pytest.mark.parametrize("name", NAMES)
def test_our_own_kubelet_has_no_divergence_either(name: str) -> None:
    watching = watched(scenario(name))
    assert [one.says for one in watching.notes.divergences] == []
    assert watching.notes.reports
    assert {call.verb for call in watching.direct.calls} <= READS
    assert {call.method for call in watching.direct.calls} == {"GET"}


def test_a_restarted_kubelet_is_reported_and_has_lost_its_back_offs() -> None:
    """Without the Event, the new kubelet would seem to diverge."""

    async def never_called(watching: Watching) -> None:
        watching.agent.shadow.kubelet_started = lambda at: None  # type: ignore[method-assign]

    assert watched(scenario("kubelet-restart")).notes.divergences == []
    found = watched(scenario("kubelet-restart"), during=never_called).notes.divergences
    assert [one.kind for one in found] == ["status", "early"]


def test_the_next_actions_are_printed() -> None:
    watching = watched(scenario("crashloop"), until=30 * SECOND)
    said = [report.statement.causes[0].code for report in watching.notes.reports if report.statement is not None]
    assert "CrashLoopBackOff" in said
    assert watching.agent.shadow.outcomes["restart", "kept"] >= 2
    assert "CrashLoopBackOff" in table(watching.agent)
    assert "kubesim_attach_pods" in metrics(watching.agent)
    assert respond(watching.agent, "GET", "/healthz")[0] == 200
    assert respond(watching.agent, "POST", "/metrics")[0] == 405
    assert respond(watching.agent, "GET", "/secrets")[0] == 404


def test_a_forged_status_is_reported() -> None:
    async def forge(watching: Watching) -> None:
        clock, store = watching.simulation.clock, watching.simulation.store
        await clock.sleep_until(VIRTUAL_START + 5 * SECOND)
        pod = next(pod for pod in store.list("Pod") if isinstance(pod, Pod))
        store.replace(pod.changed(status=pod.status.changed(phase="Pending")))

    watching = watched(scenario("hello-pod"), during=forge)
    assert any("phase Pending" in one.says for one in watching.notes.divergences)
    assert watching.agent.divergence_count == len(watching.agent.divergences) > 0


@pytest.mark.parametrize("kind", ["refuse", "reset", "hang", "nonsense", "gone", "close", "cut", "stall"])
def test_a_server_that_is_down_or_loses_history_is_not_blamed_on_the_kubelet(kind: str) -> None:
    faults = [Fault(kind, at=3)] * 25  # type: ignore[arg-type]
    watching = watched(scenario("crashloop"), faults)
    assert [one.says for one in watching.notes.divergences] == []
    assert watching.agent.has_listed("Pod", "Node")


def test_a_node_that_is_deleted_is_reported() -> None:
    async def delete(watching: Watching) -> None:
        clock, store = watching.simulation.clock, watching.simulation.store
        await clock.sleep_until(VIRTUAL_START + 5 * SECOND)
        store.delete("Node", "", next(iter(watching.simulation.nodes)))
        await clock.sleep(1 * SECOND)
        uid = next(iter(watching.agent.shadow.pods))
        watching.notes.problems.append(watching.agent.shadow.statement(uid, clock.now()).causes[0].code)
        watching.notes.problems.append(header(watching.agent)[0])

    watching = watched(scenario("hello-pod"), during=delete, until=25 * SECOND)
    assert watching.notes.problems[0] == "NodeGone"
    assert "(gone)" in watching.notes.problems[1]


def test_clock_differences_are_measured_by_the_lease() -> None:
    async def renew(watching: Watching) -> None:
        clock, agent = watching.simulation.clock, watching.agent
        await clock.sleep_until(VIRTUAL_START + 1 * SECOND)
        for number in range(4):
            ahead = clock.now() + 90 * SECOND
            agent.lease_received(NodeLease.from_json({"kind": "Lease", "spec": {"renewTime": format_time(ahead)}}))
            await clock.sleep(10 * SECOND)
            assert number == 0 or agent.skew() // SECOND in (89, 90)
        assert "clock skew 1m" in header(agent)[0]

    watched(IDLE, during=renew, until=45 * SECOND)


def test_the_memory_of_a_long_watch_is_limited() -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{0}}}\nspec:\n  restartPolicy: Never\n"
        "  containers: [{{name: m, image: x, command: [sh, -c, 'sleep 2; exit 1']}}]\n"
    )
    steps = "".join(f"    - {{at: {20 + n}s, delete: {{pod: p{n}}}}}\n" for n in range(40))
    text = (
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: churn}\nspec:\n"
        "  images: [{name: '*', present: true}]\n  duration: 5m\n  steps:\n"
    )
    played = parse_scenario(text + steps + "".join(pod.format(n) for n in range(40)), "churn.yaml")
    watching = watched(played, until=4 * MINUTE)
    shadow = watching.agent.shadow
    assert len(watching.notes.reports) > 200
    assert shadow.pods == {}
    assert shadow._uids == {}
    assert shadow._crashes._keys == {}
    assert watching.notes.divergences == []


def test_only_reads_are_sent() -> None:
    class Never:
        def open(self, call: Call) -> object:
            raise AssertionError(call)

        async def close(self) -> None: ...

    transport = ReadOnlyTransport(Never())  # type: ignore[arg-type]
    for verb in ("create", "update", "patch", "delete", "deletecollection"):
        with pytest.raises(ReadOnlyError):
            transport.open(Call(verb, "/api/v1/pods"))


def renewed(at: int) -> NodeLease:
    return NodeLease.from_json({"kind": "Lease", "spec": {"renewTime": format_micro_time(at)}})


def test_before_the_nodes_clock_is_measured_no_time_is_a_divergence() -> None:
    """The node's clock is half a minute ahead, so its statuses have future times: a divergence is known only when they
    have come."""
    ahead = 30 * SECOND
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 5}
    spec = {"nodeName": "node-1", "containers": [{"name": "main", "image": "x", "readinessProbe": probe}]}

    async def play(watching: Watching) -> None:
        clock, agent = watching.simulation.clock, watching.agent
        await clock.sleep_until(VIRTUAL_START + 1 * SECOND)

        def ready(name: str) -> Pod:
            started = running() | {"state": {"running": {"startedAt": format_time(clock.now() + ahead - 8 * SECOND)}}}
            return pod(started, spec=spec, metadata={"name": name, "uid": name})

        agent._lease_listed_at, agent.shadow.clock_known = clock.now(), False  # as if it arrived just now
        agent.pod_received(ready("early"))
        assert watching.notes.divergences == []
        for _ in range(3):
            agent.lease_received(renewed(clock.now() + ahead))
            await clock.sleep(10 * SECOND)
        agent.pod_received(ready("measured"))
        assert watching.notes.divergences == []

    watched(scenario("hello-pod"), during=play, until=35 * SECOND)


def test_a_renewal_in_our_future_shows_that_the_nodes_clock_is_ahead() -> None:
    async def play(watching: Watching) -> None:
        clock, agent = watching.simulation.clock, watching.agent
        await clock.sleep_until(VIRTUAL_START + 1 * SECOND)
        agent.lease_received(renewed(clock.now() + 3600 * SECOND))
        assert agent.now() == clock.now() + 3600 * SECOND
        assert "clock ahead by 1h0m0s or more" in header(agent)[0]

    watched(scenario("hello-pod"), during=play, until=2 * SECOND)


def test_a_disconnected_kubelet_is_not_blamed_for_delays() -> None:
    crashed = terminated(1, finished=0)

    async def as_seen(pod: Pod) -> bool:
        return True

    def missed(renewals: int) -> list[str]:
        async def play(watching: Watching) -> None:
            clock, agent = watching.simulation.clock, watching.agent
            await clock.sleep_until(VIRTUAL_START + 1 * SECOND)
            for _ in range(renewals):
                agent.lease_received(renewed(clock.now()))
                await clock.sleep(10 * SECOND)
            await clock.sleep(20 * SECOND)  # two renewals are missed
            agent._is_as_seen = as_seen  # type: ignore[method-assign]  # the pod is in no store
            start = {"running": {"startedAt": format_time(clock.now() - 5 * SECOND)}}
            agent.pod_received(pod(running() | {"state": start}))
            ended = {"terminated": {**crashed["state"]["terminated"], "finishedAt": format_time(clock.now())}}
            since = {"lastTransitionTime": format_time(VIRTUAL_START)}
            reported = {"phase": "Running", "conditions": [one | since for one in conditions()]}
            agent.pod_received(pod(crashed | {"state": ended}, status=reported))

        watching = watched(IDLE, during=play, until=150 * SECOND)
        return [one.says for one in watching.notes.divergences if "after it was due" in one.says]

    assert missed(0)
    assert missed(5) == []


def test_only_a_failed_watch_of_pods_excuses_the_kubelet() -> None:
    async def play(watching: Watching) -> None:
        agent = watching.agent
        await watching.simulation.clock.sleep_until(VIRTUAL_START + 5 * SECOND)
        agent._problem("cannot list Leases: forbidden")
        assert agent.connected
        agent._cut_off("cannot list Pods: refused")
        assert not agent.connected

    watched(scenario("hello-pod"), during=play, until=10 * SECOND)


def test_a_lease_renewed_off_schedule_means_a_new_kubelet() -> None:
    async def play(watching: Watching) -> None:
        clock, agent = watching.simulation.clock, watching.agent
        await clock.sleep_until(VIRTUAL_START + 1 * SECOND)
        start = clock.now() + MINUTE
        for seconds in (0, 10, 20):
            agent.lease_received(renewed(start + seconds * SECOND))
        known = agent.shadow.kubelet_since
        assert known < start
        agent.lease_received(renewed(start + 26 * SECOND))
        assert agent.shadow.kubelet_since == start + 26 * SECOND

    watched(IDLE, during=play, until=5 * SECOND)
