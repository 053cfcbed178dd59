"""Merges the results of all shards of a search; they equal those of one run. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kubesim.explore.search.exploration import ExploreResult, summed
from kubesim.explore.search.finding import merged
from kubesim.values import replace


def merge(shards: Sequence[ExploreResult]) -> ExploreResult:
    """Shards of one search, each once. Runs of different shards count as simultaneous."""
    first = shards[0]
    settings = replace(first.settings, shard=(0, 1))
    result = ExploreResult(first.subject, settings, first.reference, singles=first.singles)
    of_reference = {problem.identity for problem in first.reference.problems}  # every shard has run it
    found = merged(finding for shard in shards for finding in shard.findings)
    result.findings = [replace(each, count=1) if each.identity in of_reference else each for each in found]
    rules: Counter[str] = Counter()
    for shard in shards:
        rules.update(shard.rules)
    result.rules = {rule: rules[rule] for rule in sorted(rules)}
    result.growth = summed([shard.growth for shard in shards])
    result.runs = sum(shard.runs for shard in shards)
    result.shrinking = sum(shard.shrinking for shard in shards)
    result.played_twice = sum(shard.played_twice for shard in shards)
    result.lost = sum(shard.lost for shard in shards)
    result.seconds = max(shard.seconds for shard in shards)
    result.jobs = sum(shard.jobs for shard in shards)
    result.interrupted = any(shard.interrupted for shard in shards)
    return result
