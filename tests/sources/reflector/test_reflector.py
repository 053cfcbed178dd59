"""A reflector's state, its next request, and its waiting time."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.errors import ApiError, TransportError
from kubesim.sources.reflector.reflector import (
    InitialEvents,
    Next,
    OutOfOrder,
    Reflector,
    after_refusal,
    after_watch,
    is_newer,
    is_unavailable,
)
from kubesim.sources.reflector.reflector_backoff import ReflectorBackoff
from kubesim.sources.reflector.watch_lines import Bookmark, Change
from tests.support.sources.following import new_pod

Type = Literal["ADDED", "MODIFIED", "DELETED"]


def pod(name: str, version: int | str, uid: str = "") -> Pod:
    return new_pod(name, resourceVersion=str(version), uid=uid or f"uid-{name}")


def change(type: Type, name: str, version: int | str) -> Change[Pod]:
    return Change(type, pod(name, version))


def reflector(*known: Pod, version: str = "10") -> Reflector[Pod]:
    found: Reflector[Pod] = Reflector()
    found.replace(known, version)
    return found


def versions(found: Reflector[Pod]) -> dict[str, str]:
    return {name: obj.metadata.resource_version for (_, name), obj in found.objects.items()}


class TestEvents:
    def test_changes_in_order(self) -> None:
        known = reflector(pod("a", 5))
        for event in (change("ADDED", "b", 11), change("MODIFIED", "a", 12), change("DELETED", "b", 14)):
            assert known.see(event) == event
        assert versions(known) == {"a": "12"}
        assert known.version == "14"

    def test_a_repeated_event_counts_once(self) -> None:
        known = reflector()
        known.see(change("ADDED", "a", 11))
        assert known.see(change("ADDED", "a", 11)) is None
        known.see(change("MODIFIED", "a", 12))
        assert known.see(change("ADDED", "a", 11)) is None
        known.see(change("DELETED", "a", 13))
        assert known.see(change("DELETED", "a", 13)) is None
        assert (versions(known), known.version) == ({}, "13")

    def test_a_late_event_with_news_counts(self) -> None:
        known = reflector(pod("a", 5), pod("b", 6))
        known.see(change("MODIFIED", "b", 14))
        late = change("MODIFIED", "a", 12)
        assert known.see(late) == late
        assert known.version == "14", "time does not go back"
        gone = change("DELETED", "a", 13)
        assert known.see(gone) == gone
        assert versions(known) == {"b": "14"}

    def test_an_unknown_old_object_is_ambiguous(self) -> None:
        known = reflector(pod("a", 5))
        known.see(change("DELETED", "a", 13))
        with pytest.raises(OutOfOrder, match="default/a in version 12 came after version 13"):
            known.see(change("MODIFIED", "a", 12))
        assert known.see(change("DELETED", "c", 12)) is None, "that it is gone is known"

    def test_a_reused_name(self) -> None:
        known = reflector(pod("a", 5, "uid-1"))
        known.see(Change("ADDED", pod("a", 12, "uid-2")))
        assert known.see(Change("DELETED", pod("a", 11, "uid-1"))) is None
        assert known.objects["default", "a"].metadata.uid == "uid-2"

    def test_a_bookmark_only_moves_the_version_forward(self) -> None:
        known = reflector()
        assert known.see(Bookmark("20", False)) is None
        known.see(Bookmark("15", False))
        assert known.version == "20"

    def test_versions_that_are_not_numbers_are_accepted_in_order(self) -> None:
        known = reflector(version="x1")
        known.see(change("ADDED", "a", "x7"))
        known.see(change("MODIFIED", "a", "x3"))
        assert (versions(known), known.version) == ({"a": "x3"}, "x3")
        assert not is_newer("x3", "x3")
        assert is_newer("10", "9")


class TestInitialEvents:
    def test_updates_are_held_until_the_initial_list_ends(self) -> None:
        initial: InitialEvents[Pod] = InitialEvents()
        events = (change("ADDED", "a", 9), change("ADDED", "b", 3), Bookmark("9", False), change("DELETED", "b", 10))
        assert not any(initial.see(event) for event in events)
        assert initial.see(Bookmark("10", True))
        assert ([obj.metadata.name for obj in initial.objects], initial.version) == (["a"], "10")

    def test_repeated_old_events_restore_nothing(self) -> None:
        initial: InitialEvents[Pod] = InitialEvents()
        for event in (
            change("ADDED", "a", 3),
            change("DELETED", "a", 10),
            change("ADDED", "a", 3),
            change("MODIFIED", "b", 8),
            change("ADDED", "b", 4),
        ):
            initial.see(event)
        assert [obj.metadata.resource_version for obj in initial.objects] == ["8"]


class TestWhatToAskFor:
    def test_the_first_list_may_be_of_any_version_but_later_ones_not_older(self) -> None:
        known: Reflector[Pod] = Reflector()
        assert (known.list_version, known.stream_version) == ("0", "")
        known.replace((), "10")
        known.see(Bookmark("20", False))
        assert (known.list_version, known.stream_version) == ("20", "20")

    def test_an_unavailable_version_is_not_requested_again(self) -> None:
        known = reflector()
        assert known.version_is_unavailable()
        assert (known.list_version, known.stream_version) == ("", "")
        assert not known.version_is_unavailable(), "no news"
        known.replace((), "7")
        assert known.list_version == "7", "also if that is less than before: the list is the truth"


class TestWhatIsNext:
    @pytest.mark.parametrize(
        ("error", "lasted", "events", "expected"),
        [
            (None, 300 * SECOND, 0, Next.RESUME),
            (None, 10 * MILLISECOND, 1, Next.RESUME),
            (None, 10 * MILLISECOND, 0, Next.RELIST),
            (ApiError(410, "Expired", ""), SECOND, 3, Next.RELIST),
            (ApiError(429, "TooManyRequests", ""), SECOND, 3, Next.RESUME_LATER),
            (ApiError(500, "InternalError", ""), SECOND, 3, Next.RELIST),
            (OutOfOrder(), SECOND, 3, Next.RELIST),
        ],
    )
    def test_after_a_watch(self, error: Exception | None, lasted: int, events: int, expected: Next) -> None:
        assert after_watch(error, lasted, events) is expected

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (TransportError("", refused=True), Next.RESUME_LATER),
            (TransportError(""), Next.RELIST),
            (ApiError(429, "TooManyRequests", ""), Next.RESUME_LATER),
            (ApiError(410, "Expired", ""), Next.RELIST),
            (ApiError(403, "Forbidden", ""), Next.RELIST),
        ],
    )
    def test_after_a_rejection(self, error: Exception, expected: Next) -> None:
        assert after_refusal(error) is expected

    def test_unavailable_versions(self) -> None:
        too_large: dict[str, object] = {"causes": [{"reason": "ResourceVersionTooLarge"}]}
        assert is_unavailable(ApiError(410, "Expired", ""))
        assert is_unavailable(ApiError(410, "Gone", ""))
        assert is_unavailable(ApiError(504, "Timeout", "Timeout: Too large resource version: 9, current: 1", too_large))
        assert is_unavailable(ApiError(504, "Timeout", "Too large resource version: 9"))
        assert not is_unavailable(ApiError(504, "Timeout", "the request timed out", {"causes": "many"}))
        assert not is_unavailable(TransportError("410"))


class TestBackoff:
    def test_the_delay_doubles_up_to_half_a_minute_and_a_random_part_up_to_the_same_is_added(self) -> None:
        chance = random.Random(1)
        backoff = ReflectorBackoff(0, chance)
        base = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]
        for expected in base:
            assert expected * SECOND <= backoff.delay(0) <= 2 * expected * SECOND

    def test_the_delay_starts_over_after_two_minutes(self) -> None:
        backoff = ReflectorBackoff(0, random.Random(1))
        for _ in range(8):
            backoff.delay(119 * SECOND)
        assert backoff.delay(121 * SECOND) <= 1.6 * SECOND
        assert backoff.delay(122 * SECOND) >= 1.6 * SECOND
