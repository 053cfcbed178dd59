"""The file of a recording while it is written: every line is on disk before the next one is received."""

from __future__ import annotations

import json
from typing import Any

from kubesim.trace.sinks.line_file import LineFile


class RecordingFile:
    """Overwrites `path`; gzip if it ends in .gz. Raises UsageError if the file cannot be written."""

    def __init__(self, path: str) -> None:
        self._file = LineFile(path, "--record")
        self.close = self._file.close

    def write(self, value: dict[str, Any]) -> None:
        # Only ASCII: text from the cluster may not be valid UTF-8.
        self._file.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
