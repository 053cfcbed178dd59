"""Streams behind file descriptors: container log, pipe, file, text, device.

`poll_read` and `poll_write` never wait. A process without data registers a callback (`watch`) and sleeps. Streams count
their descriptors: when the last writer closes, the reader gets the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import Literal, Self

from kubesim.shell.kernel.files import File, Volume
from kubesim.shell.limits import CAPTURE_LIMIT, LINE_LIMIT, LOG_LIMIT, LOG_LINES
from kubesim.values import part, value_object

PIPE_CAPACITY = 4096  # of unread text; small, so that a reader runs soon
BLOCK = 65_536
_ZEROS = "\0" * BLOCK  # one shared text, so that many readers cost nothing

StreamName = Literal["stdout", "stderr"]
Wake = Callable[[], None]


class BrokenPipe(Exception):
    """No reader is left."""


class Stream:
    """A device like /dev/null: reads return the end, writes are discarded."""

    __slots__ = ("holders",)
    is_idle = False  # whether it is a container's stdin, which blocks until a client attaches

    def __init__(self) -> None:
        self.holders = 0

    def hold(self) -> Self:
        self.holders += 1
        return self

    def release(self) -> None:
        self.holders -= 1
        if self.holders == 0:
            self.close()

    def close(self) -> None:
        """Called when the last descriptor is closed."""

    def poll_read(self) -> str | None:
        """Some text; empty at the end; None if there is none yet."""
        return ""

    def push_back(self, text: str) -> None:
        """Put back text that was read too far, for the next read."""

    def poll_write(self, text: str) -> bool:
        """Whether the text was accepted; False if there is no room yet."""
        return True

    def watch(self, wake: Wake) -> None:
        """Call the function once when reading or writing may succeed."""


class Endless(Stream):
    """/dev/zero."""

    __slots__ = ()

    def poll_read(self) -> str | None:
        return _ZEROS


class TextSource(Stream):
    """A readable text: a here-document, or a file's current content."""

    __slots__ = ("_file", "_position")

    def __init__(self, source: str | File) -> None:
        super().__init__()
        self._file = File(source) if isinstance(source, str) else source
        self._position = 0

    def poll_read(self) -> str | None:
        text = self._file.text[self._position : self._position + BLOCK]
        self._position += len(text)
        return text

    def push_back(self, text: str) -> None:
        self._position -= len(text)


class FileTarget(Stream):
    """A writable file; writes append."""

    __slots__ = ("_file", "_now", "_volume")

    def __init__(self, file: File, volume: Volume, now: Callable[[], int]) -> None:
        super().__init__()
        self._file = file
        self._volume = volume
        self._now = now

    def poll_write(self, text: str) -> bool:
        self._volume.append(self._file, text, self._now())
        return True


