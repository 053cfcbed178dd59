"""Serializes a tree to the bytes of a file, sometimes damaged: truncated, with invalid bytes, or with unusual YAML."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

import yaml

SELDOM = 0.08
_BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    b"\t",
    b"\r",
    b"\n---\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b'"',
    b"&a ",
    b"*a",
    b"!!x ",
    b"#",
)
_BOMB = b"a: &a [x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (n, n, *[n - 1] * 8) for n in range(ord("b"), ord("j"))
)
_TRICKS = (
    b"&a [*a]\n", b"a: &a {b: *a}\n", b"!!python/object/apply:os.system ['false']\n", b"? {a: b}\n: c\n", b"<<: 1\n",
    b"<<: [{a: b}]\n",
    b"- a\n- b\n", b"a: 2026-01-01\n", b"1: 2\n", b"a: 1\na: 2\n", b"a: !!binary AAAA\n", b"a: !!set {b}\n",
    b"--- |\n text\n", b"%YAML 9.9\n---\na: b\n",
    b"a: 0b11\nb: 0o17\nc: 1_000\nd: 1:30\n", b"", b"\n", b"---\n---\n", b"null\n", b"[" * 5000, b'{"a":' * 5000,
    b"a:\n" + b" - " * 2000 + b"x\n", _BOMB,
)  # fmt: skip


def yaml_bytes(documents: Sequence[Any], rng: Random) -> bytes:
    """Documents as YAML or, as often, as JSON, which is YAML too."""
    text = "".join(f"---\n{_json(document)}\n" for document in documents)
    if rng.random() < 0.5:
        with suppress(UnicodeEncodeError, RecursionError):  # only JSON can contain lone surrogates and deep trees
            text = yaml.dump_all(documents, Dumper=_Dumper, width=10_000)
    return damaged(text.encode("utf-8", "surrogatepass"), rng, with_tricks=True)


def json_bytes(value: Any, rng: Random) -> bytes:
    return damaged(_json(value).encode("utf-8", "surrogatepass"), rng)


def damaged(data: bytes, rng: Random, with_tricks: bool = False) -> bytes:
    """The bytes, rarely with one kind of damage."""
    if rng.random() > SELDOM:
        return data
    if with_tricks and rng.random() < 0.3:
        trick = rng.choice(_TRICKS)
        return rng.choice((trick, data + b"\n---\n" + trick))
    return rng.choice(_KINDS)(data, rng)


def _cut(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_BYTES) + data[at:]


def _flip(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) or 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _lines(data: bytes, rng: Random) -> bytes:
    """Remove, duplicate or move a line."""
    lines = data.split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


_KINDS: tuple[Callable[[bytes, Random], bytes], ...] = (_cut, _insert, _insert, _flip, _lines, _lines)


def _json(value: Any) -> str:
    """JSON, with Python's spelling of NaN and infinity."""
    return json.dumps(value, default=str)


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Without anchors: a shared value is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True
