"""Playing back a trace: how much of it is shown per second of the user's time."""

from __future__ import annotations

from kubesim.trace.stepping.playback import SPEEDS, Playback
from kubesim.trace.stepping.session import StepSession
from kubesim.trace.stepping.stepper import is_decision
from tests.support.stepping import stepper

SECOND = 1_000_000


def test_it_shows_the_latest_decision() -> None:
    walk, playback = stepper("crashloop"), Playback()
    playback.key("r", walk)
    for now in range(1, 8):
        assert playback.passed(SECOND, walk) == ""
        come = [record for record in walk.records if is_decision(record) and record.t <= now * SECOND]
        assert walk.here is come[-1]


def test_speeds() -> None:
    walk, playback = stepper("crashloop"), Playback()
    for key, speed in (("+", 2), ("+", 5), ("-", 2), ("-", 1), ("-", 0.5)):
        assert playback.key(key, walk) == f"r plays at {speed:g} virtual seconds per second"
    for _ in SPEEDS:
        playback.key("+", walk)
    assert playback.speed == SPEEDS[-1]
    playback.key("r", walk)
    assert playback.text == "  playing at 3600x"
    assert playback.passed(SECOND, walk) == "this is the last decision of the run"
    assert not playback.playing


def test_it_stops_at_a_break() -> None:
    walk, playback = stepper("crashloop", "pleg.event ContainerDied"), Playback()
    playback.key("r", walk)
    assert playback.passed(3600 * SECOND, walk) == "stopped by the break pleg.event ContainerDied"
    assert walk.stopped_by(walk.here)


def test_typing_pauses_it_and_a_navigation_key_stops_it() -> None:
    session = StepSession(stepper("crashloop"), "x")

    def moves() -> bool:
        before = session.stepper.position
        session.passed(3 * SECOND)
        return session.stepper.position > before

    session.key("r")
    assert moves()
    session.key("/")
    assert not moves()
    session.key("escape")
    assert moves()
    session.key("p")
    assert not moves()
