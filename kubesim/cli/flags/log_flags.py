"""Flags of commands that write a log: `--log`, `--log-format`, `--log-verbosity`.

For `run`, the kubelet's configuration (`logging.format`, `logging.verbosity`, and the flags `--logging-format` and
`--v`) sets the defaults.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kubesim.cli.flags import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Scenario
    from kubesim.trace import Sink
    from kubesim.trace.klog.logger import KubeletLogger

FORMS = ("text", "json")
USUAL_VERBOSITY = 2  # the usual level of kubelets


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log", metavar="FILE", help="write the log that a kubelet would write; - is stderr (environment: KUBESIM_LOG)"
    )
    parser.add_argument(
        "--log-format",
        type=options.one_of(FORMS),
        metavar="|".join(FORMS),
        help="klog's text or JSON, as the kubelet's --logging-format; default: text (KUBESIM_LOG_FORMAT)",
    )
    parser.add_argument(
        "--log-verbosity",
        type=options.whole_number,
        metavar="N",
        help=f"0 to 10, as the kubelet's -v; default: {USUAL_VERBOSITY} (KUBESIM_LOG_VERBOSITY)",
    )


def file_name(args: argparse.Namespace) -> str:
    """The log file name; empty if there is none."""
    return options.chosen(args.log, "KUBESIM_LOG", str) or ""


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[LogFile]:
    """Open the requested log. A file that cannot be written is a usage error."""
    name = file_name(args)
    if not name and (args.log_format is not None or args.log_verbosity is not None):
        raise UsageError("--log-format and --log-verbosity need --log FILE")
    file = _File(name) if name else None
    try:
        yield LogFile(args, file)
    finally:
        if file is not None:
            file.close()
    if file is not None and file.problem is not None:
        raise _unusable(name, file.problem)


class LogFile:
    """Creates loggers that write to the log file, if there is one."""

    def __init__(self, args: argparse.Namespace, file: _File | None) -> None:
        self._file = file
        self._form = options.chosen(args.log_format, "KUBESIM_LOG_FORMAT", options.one_of(FORMS))
        self._verbosity = options.chosen(args.log_verbosity, "KUBESIM_LOG_VERBOSITY", options.whole_number)

    def sinks(self, scenario: Scenario, start: int | None = None) -> tuple[Sink, ...]:
        """The sink that logs a run which began at `start`; none without `--log`."""
        if self._file is None:
            return ()
        from kubesim.clock.clock import VIRTUAL_START
        from kubesim.trace.klog.redact import confidential
        from kubesim.trace.klog.sink import KlogSink

        spec = scenario.spec
        values = spec.kubelet_configuration.values
        secrets = confidential(spec.model_dump(exclude={"kubelet_configuration"}))
        logger = self._logger(values["logging.format"], values["logging.verbosity"], secrets)
        return (KlogSink(logger, VIRTUAL_START if start is None else start, several_nodes=len(spec.nodes) > 1),)

    def logger(self) -> KubeletLogger | None:
        """The logger of a command without a scenario; None without `--log`."""
        return None if self._file is None else self._logger("text", 0, ())

    def _logger(self, form: str, verbosity: int, secrets: Iterator[str] | tuple[str, ...]) -> KubeletLogger:
        from kubesim.trace.klog.logger import make_logger

        assert self._file is not None
        level = (verbosity or USUAL_VERBOSITY) if self._verbosity is None else self._verbosity
        return make_logger(self._file, self._form or form, level, secrets)


class _File:
    """A log file. A failed write stops the log, not the run, and is reported at the end."""

    def __init__(self, name: str) -> None:
        self.problem: OSError | None = None
        try:
            self._out: TextIO = sys.stderr if name == "-" else open(name, "w", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise _unusable(name, error) from error

    def write(self, text: str) -> None:
        if self.problem is not None:
            return
        try:
            self._out.write(text)
            self._out.flush()
        except OSError as error:
            self.problem = error

    def flush(self) -> None:
        """No effect: every write is flushed."""

    def close(self) -> None:
        if self._out is sys.stderr:
            return
        try:
            self._out.close()
        except OSError as error:
            self.problem = self.problem or error


def _unusable(name: str, error: OSError) -> UsageError:
    return UsageError(f"--log {name}: {error.strerror}")
