"""Encoder of tracks and slices in the format of the Perfetto UI and its trace processor.

Mirrors: perfetto protos/perfetto/trace/track_event/track_event.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.trace.perfetto.tracks import Path, TrackSpan

if TYPE_CHECKING:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import DebugAnnotation, TracePacket

SEQUENCE = 1  # there is only one writer
NANOSECONDS = 1_000  # per microsecond


def encoded(spans: Sequence[TrackSpan]) -> bytes:
    """The encoded trace: slices with an end, instants without one, and an arrow wherever a cause is in another
    track."""
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    builder = TraceProtoBuilder()
    tracks = _Tracks(builder)
    arrows = _arrows(spans)
    for _, each, is_begin in _moments(spans):
        event = tracks.event(each.track, each.begin if is_begin or each.end is None else each.end)
        if not is_begin:
            event.type = event.TYPE_SLICE_END
            continue
        event.type = event.TYPE_INSTANT if each.end is None else event.TYPE_SLICE_BEGIN
        event.name = each.name
        for key, value in each.details.items():
            _annotate(event.debug_annotations.add(), key, value)
        leads_to, comes_from = arrows.get(each.begun_by, ((), None))
        event.flow_ids.extend(leads_to)
        if comes_from is not None:
            event.terminating_flow_ids.append(comes_from)
    data: bytes = builder.serialize()
    return data


class _Tracks:
    """Describes each track before its first event."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self._numbers: dict[Path, int] = {}

    def event(self, track: Path, moment: int) -> Any:
        number = self._number(track)
        packet: TracePacket = self._builder.add_packet()
        packet.timestamp = moment * NANOSECONDS
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.track_event.track_uuid = number
        return packet.track_event

    def _number(self, track: Path) -> int:
        number = self._numbers.get(track)
        if number is not None:
            return number
        above = self._number(track[:-1]) if len(track) > 1 else 0
        number = self._numbers[track] = len(self._numbers) + 1
        descriptor = self._builder.add_packet().track_descriptor
        descriptor.uuid = number
        if above:
            descriptor.parent_uuid, descriptor.name = above, track[-1]
        else:
            descriptor.process.pid, descriptor.process.process_name = number, track[-1]
        return number


def _moments(spans: Iterable[TrackSpan]) -> list[tuple[int, TrackSpan, bool]]:
    """The begins and ends of all spans in the order of their records, which is the order of time."""
    begins = [(each.begun_by, each, True) for each in spans]
    ends = [(each.ended_by, each, False) for each in spans if each.end is not None]
    return sorted(begins + ends, key=lambda moment: moment[0])


def _arrows(spans: Iterable[TrackSpan]) -> dict[int, tuple[list[int], int | None]]:
    """Arrows by the record that began a slice: the arrows that start there, and the one that ends there. An arrow's id
    is the number of the record at its end.
    """
    by_record: dict[int, TrackSpan] = {}
    arrows: dict[int, tuple[list[int], int | None]] = {}
    for each in spans:
        by_record[each.begun_by] = by_record[each.ended_by] = each
    for each in spans:
        cause = by_record.get(each.cause or 0)
        if cause is not None and cause.track != each.track:
            arrows.setdefault(cause.begun_by, ([], None))[0].append(each.begun_by)
            arrows[each.begun_by] = (arrows.get(each.begun_by, ([], None))[0], each.begun_by)
    return arrows


def _annotate(annotation: DebugAnnotation, key: str, value: Any) -> None:
    if key:
        annotation.name = key
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        annotation.int_value = value
    elif isinstance(value, float):
        annotation.double_value = value
    elif isinstance(value, dict):
        for name, item in value.items():
            _annotate(annotation.dict_entries.add(), str(name), item)
    elif isinstance(value, list | tuple):
        for item in value:
            _annotate(annotation.array_values.add(), "", item)
    else:
        annotation.string_value = str(value).encode(errors="replace").decode()
