"""The closed list of decision rules, and which of them runs have reached.

A rule is a reason that the code of a decision can give. The list is read from the sources of these modules: their
sentences in lower case, and for statuses their reasons in CamelCase. What is raised as an error is no reason.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from kubesim.explore.coverage import general
from kubesim.features.table import TABLE
from kubesim.values import value_object

_DECIDE = "kubesim.runtime.kuberuntime.decide"
_STATUS = "kubesim.kubelet.status"
MODULES: Final[dict[str, tuple[str, ...]]] = {
    "compute_pod_actions": tuple(
        f"{_DECIDE}.{name}" for name in ("actions", "init_actions", "resize_actions", "restart_policy")
    ),
    "workers": tuple(f"kubesim.podworkers.{name}" for name in ("state", "requeue", "undelivered", "workers")),
    "status": (
        f"{_STATUS}.manager",
        *(f"{_STATUS}.generate.{name}" for name in ("reasons", "conditions", "api_pod_status")),
        *(f"{_STATUS}.containers.{name}" for name in ("container_statuses",)),
    ),
    "volumes": ("kubesim.kubelet.volumes.reconcile.reconciler",),
}
_SENTENCE = re.compile(r"[a-z…][^\n]* [^\n]* [^\n]*")
_REASON = re.compile(r"(?:[A-Z][a-z]+){2,}")
_GAP = "…"
_WITH_REASONS = ("status", "volumes")
# Texts of these modules that are not reasons: messages for the kubelet's log, and names of tasks.
_OTHERS = frozenset(
    (
        "no pod sandbox exists",
        "multiple pod sandboxes are ready and need to be reconciled",
        "pod sandbox is not ready",
        "network namespace mode changed and sandbox needs to be recreated",
        "pod sandbox has no IP address",
        "error determining status: …",
        "the sync of pod … crashed",
        "mount of …/…",
        "volume … …",
        "PodReadyToStartContainersCondition",
    )
)


@value_object
class DecisionCoverage:
    """The rules of one group: how many there are, and those that were never reached."""

    group: str
    count: int
    never: tuple[str, ...]


@cache
def rules_of(group: str) -> tuple[str, ...]:
    """The rules of a group, with `…` for what differs from run to run."""
    found = (rule for module in MODULES[group] for rule in _rules_in(_source(module), reasons=group in _WITH_REASONS))
    return tuple(dict.fromkeys(found))


def coverage_of(reached: Iterable[str]) -> list[DecisionCoverage]:
    """The coverage by runs with these rules (`KIND: REASON`)."""
    texts = "\n".join(sorted(reached))
    return [
        DecisionCoverage(group, len(rules), tuple(rule for rule in rules if not _pattern(rule).search(texts)))
        for group, rules in ((group, rules_of(group)) for group in MODULES)
    ]


@cache
def _pattern(rule: str) -> re.Pattern[str]:
    parts = (re.escape(general(part)).replace(r"\#", ".+").replace("#", ".+") for part in rule.split(_GAP))
    return re.compile(".*".join(parts))


def _source(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None, f"no module {module}"
    return Path(spec.origin or "").read_text(encoding="utf-8")


def _rules_in(source: str, *, reasons: bool) -> Iterator[str]:
    for node in _reasons(ast.parse(source)):
        for text in _text(node).split("; "):
            if text not in _OTHERS and text not in TABLE:  # the names of feature gates
                if _SENTENCE.fullmatch(text) or (reasons and _REASON.fullmatch(text)):
                    yield text


def _reasons(node: ast.AST) -> Iterator[ast.AST]:
    """All texts but docstrings and errors."""
    if isinstance(node, ast.Raise | ast.Assert | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.JoinedStr | ast.Constant):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _reasons(child)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return "".join(str(part.value) if isinstance(part, ast.Constant) else _GAP for part in parts)