class Capture(Stream):
    """Collects the output of an exec up to a limit and drops the rest. With `claim` (command substitution) nothing is
    dropped: it is called with the size before more is stored.
    """

    __slots__ = ("_claim", "_pieces", "_size", "_waiting")

    def __init__(self, claim: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self._claim = claim
        self._pieces: list[str] = []
        self._size = 0
        self._waiting: list[Wake] = []

    def poll_write(self, text: str) -> bool:
        if self._claim is None:
            text = text[: CAPTURE_LIMIT - self._size]
        else:
            self._claim(self._size + len(text))
        self._pieces.append(text)
        self._size += len(text)
        return True

    def text(self) -> str:
        return "".join(self._pieces)

    def watch(self, wake: Wake) -> None:
        self._waiting.append(wake)

    def close(self) -> None:
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()


@part
class _Buffer:
    """The content of a pipe, and the waiters at both ends."""

    pieces: deque[str] = field(default_factory=deque)
    size: int = 0
    readable: bool = True  # has a reader
    writable: bool = True  # has a writer
    waiting: list[Wake] = field(default_factory=list)

    def notify(self) -> None:
        waiting, self.waiting = self.waiting, []
        for wake in waiting:
            wake()


class _PipeEnd(Stream):
    __slots__ = ("_buffer",)

    def __init__(self, buffer: _Buffer) -> None:
        super().__init__()
        self._buffer = buffer

    def watch(self, wake: Wake) -> None:
        self._buffer.waiting.append(wake)


class PipeReader(_PipeEnd):
    __slots__ = ()

    def poll_read(self) -> str | None:
        buffer = self._buffer
        if not buffer.pieces:
            return None if buffer.writable else ""
        text = "".join(buffer.pieces)
        buffer.pieces.clear()
        buffer.size = 0
        buffer.notify()
        return text

    def push_back(self, text: str) -> None:
        self._buffer.pieces.appendleft(text)
        self._buffer.size += len(text)

    def close(self) -> None:
        self._buffer.readable = False
        self._buffer.notify()


class PipeWriter(_PipeEnd):
    __slots__ = ()

    def poll_write(self, text: str) -> bool:
        buffer = self._buffer
        if not buffer.readable:
            raise BrokenPipe
        if buffer.size >= PIPE_CAPACITY:
            return False
        buffer.pieces.append(text)
        buffer.size += len(text)
        buffer.notify()
        return True

    def close(self) -> None:
        self._buffer.writable = False
        self._buffer.notify()


class IdlePipe(PipeReader):
    """The stdin of a container without `stdin`."""

    __slots__ = ()
    is_idle = True


def make_idle_pipe() -> tuple[PipeReader, PipeWriter]:
    buffer = _Buffer()
    return IdlePipe(buffer), PipeWriter(buffer)


def make_pipe() -> tuple[PipeReader, PipeWriter]:
    buffer = _Buffer()
    return PipeReader(buffer), PipeWriter(buffer)


@value_object
class LogLine:
    """A line of a container's output with its time (microseconds since the epoch)."""

    time: int
    stream: StreamName
    text: str


@part
class Log:
    """A container's output. It keeps the last `limit` lines and counts dropped ones."""

    now: Callable[[], int]
    limit: int = LOG_LINES
    _lines: deque[LogLine] | None = None  # most servers print nothing
    _open: dict[StreamName, str] | None = None  # incomplete lines, by stream
    _size: int = 0
    dropped: int = 0
    on_line: Callable[[LogLine], None] | None = None
    attached: list[Callable[[StreamName, str], None]] | None = None  # callbacks for new output

    @property
    def lines(self) -> tuple[LogLine, ...]:
        return tuple(self._lines or ())

    def text(self) -> str:
        """The kept lines, as `kubectl logs` prints them."""
        return "".join(line.text + "\n" for line in self._lines or ())

    def write(self, stream: StreamName, text: str) -> None:
        for attached in self.attached or ():
            attached(stream, text)
        if self._open:
            text = self._open.pop(stream, "") + text
        *complete, rest = text.split("\n")
        for line in complete:
            self._add(stream, line)
        if len(rest) > LINE_LIMIT:
            whole = (len(rest) - 1) // LINE_LIMIT * LINE_LIMIT
            for start in range(0, whole, LINE_LIMIT):
                self._add(stream, rest[start : start + LINE_LIMIT])
            rest = rest[whole:]
        if rest:
            if self._open is None:
                self._open = {}
            self._open[stream] = rest

    def flush(self) -> None:
        """Complete incomplete lines when the container has ended."""
        for stream, text in (self._open or {}).items():
            self._add(stream, text)
        self._open = None

    def _add(self, stream: StreamName, text: str) -> None:
        if self._lines is None:
            self._lines = deque()
        line = LogLine(self.now(), stream, text)
        self._lines.append(line)
        self._size += len(text)
        while len(self._lines) > self.limit or (self._size > LOG_LIMIT and len(self._lines) > 1):
            self._size -= len(self._lines.popleft().text)
            self.dropped += 1
        if self.on_line is not None:
            self.on_line(line)


class LogTarget(Stream):
    """A container's stdout or stderr."""

    __slots__ = ("_log", "_name")

    def __init__(self, log: Log, name: StreamName) -> None:
        super().__init__()
        self._log = log
        self._name = name

    def poll_write(self, text: str) -> bool:
        self._log.write(self._name, text)
        return True
