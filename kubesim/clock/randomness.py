"""Random streams, named and derived from one seed, so that a new draw in one place changes nothing elsewhere."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from kubesim.clock.choices import Choices, stream_name

Stream = random.Random


class Randomness:
    """`randomness.stream("probe", uid)` is always the same stream for the same seed. With `choices`, some draws take
    another value; `scope` begins the names of its streams."""

    def __init__(self, seed: int, choices: Choices | None = None, scope: tuple[str, ...] = ()) -> None:
        self.seed, self.choices, self._scope = seed, choices, scope

    def stream(self, *names: str) -> Stream:
        unseeded = _Unseeded(str(self.seed), *names)
        if self.choices is None:
            return cast(Stream, unseeded)
        return cast(Stream, _Chosen(cast(Stream, unseeded), self.choices, stream_name((*self._scope, *names))))

    def derived(self, *names: str, scope: tuple[str, ...] = ()) -> Randomness:
        """Other randomness, with a seed from the stream of these names."""
        return Randomness(_Unseeded(str(self.seed), *names).getrandbits(62), self.choices, (*self._scope, *scope))

    def fraction(self, *names: str) -> float:
        """A number in [0, 1) for these names, for a single draw: seeding a stream costs as much as a thousand draws."""
        drawn = (_seed((str(self.seed), *names)) >> 11) / (1 << 53)  # as many bits as a float has
        if self.choices is None:
            return drawn
        return self.choices.fraction(stream_name((*self._scope, *names)), drawn)


class _Unseeded:
    """A stream without a draw so far. Most streams are never used, and seeding one costs as much as hundreds of
    draws."""

    def __init__(self, *names: str) -> None:
        self._names = names

    @cached_property
    def _generator(self) -> Stream:
        return Stream(_seed(self._names))

    def __getattr__(self, name: str) -> Any:
        """Seed the generator at the first draw; then keep the generator's method as an attribute."""
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._generator, name)
        setattr(self, name, method)
        return method


class _Chosen:
    """A stream of which some draws are chosen. Other methods than these two are left to the seed."""

    def __init__(self, stream: Stream, choices: Choices, name: str) -> None:
        self._stream, self._choices, self._name = stream, choices, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def random(self) -> float:
        return self._choices.fraction(self._name, self._stream.random())

    def randrange(self, below: int) -> int:
        return self._choices.index(self._name, self._stream.randrange(below), below)


def _seed(names: tuple[str, ...]) -> int:
    return int.from_bytes(hashlib.blake2b("\x00".join(names).encode(), digest_size=8).digest(), "big")


def uuid4_text(bits: int) -> str:
    """128 random bits formatted as a version 4 UUID: the 13th digit is the version, the 17th begins with the
    variant."""
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[bits >> 60 & 3]}{digits[17:20]}-{digits[20:]}"


def random_uids(randomness: Randomness) -> Callable[[], str]:
    """Generator of random uids (version 4), the same for the same seed."""
    stream = randomness.stream("uid")
    return lambda: uuid4_text(stream.getrandbits(128))
