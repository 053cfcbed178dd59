"""Cases from upstream's pkg/kubelet/images/image_gc_manager_test.go: TestDetectImages*, TestFreeSpace*,
TestDoNotDeletePinnedImage, TestGarbageCollect*; and the cost of an idle node."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import ImageGCError, RuntimeCallError
from kubesim.kubelet.images.image_gc import (
    NEVER,
    ImageGC,
    ImageGCPolicy,
    bytes_to_free,
    detect_images,
    format_size,
    images_in_eviction_order,
)
from kubesim.runtime.protocol import ImageInfo, Runtime
from tests.support.ticks import ticks

HOUR = 60 * MINUTE


def image(name: str, size: int = 100, *, pinned: bool = False) -> ImageInfo:
    return ImageInfo(name, size=size, pinned=pinned)


def test_records_of_existing_images() -> None:
    first = detect_images({}, [image("a"), image("b", 200)], ["b"], 10)
    assert (first["a"].first_detected, first["a"].last_used) == (10, NEVER)
    assert (first["b"].first_detected, first["b"].last_used, first["b"].size) == (10, 10, 200)
    second = detect_images(first, [image("b"), image("c")], ["c"], 20)
    assert list(second) == ["b", "c"]
    assert (second["b"].first_detected, second["b"].last_used) == (10, 10)


def test_the_least_recently_used_image_is_removed_first_and_pinned_ones_never() -> None:
    records = detect_images({}, [image("a"), image("b"), image("pinned", pinned=True)], ["a", "b"], 1)
    records = detect_images(records, [*(image(name) for name in "abc"), image("pinned", pinned=True)], ["a"], 2)
    order = [record.id for record in images_in_eviction_order(records, [])]
    assert order == ["c", "b", "a"]
    assert [record.id for record in images_in_eviction_order(records, ["c", "b"])] == ["a"]
    same = detect_images(detect_images({}, [image("x")], "x", 1), [image("y"), image("x")], "xy", 2)
    assert [record.id for record in images_in_eviction_order(same, [])] == ["x", "y"]  # the first detected


@pytest.mark.parametrize(
    ("available", "wanted"), [(600, None), (110, None), (109, 91), (100, 100), (50, 150), (0, 200), (5000, None)]
)
def test_the_amount_to_free(available: int, wanted: int | None) -> None:
    policy = ImageGCPolicy(high_threshold_percent=90, low_threshold_percent=80)
    assert bytes_to_free(available, 1000, policy) == wanted


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1 << 20, "1.0 MiB"),
        (10 << 30, "10.0 GiB"),
        (3 << 50, "3072.0 TiB"),
    ],
)
def test_formatted_sizes(size: int, text: str) -> None:
    assert format_size(size) == text


class Disk:
    """A runtime with images, and their file system; `other` is its other content."""

    def __init__(self, capacity: int, other: int, *images: ImageInfo) -> None:
        self.capacity, self.other = capacity, other
        self.images = list(images)
        self.used: list[str] = []
        self.broken: set[str] = set()
        self.lists = 0
        self.events: list[str] = []

    async def list_images(self) -> list[ImageInfo]:
        self.lists += 1
        return list(self.images)

    async def list_containers(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(image_id=name) for name in self.used]

    async def remove_image(self, image_id: str) -> None:
        if image_id in self.broken:
            raise RuntimeCallError(f"cannot remove {image_id}")
        self.images = [known for known in self.images if known.id != image_id]

    def image_fs(self) -> tuple[int, int]:
        return self.capacity - self.other - sum(known.size for known in self.images), self.capacity

    def node_event(self, type: str, reason: str, message: str) -> None:
        self.events.append(f"{type} {reason} {message}")

    @property
    def left(self) -> str:
        return "".join(known.id for known in self.images)


def play(
    disk: Disk,
    policy: ImageGCPolicy,
    story: Callable[[LoopClock, ImageGC], Coroutine[Any, Any, None]],
    *,
    every_tick: bool = False,
) -> Disk:
    async def main() -> Disk:
        clock = LoopClock(0)
        await story(clock, ImageGC(clock, cast(Runtime, disk), policy, disk, disk))
        return disk

    with ticks(every_tick=every_tick):
        return run_virtual(main)


POLICY = ImageGCPolicy(high_threshold_percent=90, low_threshold_percent=80, min_age=0)


def test_removes_images_down_to_the_low_threshold() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        await gc.garbage_collect()
        assert gc.collected == {"space": 2}

    disk = Disk(1000, 550, image("a", 100), image("b", 100), image("c", 100), image("d", 100))
    disk.used = ["b"]
    assert play(disk, POLICY, story).left == "bd"


def test_below_the_threshold_nothing_is_removed() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        await gc.garbage_collect()

    assert play(Disk(1000, 400, image("a")), POLICY, story).left == "a"


def test_too_little_can_be_freed() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        with pytest.raises(ImageGCError, match="Insufficient free disk space"):
            await gc.garbage_collect()

    capacity, size = 10 << 30, 500 << 20
    disk = play(Disk(capacity, capacity - capacity // 20 - size, image("a", size)), POLICY, story)
    assert disk.left == ""
    (reported,) = disk.events
    assert reported == (
        "Warning FreeDiskSpaceFailed "
        "Insufficient free disk space on the node's image filesystem (95% of 10.0 GiB used). "
        "Failed to free sufficient space by deleting unused images (freed 524288000 bytes). "
        "Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
    )


def test_a_new_image_stays_for_its_minimum_age() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        await gc.delete_unused_images()
        assert disk.left == "ab"
        await clock.sleep(MINUTE)
        await gc.delete_unused_images()

    disk = Disk(1000, 0, image("a"), image("b"))
    disk.used = ["b"]
    assert play(disk, ImageGCPolicy(min_age=MINUTE), story).left == "b"


def test_unused_images_are_too_old_only_after_the_kubelet_has_run_that_long() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        await gc.garbage_collect()
        await clock.sleep(MINUTE)
        await gc.garbage_collect()
        assert disk.left == "ab"
        await clock.sleep(1)
        await gc.garbage_collect()
        assert gc.collected == {"age": 1}

    disk = Disk(1000, 0, image("a"), image("b"))
    disk.used = ["b"]
    assert play(disk, ImageGCPolicy(min_age=0, max_age=MINUTE), story).left == "b"


def test_errors_of_the_runtime_do_not_stop_the_others() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        reported = (
            r"wanted to free 9223372036854775807 bytes, but freed 100 bytes space with errors in image deletion: "
        )
        with pytest.raises(ImageGCError, match=reported + "cannot remove a"):
            await gc.delete_unused_images()

    disk = Disk(1000, 0, image("a"), image("b"))
    disk.broken = {"a"}
    assert play(disk, POLICY, story).left == "a"


def test_only_repeated_failures_are_reported_and_success_resets_them() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        async with TaskSet() as tasks:
            tasks.start("gc", gc.run())
            await clock.sleep(11 * MINUTE)
            disk.other = 0
            await clock.sleep(10 * MINUTE)

    disk = Disk(1000, 950)
    reasons = [event.split()[1] for event in play(disk, POLICY, story).events]
    assert reasons == ["FreeDiskSpaceFailed"] + ["FreeDiskSpaceFailed", "ImageGCFailed"] * 2


@pytest.mark.parametrize("every_tick", [False, True])
def test_rounds_that_can_find_nothing_are_counted_but_not_executed(every_tick: bool) -> None:
    """`a` and `b` are in use for an hour, then `b`, then `a` again: `b` was used longest ago."""

    async def story(clock: LoopClock, gc: ImageGC) -> None:
        async with TaskSet() as tasks:
            tasks.start("gc", gc.run())
            for moment, used in (
                (SECOND, "ab"),
                (HOUR, "b"),
                (HOUR + 7 * MINUTE, "a"),
                (2 * HOUR, ""),
                (24 * HOUR, ""),
            ):
                await clock.sleep_until(moment)
                disk.used = [*used]
            disk.other = 700
            await clock.sleep(6 * MINUTE)
        assert disk.lists == 290 if every_tick else disk.lists < 12

    disk = Disk(1000, 0, image("a"), image("b"))
    assert play(disk, POLICY, story, every_tick=every_tick).left == "a"


def test_it_can_be_disabled() -> None:
    async def story(clock: LoopClock, gc: ImageGC) -> None:
        await gc.run()

    assert play(Disk(1000, 1000), ImageGCPolicy(high_threshold_percent=100), story).lists == 0
