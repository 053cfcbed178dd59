"""Channels and select with the semantics of Go."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import Channel, Select
from kubesim.errors import Deadlock


def play(scene: Callable[[LoopClock], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await scene(LoopClock())

    return run_virtual(main)


def test_items_are_received_in_order_and_a_full_channel_rejects() -> None:
    async def scene(clock: LoopClock) -> None:
        channel: Channel[int] = Channel("numbers", 2)
        assert [channel.try_send(n) for n in (1, 2, 3)] == [True, True, False]
        assert channel.statistics()["dropped"] == 1
        assert [await channel.receive(), await channel.receive()] == [1, 2]
        assert channel.try_receive() is None

    play(scene)


def test_the_first_waiter_is_woken_first() -> None:
    async def scene(clock: LoopClock) -> dict[str, int]:
        channel: Channel[int] = Channel("numbers", 5)
        got: dict[str, int] = {}

        async def take(name: str) -> None:
            got[name] = await channel.receive()

        tasks = [asyncio.create_task(take(name)) for name in ("first", "second")]
        await clock.sleep(1)
        channel.try_send(1)
        channel.try_send(2)
        await asyncio.gather(*tasks)
        return got

    assert play(scene) == {"first": 1, "second": 2}


def test_a_blocking_send_waits_for_capacity() -> None:
    async def scene(clock: LoopClock) -> list[int]:
        channel: Channel[int] = Channel("narrow", 1)
        await channel.send(1)
        sender = asyncio.create_task(channel.send(2))
        await clock.sleep(1)
        assert not sender.done()
        got = [await channel.receive(), await channel.receive()]
        await sender
        return got

    assert play(scene) == [1, 2]


def chosen(seed: int) -> list[str]:
    async def scene(clock: LoopClock) -> list[str]:
        channels: list[Channel[int]] = [Channel(name, 50) for name in "abc"]
        for channel in channels:
            for n in range(20):
                channel.try_send(n)
        reader = Select(channels, Randomness(seed).stream("select"))
        picks = []
        for _ in range(30):
            picked = await reader.next()
            assert picked.ready == ("a", "b", "c")
            picks.append(picked.channel.name)
        return picks

    result: list[str] = play(scene)
    return result


def test_the_seed_selects_one_of_several_ready_channels() -> None:
    assert chosen(1) == chosen(1)
    assert chosen(1) != chosen(2)
    assert set(chosen(1)) == {"a", "b", "c"}


def test_a_waiting_select_gets_what_arrives_first() -> None:
    async def scene(clock: LoopClock) -> tuple[str, int]:
        left: Channel[int] = Channel("left", 5)
        right: Channel[int] = Channel("right", 5)
        waiting = asyncio.create_task(Select((left, right), Randomness(0).stream("x")).next())
        await clock.sleep(1)
        right.try_send(7)
        left.try_send(8)
        picked = await waiting
        assert len(left) == 1  # the other value stays in its channel
        return picked.channel.name, picked.item

    assert play(scene) == ("right", 7)


def test_a_value_handed_to_a_cancelled_receiver_is_not_lost() -> None:
    async def scene(clock: LoopClock) -> int:
        channel: Channel[int] = Channel("letters", 5)
        receiver = asyncio.create_task(channel.receive())
        await clock.sleep(1)
        channel.try_send(1)
        receiver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiver
        return await channel.receive()

    assert play(scene) == 1


def test_the_only_reader_of_channels_receives_like_a_select() -> None:
    async def scene(clock: LoopClock) -> list[tuple[str, int, tuple[str, ...]]]:
        left: Channel[int] = Channel("left", 1)
        right: Channel[int] = Channel("right", 1)
        reader = Select((left, right), None)
        for n, channel in enumerate((right, left, right)):
            clock.call_at(clock.now() + 1 + n // 2, channel.try_send, n)  # two at one instant, then one
        found = [await reader.next() for _ in range(3)]
        return [(each.channel.name, each.item, each.ready) for each in found]

    assert play(scene) == [("right", 0, ("right",)), ("left", 1, ("left",)), ("right", 2, ("right",))]


def test_a_value_for_a_cancelled_reader_goes_to_the_next_one() -> None:
    async def scene(clock: LoopClock) -> int:
        channel: Channel[int] = Channel("letters", 5)
        reader = Select((channel,), None)
        waiting = asyncio.create_task(reader.next())
        await clock.sleep(1)
        assert channel.statistics()["waiters"] == 1
        channel.try_send(1)
        channel.try_send(2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert channel.statistics()["waiters"] == 0
        reader.close()
        return await channel.receive()

    assert play(scene) == 1


def test_a_send_does_not_block_while_the_only_reader_waits() -> None:
    async def scene(clock: LoopClock) -> tuple[int, int]:
        channel: Channel[int] = Channel("without room", 0)
        waiting = asyncio.create_task(Select((channel,), None).next())
        await clock.sleep(1)
        await channel.send(1)
        return (await waiting).item, clock.now() - clock.start

    assert play(scene) == (1, 1)


def test_a_deadlock_names_the_channels_of_a_select() -> None:
    async def scene(clock: LoopClock) -> None:
        await Select([Channel[int]("left", 1), Channel[int]("right", 1)], None).next()

    with pytest.raises(Deadlock, match="waits for left or right"):
        play(scene)
