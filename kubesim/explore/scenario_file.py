"""The file of a finding: the smallest scenario that has the problem, with the faults as ordinary items. Pure.

`kubesim run FILE` reproduces it and exits with 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubesim.explore.removal import text_of
from kubesim.explore.search.finding import Finding
from kubesim.explore.subject import TIMEOUT, survives_faults
from kubesim.golang.text import duration
from kubesim.scenario.language.document import STRICT

_NO_NAME = re.compile(r"[^a-z0-9]+")
WIDTH = 116


def file_name(finding: Finding, number: int) -> str:
    """`1-invariant-init-order.yaml`."""
    return f"{number}-{_NO_NAME.sub('-', finding.problem.rule.lower()).strip('-')}.yaml"


def file_text(finding: Finding, name: str) -> str:
    """The scenario with a comment about the problem and how to reproduce it."""
    subject, documents = finding.run.subject, finding.run.subject.documents()
    scenario, *manifests = documents
    spec = _spec(finding, scenario.get("spec") or {})
    document = {**scenario, "metadata": {"name": name.rpartition(".")[0]}, "spec": spec}
    comment = [
        *_wrapped(f"Found by kubesim explore in {subject.name}: {finding.title}."),
        *_wrapped(f"{finding.problem.rule}: {finding.problem.text}"),
        f"Reproduce it: kubesim run {name}",
    ]
    return "".join(f"# {line}\n" for line in comment) + text_of([document, *manifests])


def _spec(finding: Finding, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of the scenario with the faults of the finding, and with what makes the run independent of flags."""
    run = finding.run
    changed = {key: value for key, value in spec.items() if key not in ("include", "expect")}
    loaded = run.subject.scenario()
    changed["profile"] = loaded.spec.profile
    seed = loaded.spec.seed if run.subject.seed is None else run.subject.seed
    if seed:
        changed["seed"] = seed
    gates = {**loaded.spec.feature_gates, **dict(run.subject.gates)}
    if gates:
        changed["featureGates"] = gates
    name = finding.problem.rule.removeprefix("invariant ")
    if name in STRICT:
        changed["invariants"] = {"added": [name]}
    elif isinstance(given := spec.get("invariants"), dict):
        changed["invariants"] = {key: value for key, value in given.items() if key == "disabled"}
    if "convergence" in run.subject.checked:
        changed["convergesWithin"] = spec.get("convergesWithin") or duration(TIMEOUT)
    faults = [*_listed(spec.get("faults")), *(choice.item for choice in run.choices if not choice.is_draw)]
    if faults:
        changed["faults"] = faults
    chosen = [*_listed(spec.get("choices")), *(choice.item for choice in run.choices if choice.is_draw)]
    if chosen:
        changed["choices"] = chosen
    expected = _expected(finding, spec)
    return {**changed, "expect": expected} if expected else changed


def _expected(finding: Finding, spec: Mapping[str, Any]) -> list[Any]:
    """The expectations as they were evaluated in runs with faults."""
    if finding.problem.rule != "expectation":
        return []
    expects = finding.run.subject.scenario().spec.expect
    items = zip(_listed(spec.get("expect")), expects, strict=True)
    return [{key: value for key, value in item.items() if key != "by"} for item, each in items if survives_faults(each)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(" ".join(text.split()), WIDTH)
