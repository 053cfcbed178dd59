"""Streams of randomness: named, seeded, independent of each other."""

from __future__ import annotations

from kubesim.clock import Randomness


def draws(randomness: Randomness, *names: str) -> list[float]:
    stream = randomness.stream(*names)
    return [stream.random() for _ in range(5)]


def test_the_same_seed_and_name_give_the_same_stream() -> None:
    assert draws(Randomness(7), "probe", "uid") == draws(Randomness(7), "probe", "uid")


def test_another_seed_or_name_gives_another() -> None:
    streams = [draws(Randomness(7), "a", "b"), draws(Randomness(8), "a", "b"), draws(Randomness(7), "a", "c"),
               draws(Randomness(7), "ab")]  # fmt: skip
    assert len({tuple(stream) for stream in streams}) == len(streams)


def test_draws_in_one_stream_change_nothing_in_another() -> None:
    randomness = Randomness(1)
    before = draws(randomness, "quiet")
    draws(randomness, "busy")
    assert draws(randomness, "quiet") == before


def test_a_fraction_belongs_to_seed_and_names_and_is_drawn_evenly() -> None:
    randomness = Randomness(1)
    assert randomness.fraction("worker", "a") == Randomness(1).fraction("worker", "a")
    fractions = [randomness.fraction("worker", str(number)) for number in range(1000)]
    assert len({*fractions, Randomness(2).fraction("worker", "0")}) == 1001
    assert [sum(tenth <= 10 * f < tenth + 1 for f in fractions) > 70 for tenth in range(10)] == [True] * 10
