"""Randomness in named streams derived from one seed, so that a new draw in one place changes nothing elsewhere."""

from __future__ import annotations

import hashlib
import random

Stream = random.Random


class Randomness:
    """`randomness.stream("probe", uid)` is always the same stream for the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def stream(self, *names: str) -> Stream:
        digest = hashlib.blake2b("\x00".join((str(self.seed), *names)).encode(), digest_size=8).digest()
        return random.Random(int.from_bytes(digest, "big"))
