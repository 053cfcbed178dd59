"""Structured mutations: change a tree of JSON-like values in a few positions, mostly keeping it well-formed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

Tree = Any
Position = tuple[Any, Any]  # a dict or list, and the key in it

DEEP = 300
LONG = 5000
_STRINGS = (
    "", " ", "a", "-", ".", "..", "/", "../../../x", "~", "0", "-1", "1.5", "1e9", "0x10", "007", "true", "null", "yes",
    "1s", "-1s", "0s", "1ns", "2562047h47m16s", "99999999999h", "1h1", "1Gi", "-5Gi", "9E", "1e400", "0.1m", "100%",
    "-1%", "1000000%",
    "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2026-13-01T00:00:00Z", "2026-02-30",
    "$(A)", "$(B)$(C)", "$((", "${A", "%s%n", "{{.}}", "*", "?", "[", "(((", "a\nb", "a\tb", "a\0b",
    "\x1b[31mred\x1b[0m", "\x9b2J",
    "\u202eback", "\ud800", "\ufeff", "é", "日本", "🙂", "A" * 64, "a" * 254, "x" * LONG, "a/b/c", "a:b:c", "a=b,c=d",
    "10.0.0.0/8", "::1", "fe80::1%eth0", "300.1.1.1", "http://[::1", "http://127.0.0.1:99999/", "unix:///x", "sha256:0",
)  # fmt: skip
_NUMBERS = (
    0, 1, -1, 2, 7, 100, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30,
    0.0, -0.0, 0.5, 1.5, -1.5, 1e9, 1e19, 1e300, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
_OTHERS: tuple[Tree, ...] = (
    None,
    True,
    False,
    [],
    {},
    [None],
    [[]],
    [{}],
    {"": None},
    {"a": {}},
    {"name": "a"},
    ["a", "a"],
)
# Counts: a million objects has no time limit, and is not a finding.
COUNTS = frozenset({"replicas", "parallelism", "completions", "count", "cpus", "numaNodes", "devices", "backoffLimit"})
MOST = 20
# Programs of simulated containers are rarely mutated, as other tests check their limits.
PROGRAMS = frozenset({"command", "args"})


class Mutator:
    """Mutates copies of a family's valid inputs; `pool` has the values of every key in them."""

    def __init__(self, good: Sequence[Tree]) -> None:
        self.good = good
        self.pool: dict[str, list[Tree]] = {}
        for tree in good:
            for owner, key in _places(tree):
                if isinstance(owner, dict) and isinstance(key, str):
                    self.pool.setdefault(key, []).append(owner[key])
        self._keys = sorted(self.pool)

    def mutated(self, rng: Random) -> Tree:
        return self.change(rng.choice(self.good), rng)

    def change(self, tree: Tree, rng: Random) -> Tree:
        """A copy with one to four mutations."""
        box = [copy.deepcopy(tree)]
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
            owner, key = self._position(box, rng)
            rng.choice(_KINDS)(self, owner, key, rng)
            if not box:
                box.append(None)
        _bound(box)
        return box[0]

    def _position(self, box: list[Tree], rng: Random) -> Position:
        """A random position; rarely one in a program. The root is one of the positions."""
        places = list(_places(box))
        for _ in range(20):
            owner, key = rng.choice(places)
            if not _is_program(owner, key) or rng.random() < 0.02:
                return owner, key
        return box, 0

    # -- the kinds of mutations ---------------------------------------------------------------------------------

    def _replace(self, owner: Any, key: Any, rng: Random) -> None:
        owner[key] = any_value(rng)

    def _replace_alike(self, owner: Any, key: Any, rng: Random) -> None:
        """Replace by a value of the same type."""
        value = owner[key]
        if isinstance(value, bool):
            owner[key] = not value
        elif isinstance(value, int | float):
            owner[key] = rng.choice((*_NUMBERS, value + 1, value - 1, value * 1000, -value))
        elif isinstance(value, str):
            owner[key] = _other_text(value, rng)
        else:
            owner[key] = copy.deepcopy(rng.choice(_OTHERS))

    def _splice(self, owner: Any, key: Any, rng: Random) -> None:
        """Replace by another value of the same key, or add a key with its value."""
        value = owner[key]
        if isinstance(value, dict) and (rng.random() < 0.5 or key not in self.pool) and self._keys:
            name = rng.choice(self._keys)
            value[name] = copy.deepcopy(rng.choice(self.pool[name]))
        elif isinstance(owner, dict) and key in self.pool:
            owner[key] = copy.deepcopy(rng.choice(self.pool[key]))

    def _delete(self, owner: Any, key: Any, rng: Random) -> None:
        del owner[key]

    def _repeat(self, owner: Any, key: Any, rng: Random) -> None:
        """Duplicate items, so that unique names are not unique."""
        value = owner[key]
        if isinstance(value, list) and value:
            value.extend([copy.deepcopy(item) for _ in range(rng.choice((1, 1, 2, 5))) for item in value])
        elif isinstance(owner, list):
            owner.insert(rng.randrange(len(owner) + 1), copy.deepcopy(value))

    def _rename(self, owner: Any, key: Any, rng: Random) -> None:
        if isinstance(owner, dict):
            new = rng.choice(
                (*self._keys[:1], f"{key}x", str(key)[:-1], str(key).upper(), *_STRINGS, rng.choice(self._keys or [""]))
            )
            owner[new] = owner.pop(key)

    def _wrap(self, owner: Any, key: Any, rng: Random) -> None:
        value = owner[key]
        if isinstance(value, list | dict) and value and rng.random() < 0.5:
            owner[key] = next(iter(value.values() if isinstance(value, dict) else value))
        else:
            owner[key] = [value] if rng.random() < 0.5 else {"a": value}

    def _deepen(self, owner: Any, key: Any, rng: Random) -> None:
        owner[key] = nested(rng.choice((30, DEEP)), rng.random() < 0.5)


