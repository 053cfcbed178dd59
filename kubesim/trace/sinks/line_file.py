"""A file of lines that is complete after every write, even if the process dies.

Lines are collected up to `batch` bytes and written at once. A compressed file is one deflate stream that is flushed
with every write, followed by gzip's trailer; the next write overwrites the trailer with new data and a new trailer, in
one write.
"""

from __future__ import annotations

import os
import struct
import zlib

from kubesim.errors import UsageError

_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_LAST_BLOCK = b"\x03\x00"  # an empty final block
_MODULUS = 1 << 32


class LineFile:
    """Overwrites `path`; compressed with gzip if the path ends in .gz. Raises UsageError, with the flag that named the
    file.
    """

    def __init__(self, path: str, flag: str, batch: int = 0) -> None:
        self._path, self._flag, self._batch = path, flag, batch
        self._lines: list[bytes] = []
        self._collected = 0  # bytes
        self._size = 0  # of the file, without a trailer
        self._deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS) if path.endswith(".gz") else None
        self._checksum = self._length = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(error) from None

    def write(self, line: bytes) -> None:
        """Add a line; it includes its line break."""
        self._lines.append(line)
        self._collected += len(line)
        if self._collected >= self._batch:
            self.flush()

    def flush(self) -> None:
        text = b"".join(self._lines)
        self._lines.clear()
        self._collected = 0
        if self._deflate is None:
            self._put(text, b"")
            return
        header = b"" if self._size else _GZIP_HEADER
        self._checksum, self._length = zlib.crc32(text, self._checksum), (self._length + len(text)) % _MODULUS
        data = header + self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
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
        if self._lines:
            self.flush()
        os.close(self._file)

    def _unusable(self, error: OSError) -> UsageError:
        return UsageError(f"{self._flag} {self._path}: {error.strerror}")
