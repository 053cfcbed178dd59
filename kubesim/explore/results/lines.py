"""The result of a search as lines of JSON. Pure.

Each line is an object with a `kind`, the id of the search and the shard, so lines of many shards can be in one file in
any order, such as the collected logs of the pods of a Job. The line `end` is the last one of a shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import field, fields
from hashlib import sha256
from typing import Any

from kubesim import __version__
from kubesim.executors.shard import Shard
from kubesim.explore.choice import Choice
from kubesim.explore.run import Problem, Run, RunOutcome
from kubesim.explore.search.exploration import Budget, ExploreResult, Settings
from kubesim.explore.search.finding import Finding
from kubesim.explore.subject import ExploreSubject
from kubesim.values import mutable, replace

Line = dict[str, Any]
_COUNTS = ("runs", "shrinking", "played_twice", "singles", "lost", "seconds", "jobs", "interrupted")


@mutable(eq=False)
class ReadResults:
    """Complete results by search and shard; incomplete shards; lines that are not results."""

    complete: dict[tuple[str, Shard], ExploreResult] = field(default_factory=dict)
    incomplete: set[tuple[str, Shard]] = field(default_factory=set)
    other_lines: int = 0


def lines_of(result: ExploreResult) -> Iterator[str]:
    """The lines of one shard."""
    shard = Shard(result.settings.shard[0] + 1, result.settings.shard[1])
    about = {"search": search_id(result), "shard": shard.label}
    for kind, line in _lines(result):
        yield json.dumps({"kind": kind, **about, **line})


def search_id(result: ExploreResult) -> str:
    """The same for all shards of a search, and for no other search."""
    settings = replace(result.settings, shard=(0, 1))
    identity = json.dumps([__version__, _plain(result.subject), _plain(settings)])
    return sha256(identity.encode()).hexdigest()[:12]


def _lines(result: ExploreResult) -> Iterator[tuple[str, Line]]:
    reference = result.reference
    yield (
        "search",
        {
            "version": __version__,
            "scenario": _plain(result.subject),
            "settings": _plain(result.settings),
            "reference": {
                "traceHash": reference.trace_hash,
                "duration": reference.duration,
                "rules": sorted(reference.rules),
                "problems": [_plain(problem) for problem in reference.problems],
            },
        },
    )
    for finding in result.findings:
        subject = finding.run.subject
        yield (
            "finding",
            {
                **_plain(finding.problem),
                "faults": [choice.text for choice in finding.choices],  # for people
                "choices": [choice.to_json() for choice in finding.choices],
                "count": finding.count,
                **({} if subject.text == result.subject.text else {"scenarioText": subject.text}),
            },
        )
    yield "rules", {"rules": result.rules}
    yield "end", {**{name: getattr(result, name) for name in _COUNTS}, "growth": result.growth}


def _plain(value: Any) -> Any:
    """A value object as JSON."""
    if hasattr(type(value), "__dataclass_fields__"):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value


def read_lines(texts: Iterable[str], found: ReadResults) -> None:
    """Add the results in these lines. A shard with two results, as of a restarted pod, counts
    once: the first one that was not interrupted."""
    shards: dict[tuple[str, Shard], list[Line]] = {}
    for text in texts:
        line = _line(text)
        if line is None:
            found.other_lines += bool(text.strip())
            continue
        number, _, count = line["shard"].partition("/")
        key = (line["search"], Shard(int(number), int(count)))
        if line["kind"] == "search":
            found.incomplete.add(key)
            shards[key] = []
        shards.setdefault(key, []).append(line)
        if line["kind"] == "end" and shards[key][0]["kind"] == "search":
            result, before = _result(shards.pop(key)), found.complete.get(key)
            if before is None or before.interrupted:
                found.complete[key] = result
    found.incomplete -= set(found.complete)


def _line(text: str) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and {"kind", "search", "shard"} <= set(line) else None


def _result(lines: list[Line]) -> ExploreResult:
    first, *others = lines
    subject, settings = _subject(first["scenario"]), _settings(first["settings"])
    reference = first["reference"]
    problems = tuple(_problem(each) for each in reference["problems"])
    outcome = RunOutcome(reference["traceHash"], reference["duration"], frozenset(reference["rules"]), problems)
    result = ExploreResult(subject, settings, outcome)
    for line in others:
        if line["kind"] == "finding":
            choices = tuple(map(Choice.from_json, line["choices"]))
            run = Run(replace(subject, text=line.get("scenarioText", subject.text)), choices)
            result.findings.append(Finding(_problem(line), run, line["count"]))
        elif line["kind"] == "rules":
            result.rules = line["rules"]
        elif line["kind"] == "end":
            for name in _COUNTS:
                setattr(result, name, line[name])
            result.growth = [(runs, rules) for runs, rules in line["growth"]]
    return result


def _subject(line: Line) -> ExploreSubject:
    gates = tuple((name, value) for name, value in line["gates"])
    return ExploreSubject(**{**line, "gates": gates, "checked": tuple(line["checked"])})


def _settings(line: Line) -> Settings:
    index, count = line["shard"]
    budget = Budget(**line["budget"])
    return Settings(**{**line, "effects": tuple(line["effects"]), "budget": budget, "shard": (index, count)})


def _problem(line: Line) -> Problem:
    values = {each.name: line[each.name] for each in fields(Problem)}
    return Problem(**{**values, "story": tuple(line["story"])})
