"""The output of `kubesim diff`: the first difference, the rule behind it, and a table of pods; or JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from kubesim.cli.diff_runs import Played, RuleFinding, RunDifference
from kubesim.features.comparing import DifferingValue
from kubesim.trace import Record
from kubesim.trace.compare.comparison import PodPair
from kubesim.trace.compare.first import FirstDifference, causes, differing_fields
from kubesim.trace.compare.lives import PodLife
from kubesim.trace.stepping.stepper import record_text

WIDTH = 110
MOST_FIELDS = 6  # maximum length of a record's text
MOST_VALUES = 12  # gates and rules listed if no single one explains the difference
_COLUMNS = ("POD", "PHASE", "RESTARTS", "READY", "ENDED", "GONE", "EVENTS")


def page(difference: RunDifference) -> Iterator[str]:
    comparison = difference.comparison
    for label, played in zip(_labels(difference), (difference.left, difference.right), strict=True):
        yield f"{label}  {_described(played)}"
    first = comparison.first
    if first is None:
        pods = len(comparison.pods)
        what = "every record is the same" if comparison.is_exact else "the same happens to each pod, at other times"
        yield f"No difference: {what} ({pods} pod{'' if pods == 1 else 's'})"
        return
    yield from ("", *_first(difference, first))
    if difference.finding is not None:
        yield from ("", *_rules(difference, difference.finding))
    if difference.further:
        yield from ("", *_further(difference))
    yield from ("", *_consequences(difference))


def _labels(difference: RunDifference) -> tuple[str, str]:
    sides = [difference.left.side.label, difference.right.side.label]
    width = max(map(len, sides))
    return sides[0].ljust(width), sides[1].ljust(width)


def _described(played: Played) -> str:
    length = _seconds(played.records[-1].t) if played.records else "0s"
    record_text = f"{len(played.records)} records in {length}"
    if played.scenario is None:
        return f"saved trace: {record_text}"
    return f"{played.scenario.name}, kubelet {played.scenario.spec.profile}, seed {played.seed}: {record_text}"


def _seconds(t: int | None) -> str:
    return "-" if t is None else f"{t / 1_000_000:.3f}s"


# -- the first difference ---------------------------------------------------------------------------------------


def _first(difference: RunDifference, first: FirstDifference) -> Iterator[str]:
    pod = f", pod {first.pod.removeprefix('default/')}" if first.pod else ""
    yield f"First difference: at {_seconds(first.moment[0])}{pod}"
    sides = ((difference.left, first.left, first.is_extra[1]), (difference.right, first.right, first.is_extra[0]))
    chains = [causes(played.records, record) if record is not None else [] for played, record, _ in sides]
    is_shared = chains[0] == chains[1]
    for label, (_, record, lacks), chain in zip(_labels(difference), sides, chains, strict=True):
        yield from _side(label, record, [] if is_shared else chain, lacks=lacks)
    if is_shared and chains[0]:
        yield from _chain("  both  ", chains[0])
    fields = differing_fields(first.left, first.right) if not any(first.is_extra) else []
    for name, left, right in fields[:MOST_FIELDS]:
        yield from _wrapped(f"{_value(left)} → {_value(right)}", f"  differs  {name}: ")


def _side(label: str, record: Record | None, chain: Sequence[Record], *, lacks: bool) -> Iterator[str]:
    """One side of a difference. `lacks`: only the other side has a record here."""
    if record is None:
        yield f"  {label}  no further record"
        return
    if lacks:
        yield f"  {label}  has no such record; its next one is"
        label = " " * len(label)
    yield from _wrapped(_line(record), f"  {label}  ")
    indent = " " * (len(label) + 4)
    if record.why:
        yield from _wrapped(record.why, f"{indent}because  ")
    if record.ref:
        yield f"{indent}as in    {record.ref}"
    yield from _chain(indent, chain)


def _chain(label: str, chain: Sequence[Record]) -> Iterator[str]:
    """The causes of a record, nearest first."""
    for cause in chain:
        yield from _wrapped(_line(cause), f"{label}from     ")
        label = " " * len(label)


def _line(record: Record) -> str:
    return f"{_seconds(record.t)}  #{record.seq}  {record_text(record)}"


def _wrapped(text: str, label: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent=label, subsequent_indent=" " * min(len(label), 24)
    ) or [label]


def _value(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# -- the rule ---------------------------------------------------------------------------------------------------


def _rules(difference: RunDifference, finding: RuleFinding) -> Iterator[str]:
    sides = _versions(difference)
    if finding.rules:
        yield "The rule that differs" if len(finding.rules) == 1 else "The rules that differ, taken together"
        for value in finding.rules:
            yield from _rule(value, *sides)
        those = "this one value" if len(finding.rules) == 1 else "these values"
        yield f"  verified: {sides[0]} with {those} of {sides[1]} behaves like {sides[1]} here"
        return
    yield f"No single rule explains it. Values that differ between {sides[0]} and {sides[1]}:"
    for value in finding.differing[:MOST_VALUES]:
        yield from _rule(value, *sides)
    if len(finding.differing) > MOST_VALUES:
        yield f"  and {len(finding.differing) - MOST_VALUES} more (-o json lists them)"


def _further(difference: RunDifference) -> Iterator[str]:
    """The causes of later differences, in order of appearance."""
    yield "Further differences, each with the values above it made equal"
    for first, finding in difference.further:
        pod = f", pod {first.pod.removeprefix('default/')}" if first.pod else ""
        record = first.right or first.left
        assert record is not None
        yield from _wrapped(f"{record_text(record)}", f"  at {_seconds(first.moment[0])}{pod}: ")
        if not finding.rules:
            yield "    no single rule explains it"
        for value in finding.rules:
            yield from (f"  {line}" for line in _rule(value, *_versions(difference)))


def _versions(difference: RunDifference) -> tuple[str, str]:
    """The labels of the two sides: versions, or the flags that differ."""
    profiles = [played.scenario.spec.profile for played in _played(difference) if played.scenario is not None]
    if len({*profiles}) == 2:
        return profiles[0], profiles[1]
    return difference.left.side.label, difference.right.side.label


def _played(difference: RunDifference) -> tuple[Played, Played]:
    return difference.left, difference.right


def _rule(value: DifferingValue, left: str, right: str) -> Iterator[str]:
    yield f"  {value.kind} {value.name}: {_setting(value.left)} in {left}, {_setting(value.right)} in {right}"
    if value.what:
        yield from _wrapped(value.what, "    ")
        yield f"    upstream: {value.upstream}; scenario: {value.scenario}"


def _setting(value: Any) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else _value(value)


# -- what follows -----------------------------------------------------------------------------------------------


def _consequences(difference: RunDifference) -> Iterator[str]:
    comparison = difference.comparison
    changed, pods = comparison.changed_pods, len(comparison.pods)
    left, right = (label.strip() for label in _labels(difference))
    same = pods - len(changed)
    only_times = sum(not pair.differs(with_times=False) for pair in changed)
    less = f", {only_times} of them only in times" if only_times else ""
    yield f"Consequences: {len(changed)} of {pods} pods differ{less} ({left} → {right})"
    if changed:
        yield from _table([_COLUMNS, *(_row(pair) for pair in changed)])
    if changed and same:
        yield f"  {same} other pod{'' if same == 1 else 's'}: no difference"
    restarts = comparison.restarts()
    if restarts[0] != restarts[1]:
        yield f"  total restarts: {restarts[0]} → {restarts[1]}"
    events = [f"{reason} {ours} → {theirs}" for reason, (ours, theirs) in comparison.events().items()]
    if events:
        yield from _wrapped(", ".join(events), "  Events: ")


def _row(pair: PodPair) -> tuple[str, ...]:
    cells = [_cells(life) for life in (pair.left, pair.right)]
    return pair.name.removeprefix("default/"), *map(_arrow, *cells)


def _cells(life: PodLife | None) -> tuple[str, ...]:
    if life is None:
        return ("not there", *[""] * (len(_COLUMNS) - 2))
    times = (_seconds(t) for t in (life.ready, life.ended, life.gone))
    return (life.phase or "-", str(life.restart_count), *times, str(life.events.total()))


def _arrow(left: str, right: str) -> str:
    return left if left == right else f"{left or '-'} → {right or '-'}"


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


# -- for machines -----------------------------------------------------------------------------------------------


def as_json(differences: Sequence[RunDifference]) -> dict[str, Any]:
    return {
        "same": all(each.comparison.is_same for each in differences),
        "comparisons": [_comparison_json(each) for each in differences],
    }


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _comparison_json(difference: RunDifference) -> dict[str, Any]:
    comparison, first, finding = difference.comparison, difference.comparison.first, difference.finding
    out: dict[str, Any] = {
        "file": difference.name,
        "same": comparison.is_same,
        "timesCompared": comparison.is_exact,
        "sides": [_side_json(played) for played in _played(difference)],
    }
    if first is None:
        return out
    fields = differing_fields(first.left, first.right)
    out["firstDifference"] = {
        "t": first.moment[0] / 1_000_000,
        "pod": first.pod,
        "left": _record_json(difference.left, first.left, first.is_extra[0]),
        "right": _record_json(difference.right, first.right, first.is_extra[1]),
        "fields": [{"field": name, "left": left, "right": right} for name, left, right in fields],
    }
    if finding is not None:
        out["rules"] = [value._asdict() for value in finding.rules]
        out["differingValues"] = [value._asdict() for value in finding.differing]
    if difference.further:
        out["further"] = [
            {"t": each.moment[0] / 1_000_000, "pod": each.pod, "rules": [value._asdict() for value in found.rules]}
            for each, found in difference.further
        ]
    changed = {pair.name for pair in comparison.changed_pods}
    out["restarts"] = list(comparison.restarts())
    out["events"] = {reason: list(counts) for reason, counts in comparison.events().items()}
    out["pods"] = [
        {
            "pod": pair.name,
            "same": pair.name not in changed,
            "left": _life_json(pair.left),
            "right": _life_json(pair.right),
        }
        for pair in comparison.pods
    ]
    return out


def _side_json(played: Played) -> dict[str, Any]:
    profile = None if played.scenario is None else played.scenario.spec.profile
    return {"label": played.side.label, "profile": profile, "seed": played.seed, "records": len(played.records)}


def _record_json(played: Played, record: Record | None, is_extra: bool) -> dict[str, Any] | None:
    if record is None:
        return None
    chain = [cause.to_json() for cause in causes(played.records, record)]
    return {"onlyHere": is_extra, "record": record.to_json(), "causes": chain}


def _life_json(life: PodLife | None) -> dict[str, Any] | None:
    if life is None:
        return None
    times = {"readyAt": life.ready, "endedAt": life.ended, "goneAt": life.gone}
    return {
        "phase": life.phase,
        "restarts": life.restarts,
        **{name: None if t is None else t / 1_000_000 for name, t in times.items()},
        "events": dict(life.events),
    }
