"""Response bodies within limits: decompressed in chunks, and counted while they are read."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from kubesim.cluster.remote.answers import MAX_BODY, MAX_OPEN_BODIES

PIECE = 1 << 18
_GZIP = 16 + zlib.MAX_WBITS


class BadBody(ValueError):
    """A response that is too large, or cannot be decompressed."""

    def __init__(self, message: str, *, too_large: bool = False) -> None:
        self.too_large = too_large
        super().__init__(message)


class BodyBudget:
    """Counts the bytes of all responses that are read concurrently."""

    def __init__(self) -> None:
        self._open = 0

    def take(self, read: int, more: int) -> int:
        """Add the bytes of a response; raises BadBody beyond the limit."""
        if read + more > MAX_BODY:
            raise BadBody(f"the answer has more than {MAX_BODY >> 20} MiB", too_large=True)
        if self._open + more > MAX_OPEN_BODIES:
            raise BadBody(f"answers of more than {MAX_OPEN_BODIES >> 20} MiB at the same time", too_large=True)
        self._open += more
        return read + more

    def give_back(self, count: int) -> None:
        self._open -= count


async def unpacked(chunks: AsyncIterator[bytes], encoding: str) -> AsyncIterator[bytes]:
    """The decompressed body, in chunks of bounded size."""
    if encoding.lower() in ("", "identity"):
        async for chunk in chunks:
            yield chunk
        return
    if encoding.lower() != "gzip":
        raise BadBody(f"the answer is encoded as {encoding[:20]!r}, which was not asked for")
    inflate = zlib.decompressobj(_GZIP)
    async for chunk in chunks:
        rest = chunk
        while rest:
            try:
                piece = inflate.decompress(rest, PIECE)
            except zlib.error as error:
                raise BadBody(f"the answer is no gzip: {error}") from None
            rest = inflate.unconsumed_tail
            if piece:
                yield piece
            elif inflate.eof:
                break
