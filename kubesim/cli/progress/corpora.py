"""Progress of conformance corpora: a bar on a terminal, and kubesim's answers written to files."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from kubesim.conformance.results import ProgressListener
from kubesim.errors import UsageError

BAR = 30
CLEAR = "\r\x1b[K"


class Observer(ProgressListener):
    """A context manager. On exit it closes the files and removes the bar."""

    def __init__(self, emit: Path | None, terminal: TextIO) -> None:
        self._emit = emit
        self._terminal = terminal if terminal.isatty() else None
        self._files: dict[str, TextIO] = {}
        self._name, self._total, self._done, self._shown = "", 0, 0, -1

    def begin(self, name: str, cases: int, *, one_file: bool = True) -> None:
        self._name, self._total, self._done, self._shown = name, cases, 0, -1
        if self._emit is not None and one_file and name not in self._files:
            self._files[name] = self._open(self._emit, f"{name}.jsonl")
        self._draw()

    def played(self, case: str, output: Any) -> None:
        if self._name in self._files:
            self._files[self._name].write(json.dumps({"case": case, "output": output}) + "\n")
        elif self._emit is not None and output is not None:
            with self._open(self._emit, f"{case}.json") as file:
                json.dump(output, file)
        self._done += 1
        self._draw()

    def _open(self, directory: Path, name: str) -> TextIO:
        try:
            directory.mkdir(parents=True, exist_ok=True)
            return (directory / name).open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--emit {directory}: {error.strerror}") from None

    def _draw(self) -> None:
        """Redraw if the bar changed."""
        if self._terminal is None:
            return
        percent = 100 * self._done // self._total if self._total else 100
        if percent != self._shown:
            self._shown = percent
            bar = "#" * (BAR * percent // 100)
            self._terminal.write(f"{CLEAR}[{bar:<{BAR}}] {percent:3}% {self._name}")
            self._terminal.flush()

    def __enter__(self) -> Observer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close()
        if self._terminal is not None:
            self._terminal.write(CLEAR)
            self._terminal.flush()
