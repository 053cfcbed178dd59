"""Garbage collection of images. Above the high threshold of image file system usage, the kubelet removes unused images,
least recently used first, until usage reaches the low threshold.

The decisions are functions; `ImageGC` keeps the image records between rounds.

Mirrors: pkg/kubelet/images/image_gc_manager.go; kubelet.go StartGarbageCollection
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kubesim.api.timestamps import MINUTE
from kubesim.clock import NEVER as NOT_EVER
from kubesim.clock import LoopClock
from kubesim.concurrency import Ticker
from kubesim.errors import ImageGCError, RuntimeCallError
from kubesim.golang.text import duration
from kubesim.runtime.protocol import ImageInfo, Runtime
from kubesim.values import replace, value_object

IMAGE_GC_PERIOD = 5 * MINUTE
NEVER = -1  # not seen in use since the kubelet started
_UNITS = ("KiB", "MiB", "GiB", "TiB")


@value_object
class ImageGCPolicy:
    high_threshold_percent: int = 85
    low_threshold_percent: int = 80
    min_age: int = 2 * MINUTE
    max_age: int = 0  # 0: no maximum age for unused images

    @property
    def is_off(self) -> bool:
        return self.high_threshold_percent == 100 and self.max_age == 0


@value_object
class ImageRecord:
    id: str
    first_detected: int
    last_used: int = NEVER
    size: int = 0
    pinned: bool = False


Records = Mapping[str, ImageRecord]  # by id


def detect_images(
    records: Records, images: Iterable[ImageInfo], in_use: Iterable[str], now: int
) -> dict[str, ImageRecord]:
    """The records after listing images: new images added, deleted ones dropped, and last-used times updated."""
    used, found = {*in_use}, {}
    for image in images:
        record = records.get(image.id) or ImageRecord(image.id, first_detected=now)
        last_used = now if image.id in used else record.last_used
        found[image.id] = replace(record, last_used=last_used, size=image.size, pinned=image.pinned)
    return found


def images_in_eviction_order(records: Records, in_use: Iterable[str]) -> list[ImageRecord]:
    """The images that may be removed, least recently used first; on a tie, first detected first."""
    used = {*in_use}
    free = [record for record in records.values() if record.id not in used and not record.pinned]
    return sorted(free, key=lambda record: (record.last_used, record.first_detected))


def is_too_old(record: ImageRecord, policy: ImageGCPolicy, now: int, began: int) -> bool:
    """Whether an image has been unused for longer than the maximum age. The kubelet itself must run that long first."""
    return (
        bool(policy.max_age)
        and now - began > policy.max_age
        and (record.last_used == NEVER or now - record.last_used > policy.max_age)
    )


def may_be_freed(record: ImageRecord, policy: ImageGCPolicy, now: int) -> bool:
    """Whether an image is old enough to remove: a freshly pulled image is about to be used."""
    return record.last_used < now and now - record.first_detected >= policy.min_age


def usage_percent(available: int, capacity: int) -> int:
    return 100 - min(available, capacity) * 100 // capacity


def bytes_to_free(available: int, capacity: int, policy: ImageGCPolicy) -> int | None:
    """Bytes to free on the image file system; None below the high threshold."""
    if usage_percent(available, capacity) < policy.high_threshold_percent:
        return None
    return capacity * (100 - policy.low_threshold_percent) // 100 - min(available, capacity)


def format_size(size: int) -> str:
    if size < 1024:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, len(_UNITS))
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"


def not_enough_freed_message(percent: int, capacity: int, freed: int) -> str:
    return (
        f"Insufficient free disk space on the node's image filesystem ({percent}% of {format_size(capacity)} used). "
        f"Failed to free sufficient space by deleting unused images (freed {freed} bytes). "
        "Investigate disk usage, as it could be used by active images, logs, volumes, or other data."
    )


class ImageFs(Protocol):
    def image_fs(self) -> tuple[int, int]:
        """Available bytes and capacity."""
        ...


class NodeEvents(Protocol):
    def node_event(self, type: str, reason: str, message: str) -> None: ...


class ImageGC:
    def __init__(
        self,
        clock: LoopClock,
        runtime: Runtime,
        policy: ImageGCPolicy,
        file_system: ImageFs,
        events: NodeEvents,
    ) -> None:
        self._clock = clock
        self._runtime = runtime
        self._policy = policy
        self._file_system = file_system
        self._events = events
        self._records: dict[str, ImageRecord] = {}
        self._in_use: frozenset[str] = frozenset()  # images in use in the last round
        self._began = clock.now()
        self._failed = False
        self.collected: dict[str, int] = {}  # number of removed images, by reason

    async def run(self) -> None:
        if self._policy.is_off:
            return
        self._began = self._clock.now()
        ticker = Ticker(self._clock, "image gc", IMAGE_GC_PERIOD)
        ticker.on_skip = self._rounds_skipped
        try:
            await self._round()
            while True:
                await ticker.channel.receive()
                ticker.done(await self._round())
        finally:
            ticker.stop()

    def _rounds_skipped(self, last: int) -> None:
        """Update last-used times for skipped rounds: an image in use counts as used at the last one."""
        for identifier in self._in_use & self._records.keys():
            self._records[identifier] = replace(self._records[identifier], last_used=last)

    async def _round(self) -> int:
        """Run one round. The first failure may come from missing stats after start, so only later failures emit an
        Event.

        Returns the time of the next round that can find images to remove.
        """
        known = self._records.keys()
        try:
            await self.garbage_collect()
        except (ImageGCError, RuntimeCallError) as error:
            if self._failed:
                self._events.node_event("Warning", "ImageGCFailed", str(error))
            self._failed = True
            return 0
        self._failed = False
        if self._records.keys() != known:
            return 0
        unused = images_in_eviction_order(self._records, self._in_use)
        if not self._policy.max_age or not unused:
            return NOT_EVER
        return max(unused[0].last_used, self._began) + self._policy.max_age + 1

    async def garbage_collect(self) -> None:
        """One garbage collection. Raises ImageGCError if it freed too little."""
        now = self._clock.now()
        images = await self._images_in_eviction_order(now)
        images = await self._free_old_images(images, now)
        available, capacity = self._file_system.image_fs()
        if capacity == 0:
            message = "invalid capacity 0 on image filesystem"
            self._events.node_event("Warning", "InvalidDiskCapacity", message)
            raise ImageGCError(message)
        wanted = bytes_to_free(available, capacity, self._policy)
        if wanted is None:
            return
        freed = await self._free_space(wanted, images, now)
        if freed < wanted:
            message = not_enough_freed_message(usage_percent(available, capacity), capacity, freed)
            self._events.node_event("Warning", "FreeDiskSpaceFailed", message)
            raise ImageGCError(message)

    async def delete_unused_images(self) -> None:
        """Remove all unused images, regardless of thresholds; called under disk pressure."""
        now = self._clock.now()
        await self._free_space(None, await self._images_in_eviction_order(now), now)

    async def _images_in_eviction_order(self, now: int) -> list[ImageRecord]:
        images = await self._runtime.list_images()
        containers = await self._runtime.list_containers()
        self._in_use = frozenset(container.image_id for container in containers)
        self._records = detect_images(self._records, images, self._in_use, now)
        return images_in_eviction_order(self._records, self._in_use)

    async def _free_old_images(self, images: list[ImageRecord], now: int) -> list[ImageRecord]:
        old = [record for record in images if is_too_old(record, self._policy, now, self._began)]
        errors = [error for record in old if (error := await self._free(record, "age"))]
        if errors:
            age = duration(self._policy.max_age)
            problem = f"encountered errors in image deletion: {_aggregate(errors)}"
            raise ImageGCError(f"wanted to free images older than {age}, {problem}")
        return [record for record in images if record not in old]

    async def _free_space(self, wanted: int | None, images: list[ImageRecord], now: int) -> int:
        """Remove images until this many bytes are freed (None: all removable images). Returns the freed bytes."""
        freed, errors = 0, []
        for record in images:
            if not may_be_freed(record, self._policy, now):
                continue
            error = await self._free(record, "space")
            if error:
                errors.append(error)
                continue
            freed += record.size
            if wanted is not None and freed >= wanted:
                break
        if errors:
            goal = (1 << 63) - 1 if wanted is None else wanted
            problem = f"but freed {freed} bytes space with errors in image deletion: {_aggregate(errors)}"
            raise ImageGCError(f"wanted to free {goal} bytes, {problem}")
        return freed

    async def _free(self, record: ImageRecord, reason: str) -> str:
        try:
            await self._runtime.remove_image(record.id)
        except RuntimeCallError as error:
            return str(error)
        self._records.pop(record.id, None)
        self.collected[reason] = self.collected.get(reason, 0) + 1
        return ""


def _aggregate(errors: list[str]) -> str:
    """Go's aggregate error text: each distinct error once."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
