"""Random streams, named and derived from one seed, so that a new draw in one place changes nothing elsewhere.

Only names outside a run, and runs without a seed, draw from the operating system.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

Stream = random.Random


class Randomness:
    """`randomness.stream("probe", uid)` is always the same stream for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, *names: str) -> Stream:
        return cast(Stream, _Unseeded(str(self.seed), *names))

    def fraction(self, *names: str) -> float:
        """A number in [0, 1) for these names, for a single draw: seeding a stream costs as much as a thousand draws."""
        return (_seed((str(self.seed), *names)) >> 11) / (1 << 53)  # as many bits as a float has


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


def chance_seed() -> int:
    """A seed that differs each time."""
    return secrets.randbits(48)


def chance_name(digits: int = 16) -> str:
    """A name in hexadecimal digits that nothing else on the machine has."""
    return secrets.token_hex(digits // 2)
