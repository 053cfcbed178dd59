"""The logger: a chain of structlog processors from a line to the output.

verbosity  ->  redaction  ->  klog's text or JSON  ->  writer

structlog is imported only by the commands that write a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from kubesim.trace.klog.form import as_json, as_text
from kubesim.trace.klog.line import KlogLine
from kubesim.trace.klog.redact import Redaction

FORMS: dict[str, Callable[[KlogLine, int], str]] = {"text": as_text, "json": as_json}


class Writer(Protocol):
    """The methods of a text file that a log needs."""

    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...


class KubeletLogger(structlog.BoundLoggerBase):
    """Writes lines with their times (microseconds since the epoch)."""

    def put(self, line: KlogLine, at: int) -> None:
        self._proxy_to_logger("error" if line.is_error else "info", line.message, line=line, at=at)


def make_logger(out: Writer, form: str, verbosity: int, secrets: Iterable[str] = ()) -> KubeletLogger:
    """A logger that writes the lines up to a verbosity in one of the FORMS."""
    chain: list[Processor] = [_up_to(verbosity), _redacted(Redaction(secrets)), _rendered(FORMS[form])]
    writer = structlog.WriteLogger(cast(TextIO, out))
    made: KubeletLogger = structlog.wrap_logger(writer, processors=chain, wrapper_class=KubeletLogger).bind()
    return made


def _up_to(verbosity: int) -> Processor:
    def check(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        if event["line"].v > verbosity:
            raise structlog.DropEvent
        return event

    return check


def _redacted(redaction: Redaction) -> Processor:
    def redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["line"] = redaction.line(event["line"])
        return event

    return redact


def _rendered(form: Callable[[KlogLine, int], str]) -> Processor:
    def render(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
        return form(event["line"], event["at"])

    return render
