"""`Finding`: a problem with the choices that cause it, and how often it was met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubesim.explore.choice import Choice
from kubesim.explore.run import Problem, Run
from kubesim.values import replace, value_object

Identity = tuple[str, str]  # the rule of a problem, and its key


@value_object
class Finding:
    """`run` is the smallest one that was found so far; `count` is the number of runs that had the problem."""

    problem: Problem
    run: Run
    count: int = 1

    @property
    def identity(self) -> Identity:
        return self.problem.identity

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.run.choices

    @property
    def title(self) -> str:
        """`invariant init-order: reboot after CreateContainer of web:main`."""
        faults = " and ".join(choice.text for choice in self.choices) or "without any fault"
        return f"{self.problem.rule}: {faults}"

    def to_json(self) -> dict[str, Any]:
        problem = self.problem
        return {
            "rule": problem.rule,
            "key": problem.key,
            "text": problem.text,
            "pod": problem.pod,
            "at": None if problem.at is None else problem.at / 1_000_000,
            "story": list(problem.story),
            "choices": [choice.item for choice in self.choices],
            "faults": [choice.text for choice in self.choices],
            "count": self.count,
        }


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each problem, the smallest one, in a fixed order; `count` adds up."""
    found: dict[Identity, Finding] = {}
    for each in findings:
        other = found.get(each.identity)
        if other is None:
            found[each.identity] = each
        else:
            smaller = min(other, each, key=_size)
            found[each.identity] = replace(smaller, count=other.count + each.count)
    return sorted(found.values(), key=lambda each: (_size(each), each.identity))


def _size(finding: Finding) -> tuple[int, int, str]:
    run = finding.run
    return len(run.choices), len(run.subject.text), finding.title
