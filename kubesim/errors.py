"""Errors that packages share. An error that only one package handles is defined next to its code.

KubesimError
├── UsageError          wrong input of the user: one line, exit 2
│   ├── InputError      ... in a file: names the file, the line and the field
│   └── GateError       ... about a feature gate: it does not exist, or cannot have this value
├── Deadlock            virtual time cannot continue: nothing is ready and no timer is set
├── ApiError            an error response of an API server (code, reason, message)
├── TransportError      an API server could not be reached, or the connection to it broke
├── ReadOnlyError       a write over a read-only connection
├── SyncError           a sync of a pod failed; the worker backs off
│   ├── BackoffError    ... with the time at which a retry makes sense
│   └── SyncCancelled   ... because its context was cancelled: there is a newer update
├── ImageGCError        removing images freed too little space
├── CniError            container networking failed; the text is libcni's
│   └── PluginError     ... with the error of a plugin: code, message, details
└── RuntimeCallError    a call to the container runtime failed
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from json import JSONDecodeError


class KubesimError(Exception):
    """The base class; its text is for users."""


class UsageError(KubesimError):
    """Wrong usage or bad input; the command line prints one line and exits with 2."""


class FileLine(int):
    """A line number with its file, for files that include other files."""

    source: str

    def __new__(cls, line: int, source: str) -> FileLine:
        made = super().__new__(cls, line)
        made.source = source
        return made


class InputError(UsageError):
    """Bad content of a file: `FILE:LINE: FIELD: what is wrong`. If the line knows its file, that file is reported."""

    def __init__(
        self, source: str, problem: str, *, line: int | None = None, field: str = "", column: int | None = None
    ) -> None:
        source = line.source if isinstance(line, FileLine) else source
        self.source, self.problem, self.line, self.field, self.column = source, problem, line, field, column
        where = source if line is None else f"{source}:{line}"
        super().__init__(": ".join(part for part in (where, field, problem) if part))

    @property
    def pointed(self) -> str:
        """The error as `FILE:LINE:COLUMN: FIELD: what is wrong`, the format that editors read."""
        where = f"{self.source}:{self.line or 1}:{self.column or 1}"
        return ": ".join(part for part in (where, self.field, self.problem) if part)


def not_json(source: str, error: JSONDecodeError | RecursionError, line: int | None = None) -> InputError:
    """The error for text that is not valid JSON; the line is the decoder's, unless the caller passes another."""
    if isinstance(error, RecursionError):
        return InputError(source, "not JSON that can be read: nested too deeply", line=line)
    problem = f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    return InputError(source, problem, line=error.lineno if line is None else line)


class GateError(UsageError):
    """A feature gate that the kubelet does not have, or a value with which it would not start."""


class Deadlock(KubesimError):
    """Nothing is ready, no timer is set and nothing from outside is awaited."""


class ApiError(KubesimError):
    """An error response of the API server, with HTTP code and machine-readable reason. `go_on` is a token to continue a
    list that was cut off.
    """

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, object] | None = None, *, go_on: str = ""
    ) -> None:
        self.code, self.reason, self.message, self.details, self.go_on = code, reason, message, details, go_on
        super().__init__(message)


class TransportError(KubesimError):
    """The API server is unreachable; `refused`: the connection was refused; `too_large`: a response exceeded the size
    limit.
    """

    def __init__(self, message: str, *, refused: bool = False, too_large: bool = False) -> None:
        self.refused = refused
        self.too_large = too_large
        super().__init__(message)


class ReadOnlyError(KubesimError):
    """A write over a read-only connection."""


class SyncError(KubesimError):
    """A sync of a pod failed."""


class BackoffError(SyncError):
    """A container is in back-off until `expires_at` (microseconds since the epoch)."""

    def __init__(self, reason: str, expires_at: int) -> None:
        self.expires_at = expires_at
        super().__init__(reason)


class SyncCancelled(SyncError):
    """A sync stopped because its context was cancelled (Go's context.Canceled)."""

    def __init__(self, message: str = "context canceled") -> None:
        super().__init__(message)


class ImageGCError(KubesimError):
    """Image garbage collection freed less than required."""


class CniError(KubesimError):
    """libcni, go-cni or the runtime's network code failed. `causes` are the wrapped errors, `kinds` the names of
    go-cni's error kinds that apply.
    """

    def __init__(self, text: str, *causes: CniError, kinds: tuple[str, ...] = ()) -> None:
        self.causes, self.kinds = causes, kinds
        super().__init__(text)

    def plugin_error(self) -> PluginError | None:
        """The first plugin error in the chain."""
        return next((found for cause in self.causes if (found := cause.plugin_error())), None)


class PluginError(CniError):
    """A CNI error object (code, message, details)."""

    def __init__(self, code: int, message: str, details: str = "") -> None:
        self.code, self.message, self.details = code, message, details
        super().__init__(f"{message}; {details}" if details else message)

    def plugin_error(self) -> PluginError:
        return self


class RuntimeCallError(KubesimError):
    """A call to the container runtime failed; the message is the runtime's."""

    @property
    def message(self) -> str:
        """The message without gRPC's `rpc error: code = Unknown desc = `, as the kubelet reports it for containers."""
        head, found, text = str(self).partition(" desc = ")
        return text if found and head.startswith("rpc error: code = ") else str(self)
