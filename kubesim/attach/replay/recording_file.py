"""The file of a recording while it is written: after every line it is complete, whatever happens to the process.

A line is one write. A compressed file is one deflate stream that is flushed after every line, with gzip's trailer
behind it; the next line overwrites the trailer with its own bytes and a new trailer, in one write.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from typing import Any

from kubesim.errors import UsageError

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST_BLOCK = b"\x03\x00"  # an empty one
_MODULUS = 1 << 32


class RecordingFile:
    """Overwrites `path`; gzip if it ends in .gz. Raises UsageError if the file cannot be written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._size = 0  # without a trailer
        self._deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS) if path.endswith(".gz") else None
        self._checksum = self._length = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from None

    def write(self, value: dict[str, Any]) -> None:
        # Only ASCII: text of the cluster may hold what is no valid UTF-8.
        line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        if self._deflate is None:
            self._put(line, b"")
            return
        header = b"" if self._size else _GZIP_HEADER
        self._checksum, self._length = zlib.crc32(line, self._checksum), (self._length + len(line)) % _MODULUS
        data = header + self._deflate.compress(line) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        self._put(data, _LAST_BLOCK + struct.pack("<II", self._checksum, self._length))

    def _put(self, data: bytes, trailer: bytes) -> None:
        try:
            whole = data + trailer
            written = os.pwrite(self._file, whole, self._size)
            while written < len(whole):
                written += os.pwrite(self._file, whole[written:], self._size + written)
        except OSError as error:
            raise self._unusable(error) from None
        self._size += len(data)

    def close(self) -> None:
        os.close(self._file)

    def _unusable(self, error: OSError) -> UsageError:
        return UsageError(f"--record {self._path}: {error.strerror}")
