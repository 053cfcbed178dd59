"""With any faults in an API server's calls and streams, in the end the source knows exactly the existing pods."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE
from kubesim.clock import LoopClock, run_virtual
from kubesim.cluster.remote.access import Access, FixedAccess
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.cluster.remote.transport import Transport
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from tests.support.soak import LONG, rounds
from tests.support.socket_loop import run_with_sockets
from tests.support.sources.faulty_api import KINDS, LASTING, DirectTransport, Fault, FaultyTransport
from tests.support.sources.following import NODE, Follower, facts_of, new_pod, new_store

pytestmark = LONG

NAMES = ("a", "b", "c", "d", "e", "f")
CALM = 180 * MINUTE  # each fault can take as long as a watch

# The change, its pod, and the node of a new pod.
Change = tuple[str, str, str]
CHANGE = st.tuples(
    st.sampled_from(["create", "label", "ip", "mark", "remove", "again"]),
    st.sampled_from(NAMES),
    st.sampled_from([NODE, NODE, NODE, "other"]),
)
# Several at once, then a pause (ms): the lines of a watch arrive in groups.
BURSTS = st.lists(
    st.tuples(st.lists(CHANGE, min_size=1, max_size=8), st.sampled_from([0, 1, 10, 500, 3_000, 40_000, 400_000])),
    min_size=6,
    max_size=20,
)
FAULTS = st.lists(st.builds(Fault, st.sampled_from(KINDS), st.integers(0, 8), st.integers(0, 300)), max_size=10)
CUTS = st.sets(st.integers(0, 20), max_size=4)  # before which groups all connections break
# The fault of every later watch.
FLAWS = st.builds(Fault, st.sampled_from(LASTING), st.integers(1, 8), st.integers(0, 20))


def change(store: Store, what: str, name: str, node: str, number: int) -> None:
    pod = store.find("Pod", "default", name)
    if not isinstance(pod, Pod):
        if what in ("create", "again"):
            store.create(new_pod(name, node))
        return
    match what:
        case "label":
            store.replace(pod.changed(metadata=pod.metadata.changed(labels={"n": str(number)})))
        case "ip":
            store.write(pod, pod.changed(status=pod.status.changed(pod_ip=f"10.0.0.{number}")))
        case "mark":
            store.delete("Pod", "default", name, grace_s=30)
        case "remove" | "again":
            store.remove("Pod", "default", name)
            if what == "again":
                store.create(new_pod(name, node))


async def live(
    clock: LoopClock,
    store: Store,
    transport: Transport,
    bursts: list[tuple[list[Change], int]],
    seed: int,
    before: Callable[[int], None] = lambda number: None,
) -> Follower:
    """Make the changes while the source runs, then wait until it is idle."""
    async with TaskSet() as tasks:

        async def play() -> Follower:
            follower = Follower(clock, tasks, transport, seed)
            follower.source.start()
            for number, (changes, pause_ms) in enumerate(bursts):
                before(number)
                for what, name, node in changes:
                    change(store, what, name, node, number)
                await clock.sleep(pause_ms * 1000)
                follower.take()
            await clock.sleep(CALM)
            follower.take()
            follower.source.stop()
            return follower

        found: Follower = await tasks.run_until(play())
        return found


# No streamed list is complete, and a pod is reported only when its list is: a plain list has to help.
ALWAYS_LATE = (
    [*[([("create", name, NODE) for name in NAMES], 0)] * 3, ([("remove", "c", NODE), ("again", "a", NODE)], 500)],
    [Fault("close", 1, 171), Fault("close", 4, 177), Fault("status", 1, 299)],
    Fault("late", 1, 17),
    4096,
    True,
    41713,
)


@settings(max_examples=rounds(1000))
@given(BURSTS, FAULTS, FLAWS, st.sampled_from([3, 4096]), st.booleans(), st.integers(0, 2**16))
@example(*ALWAYS_LATE)
def test_the_pods_are_those_of_the_store(
    bursts: list[tuple[list[Change], int]], faults: list[Fault], flaw: Fault, history: int, streaming: bool, seed: int
) -> None:
    async def main() -> None:
        clock = LoopClock()
        store = new_store(clock, history)
        direct = DirectTransport(store, clock, streaming_lists=streaming)
        follower = await live(clock, store, FaultyTransport(direct, clock, faults, flaw), bursts, seed)
        assert follower.state() == facts_of(store), follower.problems()

    run_virtual(main)


@settings(max_examples=rounds(200))
@given(
    BURSTS, FAULTS, FLAWS, st.sampled_from([3, 4096]), st.sets(st.integers(0, 20), max_size=4), st.integers(0, 2**16)
)
def test_the_same_over_a_real_connection(
    bursts: list[tuple[list[Change], int]], faults: list[Fault], flaw: Fault, history: int, cuts: set[int], seed: int
) -> None:
    """The server also breaks all of its connections now and then."""

    async def main() -> None:
        clock = LoopClock()
        store = new_store(clock, history)
        server = ClusterServer(store, clock)
        await server.start()
        transport = HttpTransport(FixedAccess(Access(server.address)), clock)
        follower = await live(
            clock,
            store,
            FaultyTransport(transport, clock, faults, flaw),
            bursts,
            seed,
            lambda number: server.cut() if number in cuts else None,
        )
        assert follower.state() == facts_of(store), follower.problems()
        await server.close()

    run_with_sockets(main)
