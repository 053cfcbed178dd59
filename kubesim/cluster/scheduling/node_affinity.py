"""Whether a node matches a pod's node selector and required node affinity.

Selector terms are alternatives. An invalid or empty term matches nothing.

Mirrors: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go GetRequiredNodeAffinity, Match;
apimachinery/pkg/labels/selector.go NewRequirement, Matches
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.api.names import is_label_value, is_qualified_name
from kubesim.api.pod import Pod

_INTEGER = re.compile(r"[+-]?[0-9]+")


def matches_node_affinity(pod: Pod, node_name: str, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return False
    affinity = (pod.spec.affinity or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return matches_node_selector(required, node_name, labels)


def matches_node_selector(selector: Mapping[str, Any], node_name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node matches. Without the node's name, only labels are compared."""
    return any(_matches_term(term or {}, node_name, labels) for term in selector.get("nodeSelectorTerms") or ())


def matches_preferred_term(term: Mapping[str, Any], node_name: str, labels: Mapping[str, str]) -> bool:
    """Whether a node matches a preference; an empty preference matches none."""
    return _matches_term(term, node_name, labels)


def _matches_term(term: Mapping[str, Any], node_name: str, labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    # An error anywhere in the term invalidates it, even if the other part fails to match.
    if not all(map(_is_valid_expression, expressions)) or not all(map(_is_valid_field, fields)):
        return False
    return all(_matches_expression(each, labels) for each in expressions) and (
        not node_name or all(_matches_field(each, node_name) for each in fields)
    )


def _is_valid_expression(expression: Mapping[str, Any]) -> bool:
    operator, values = expression.get("operator"), _values(expression)
    if operator in ("In", "NotIn"):
        counted = len(values) > 0
    elif operator in ("Exists", "DoesNotExist"):
        counted = len(values) == 0
    else:
        counted = operator in ("Gt", "Lt") and len(values) == 1 and parse_int64(values[0]) is not None
    return counted and is_qualified_name(expression.get("key", "")) and all(map(is_label_value, values))


def _is_valid_field(field: Mapping[str, Any]) -> bool:
    return field.get("operator") in ("In", "NotIn") and len(_values(field)) == 1


def _matches_expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    operator, values = expression["operator"], _values(expression)
    label = labels.get(expression["key"])
    if operator == "NotIn":
        return label is None or label not in values
    if operator == "DoesNotExist":
        return label is None
    if label is None:
        return False
    if operator == "In":
        return label in values
    if operator == "Exists":
        return True
    have, bound = parse_int64(label), parse_int64(values[0])
    if have is None or bound is None:
        return False
    return have > bound if operator == "Gt" else have < bound


def _matches_field(field: Mapping[str, Any], node_name: str) -> bool:
    value = node_name if field.get("key") == "metadata.name" else ""
    found = value == _values(field)[0]
    return found if field["operator"] == "In" else not found


def _values(requirement: Mapping[str, Any]) -> Sequence[str]:
    return requirement.get("values") or ()


def parse_int64(text: str) -> int | None:
    """A decimal number in the syntax of Go's ParseInt, or None."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
