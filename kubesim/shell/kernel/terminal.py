"""Input and output of an external client: a plain pipe, or a terminal.

A terminal echoes input, allows line editing until Return, turns Ctrl-C into a signal and Ctrl-D into the end of the
input. Colours and full-screen programs are not simulated.

Mirrors: n_tty.c of Linux (ICANON, ECHO, ISIG, ICRNL, ONLCR)
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable

from kubesim.shell.kernel.streams import BrokenPipe, Stream, Wake, make_idle_pipe, make_pipe

_ERASE, _KILL_LINE, _INTERRUPT, _END, _ESCAPE = ("\x7f", "\b"), "\x15", "\x03", "\x04", "\x1b"
INPUT_LIMIT = 32 << 20  # unread bytes


class InputTooLong(Exception):
    """The program does not read its input."""


class Decoder:
    """Decodes a client's bytes to text for programs; invalid UTF-8 is preserved."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def text(self, data: bytes) -> str:
        return self._decoder.decode(data)


def encode(text: str) -> bytes:
    """The inverse of Decoder."""
    return text.encode("utf-8", "surrogateescape")


class PipedInput:
    """The input of a process without a terminal; the process reads `stream`."""

    def __init__(self, *, idle: bool = False) -> None:
        self.stream, self._writer = make_idle_pipe() if idle else make_pipe()
        self._writer.hold()
        self._decoder = Decoder()
        self._waiting: deque[str] = deque()
        self._size = 0
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Add input; empty bytes are the end. Raises InputTooLong."""
        if self._ended:
            return
        self._ended = not data
        if text := self._decoder.text(data):
            self._size += len(text)
            if self._size > INPUT_LIMIT:
                raise InputTooLong
            self._waiting.append(text)
        self._pump()

    def _pump(self) -> None:
        try:
            while self._waiting:
                if not self._writer.poll_write(self._waiting[0]):
                    self._writer.watch(self._pump)
                    return
                self._size -= len(self._waiting.popleft())
        except BrokenPipe:
            self._waiting.clear()
        if self._ended and self._writer.holders:
            self._writer.release()


class Screen(Stream):
    """Stdout and stderr of a client. `show` gets the text; `is_full` tells it to wait."""

    __slots__ = ("_is_full", "_show", "_waiting")

    def __init__(self, show: Callable[[str], None], is_full: Callable[[], bool] = lambda: False) -> None:
        super().__init__()
        self._show = show
        self._is_full = is_full
        self._waiting: list[Wake] = []

    def poll_write(self, text: str) -> bool:
        if self._is_full():
            return False
        self._show(text)
        return True

    def watch(self, wake: Wake) -> None:
        self._waiting.append(wake)

    def notify(self) -> None:
        """The client has room again."""
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()


class _TerminalInput(Stream):
    """The terminal input of a process: whole lines."""

    __slots__ = ("_pieces", "_waiting")
    is_idle = True

    def __init__(self) -> None:
        super().__init__()
        self._pieces: deque[str] = deque()
        self._waiting: list[Wake] = []

    def offer(self, text: str) -> None:
        self._pieces.append(text)
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def poll_read(self) -> str | None:
        return self._pieces.popleft() if self._pieces else None

    def push_back(self, text: str) -> None:
        self._pieces.appendleft(text)

    def watch(self, wake: Wake) -> None:
        self._waiting.append(wake)


class Terminal:
    """A terminal. `show` gets the client's screen output; `interrupt` is called for Ctrl-C."""

    def __init__(self, show: Callable[[str], None], interrupt: Callable[[], None] = lambda: None) -> None:
        self.stream: Stream = _TerminalInput()
        self._show = show
        self.interrupt = interrupt
        self._decoder = Decoder()
        self._line = ""
        self._escaped = ""  # a key that sends several characters

    def screen(self, is_full: Callable[[], bool] = lambda: False) -> Screen:
        """The screen, used for both stdout and stderr."""
        return Screen(self.show, is_full)

    def show(self, text: str) -> None:
        self._show(text.replace("\n", "\r\n"))

    def feed(self, data: bytes) -> None:
        """Process a client's keys. Empty bytes mean that it disconnected."""
        if not data:
            self._offer("")
            return
        for key in self._decoder.text(data):
            self._type(key)

    def _type(self, key: str) -> None:
        if self._escaped or key == _ESCAPE:
            self._escaped += key
            if (len(self._escaped) > 2 and (key.isalpha() or key == "~")) or len(self._escaped) > 8:
                self._escaped = ""
        elif key in ("\r", "\n"):
            self.show("\n")
            line, self._line = self._line + "\n", ""
            self._offer(line)
        elif key in _ERASE:
            if self._line:
                self._line = self._line[:-1]
                self._show("\b \b")
        elif key == _KILL_LINE:
            self._show("\b \b" * len(self._line))
            self._line = ""
        elif key == _INTERRUPT:
            self._line = ""
            self.show("^C\n")
            self.interrupt()
        elif key == _END:
            line, self._line = self._line, ""
            self._offer(line)
        elif len(self._line) < 4096:
            self._line += key
            self.show(key)

    def _offer(self, text: str) -> None:
        assert isinstance(self.stream, _TerminalInput)
        self.stream.offer(text)


def is_terminal(stream: Stream) -> bool:
    return isinstance(stream, _TerminalInput)
