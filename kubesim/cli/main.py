"""The command line: `kubesim COMMAND`.

Each command is a module with HELP, `configure(parser)` and `execute(args) -> exit code`. Modules import what they need
inside `execute`, so that `kubesim --help` is fast. Data goes to stdout; an error is one line on stderr.

Exit codes: 0 success, 1 an expectation or a case failed, or two runs differ, 2 wrong use or bad input, 3 a divergence,
130 interrupted.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from kubesim import __version__
from kubesim.errors import KubesimError, UsageError

# The module of each command.
COMMANDS = {
    "run": "run", "up": "up.command", "node": "up.node", "clock": "up.clock",
    "test": "testing.command", "scenario": "testing.scenario",
    "explore": "explore.command",
    "diff": "diff", "get": "views.get", "describe": "views.describe", "logs": "views.logs", "events": "views.events",
    "lab": "lab", "explain": "explain", "attach": "attach", "cni": "cni.command", "cri": "cri.group",
    "conformance": "conformance", "completion": "testing.completion",
}  # fmt: skip
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """An argument parser that prints errors on one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reject an unknown flag here, where the command and its flags are known."""
        parsed, rest = super().parse_known_args(args, namespace)
        unknown = [word for word in rest if len(word) > 1 and word.startswith("-")]
        if unknown and "--" not in (args or ()):
            import difflib

            flag = unknown[0].partition("=")[0]
            near = difflib.get_close_matches(flag, self._option_string_actions, n=1, cutoff=0.7)
            self.error(f"unknown flag {flag}" + (f"; did you mean {near[0]}?" if near else ""))
        return parsed, rest


def make_parser(only: str = "") -> argparse.ArgumentParser:
    """The parser of all commands, or of one."""
    parser = _Parser(
        prog="kubesim",
        description="The kubelet you can open: it decides like kubelet v1.36, in virtual time, and explains why.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"kubesim {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in (only,) if only in COMMANDS else COMMANDS:
        module = import_module(f"kubesim.cli.{COMMANDS[name]}")
        command = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION, allow_abbrev=False)
        module.configure(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        if arguments is None:
            # Imports create long-lived objects. Garbage collection of them takes a tenth of a short run.
            gc.set_threshold(200_000, 20, 100)
        given = list(sys.argv[1:] if arguments is None else arguments)
        _check_streams()
        if given[:1] in (["run"], ["up"], ["node"]):
            from kubesim.cli.flags.kubelet_flags import expand_switches

            given = expand_switches(given)
        args = make_parser(*given[:1]).parse_args(given)
        code: int = import_module(f"kubesim.cli.{COMMANDS[args.command]}").execute(args)
        sys.stdout.flush()
        # a coverage tracer writes its results at exit
        is_alone = threading.active_count() == 1 and sys.gettrace() is None
        return _end_process(code) if arguments is None and is_alone else code
    except UsageError as error:
        return _complain(str(error), EXIT_USAGE)
    except KubesimError as error:
        return _complain(str(error), EXIT_FAILED)
    except BrokenPipeError:
        _mute_stdout()  # the reader closed the pipe
        return 0
    except OSError as error:  # a full disk, or a file that became unreadable
        _mute_stdout()
        return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}", EXIT_USAGE)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _check_streams() -> None:
    """Escape characters that the terminal cannot encode. A missing stdout is an error."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise UsageError("standard output is closed: redirect it to a file or to /dev/null")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _mute_stdout() -> None:
    """Keep buffered output from raising an error at exit."""
    if sys.stdout is not None and isinstance(sys.stdout, io.TextIOWrapper):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_process(code: int) -> NoReturn:
    """Exit without freeing modules and objects, which would take a sixth of the CPU time of a one-pod run."""
    sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def _complain(problem: str, code: int) -> int:
    from kubesim.golang.text import printable

    line = printable(" ".join(problem.split()))
    print(f"kubesim: error: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