_KINDS: tuple[Callable[[Mutator, Any, Any, Random], None], ...] = (
    *[Mutator._replace] * 3, *[Mutator._replace_alike] * 6, *[Mutator._splice] * 6, *[Mutator._delete] * 3,
    *[Mutator._repeat] * 2, *[Mutator._rename] * 2, Mutator._wrap, Mutator._deepen,
)  # fmt: skip


def any_value(rng: Random) -> Tree:
    return copy.deepcopy(rng.choice(rng.choice((_STRINGS, _NUMBERS, _OTHERS))))


def any_text(rng: Random) -> str:
    return rng.choice(_STRINGS)


def nested(depth: int, in_lists: bool) -> Tree:
    value: Tree = "leaf"
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


def _other_text(value: str, rng: Random) -> str:
    at = rng.randrange(len(value) + 1)
    changed = (
        value[:at],
        value[at:],
        value[:at] + rng.choice(_STRINGS) + value[at:],
        value.swapcase(),
        value * 2,
        value + " ",
    )
    return rng.choice((*changed, any_text(rng), any_text(rng), any_text(rng)))


def _places(tree: Tree) -> Iterator[Position]:
    """Every position in dicts and lists."""
    todo = [tree]
    while todo:
        owner = todo.pop()
        keys = list(owner) if isinstance(owner, dict) else range(len(owner)) if isinstance(owner, list) else ()
        for key in keys:
            yield owner, key
            if isinstance(owner[key], dict | list):
                todo.append(owner[key])


def _is_program(owner: Any, key: Any) -> bool:
    return (
        key in PROGRAMS
        if isinstance(owner, dict) and isinstance(key, str)
        else isinstance(owner, list) and owner[:1] == ["sh"]
    )


def _bound(box: list[Tree]) -> None:
    for owner, key in list(_places(box)):
        if isinstance(owner, dict) and key in COUNTS and isinstance(owner[key], int | float) and owner[key] > MOST:
            owner[key] = MOST
        if isinstance(owner, dict) and key == "matrix" and isinstance(owner[key], dict):
            _bound_matrix(owner[key])


def _bound_matrix(matrix: dict[Any, Tree]) -> None:
    """Limit a matrix to a few runs per file; other tests check large ones."""
    if isinstance(matrix.get("seeds"), str) and ".." in matrix["seeds"]:
        matrix["seeds"] = "0..1"
    values = matrix.get("values")
    for listed in (matrix, values if isinstance(values, dict) else {}):
        for key, value in listed.items():
            if isinstance(value, list):
                listed[key] = value[:2]
