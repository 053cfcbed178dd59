"""Three-way merge of typed objects: applies the differences between two states to a third.

Equivalent to a strategic merge patch, without the conversion to JSON.

Mirrors: client-go's two-way patches as the kubelet sends them (pkg/util/pod PatchPodStatus, nodeutil PatchNodeStatus)
"""

from __future__ import annotations

from typing import Any, TypeVar

from kubesim.api.model import Model
from kubesim.cluster.patches.strategic_merge import in_order

M = TypeVar("M", bound=Model)

# Two addresses of a node may have the same type, so PatchNodeStatus replaces the list. A controller writes claims.
_REPLACED = frozenset({"addresses", "resource_claim_statuses"})


def apply_changes(current: M, old: M, new: M) -> M:
    """`current` with every difference between `old` and `new`. Lists are merged by their declared merge keys."""
    if current is old or current == old:
        return new
    changes: dict[str, Any] = {}
    for name, field in new.declared.items():
        before, after = getattr(old, name), getattr(new, name)
        if after != before:
            key = None if name in _REPLACED else field.merge
            changes[name] = _merged(getattr(current, name), before, after, key) if key else after
    before_extra, after_extra = old.extra, new.extra
    extra = {name: value for name, value in after_extra.items() if before_extra.get(name) != value}
    merged = current.changed(**changes)
    return merged.with_extra(current.extra | extra) if extra else merged


def _merged(
    current: tuple[Model, ...], old: tuple[Model, ...], new: tuple[Model, ...], key: str
) -> tuple[Model, ...]:  # fmt: skip
    """Merge elements by key; elements added by other writers keep their position."""
    before, after = _by_key(old, key), _by_key(new, key)
    merged = []
    for item in current:
        name = getattr(item, key)
        if name in after:
            known = before.get(name)
            merged.append(after[name] if known is None else apply_changes(item, known, after[name]))
        elif name not in before:
            merged.append(item)
    present = {getattr(item, key) for item in current}
    merged += [item for item in new if getattr(item, key) not in present]
    on_server = [getattr(item, key) for item in current]
    return tuple(in_order(merged, list(after), on_server, lambda item: getattr(item, key)))


def _by_key(items: tuple[Model, ...], key: str) -> dict[Any, Model]:
    return {getattr(item, key): item for item in items}
