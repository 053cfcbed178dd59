"""A structured log line before formatting: the call site, verbosity, message and key/value pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.values import value_object


class Ref(str):
    """The name of an object, `namespace/name`, as klog.KObj and klog.KRef print it."""

    __slots__ = ()


@value_object
class KlogLine:
    """One call of logr: `Info` with a verbosity, or `Error`, which is logged at every verbosity."""

    caller: str  # directory, file and line, in zap's format: `kubelet/kubelet.go:2709`
    v: int
    message: str
    pairs: Mapping[str, Any]
    is_error: bool = False


def info(caller: str, v: int, message: str, /, **pairs: Any) -> KlogLine:
    return KlogLine(caller, v, message, pairs)


def error(caller: str, problem: str, message: str, /, **pairs: Any) -> KlogLine:
    """`logger.Error(err, message, ...)`; an empty problem is Go's nil."""
    return KlogLine(caller, 0, message, {"err": problem, **pairs} if problem else pairs, is_error=True)
