"""Compares the calls of two kubelets to their runtimes, pod by pod. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from kubesim.runtime.cri.record.calls_of_pods import Ask
from kubesim.values import value_object

_NOTHING = "no call"


@value_object
class CallDifference:
    """The first difference of a pod: the number of the call, from 1, and what each side asked."""

    pod: str
    number: int
    left: str
    right: str
    fields: tuple[str, ...] = ()  # of the requests: `path: left | right`


def compare_calls(
    left: Mapping[str, Sequence[Ask]], right: Mapping[str, Sequence[Ask]], *, requests: bool = False
) -> list[CallDifference]:
    """The first difference of each pod that has one; with `requests`, also between the messages."""
    found = []
    for pod in dict.fromkeys((*left, *right)):
        difference = _first(pod, left.get(pod, ()), right.get(pod, ()), requests)
        if difference is not None:
            found.append(difference)
    return found


def _first(pod: str, left: Sequence[Ask], right: Sequence[Ask], requests: bool) -> CallDifference | None:
    for number, (one, other) in enumerate(zip_longest(left, right), 1):
        texts = [_NOTHING if ask is None else ask.text for ask in (one, other)]
        if texts[0] != texts[1]:
            return CallDifference(pod, number, texts[0], texts[1])
        if requests and one is not None and other is not None and one.request != other.request:
            fields = tuple(_differing(one.request, other.request, ""))
            return CallDifference(pod, number, texts[0], texts[1], fields)
    return None


def _differing(left: Any, right: Any, path: str) -> Iterator[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys((*left, *right)):
            yield from _differing(left.get(key), right.get(key), f"{path}.{key}" if path else key)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for number, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _differing(one, other, f"{path}[{number}]")
    elif left != right:
        yield f"{path}: {left!r} | {right!r}"
