"""Flags that select the input of `kubesim run`: each file is a run of its own, or `-f` combines files and
directories.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubesim.cli.flags import options
from kubesim.cli.output.terminal import warn
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Scenario
    from kubesim.scenario.load.assembly.added import AddedItem
    from kubesim.scenario.load.overlay import Overlay


def add(parser: argparse.ArgumentParser) -> None:
    what = "a scenario or manifests in YAML or JSON, or the name of a bundled scenario; - is stdin; one run per FILE"
    parser.add_argument("files", nargs="*", metavar="FILE", help=what)
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="PATH",
        help="a file, a directory or a pattern; all of them together with FILE make one run, as with kubectl apply",
    )
    parser.add_argument(
        "-R", "--recursive", action="store_true", help="with -f: also the subdirectories of directories"
    )
    parser.add_argument(
        "--allow-host",
        action="store_true",
        help="allow the scenario to use the directories, plugins, URLs and clusters of this machine that it names",
    )
    parser.add_argument(
        "--strict", action="store_true", help="reject objects that have no effect here, such as a ClusterRole"
    )


def settle(args: argparse.Namespace) -> None:
    """`--logs FILE` without another file: FILE is the input."""
    if not args.files and not args.filename:
        if not args.logs:
            raise UsageError("give a FILE, or -f and a file or directory (see kubesim run --help)")
        args.files, args.logs = [args.logs], ""


def load(
    args: argparse.Namespace,
    gates: Mapping[str, bool] | None,
    overlay: Overlay,
    *,
    quiet: bool = False,
    added: Sequence[AddedItem] = (),
) -> list[tuple[str, Scenario]]:
    """The runs, each with a name for its report. `quiet`: no warnings; `added`: extra steps and faults. Raises
    UsageError for the first error.
    """
    from kubesim.scenario.load.loader import load_runs

    how: Any = {"strict": args.strict, "warn": _ignore if quiet else _warn, "added": added}
    files, has_seed = [_found(file) for file in args.files], options.seed(args) is not None
    if not args.filename:
        return [
            (f"{given} [{cell}]" if cell else given, scenario)
            for given, file in zip(args.files, files, strict=True)
            for cell, scenario in load_runs([file], gates, overlay, has_seed=has_seed, **how)
        ]
    from kubesim.scenario.load.files import manifest_files

    paths = [*files, *manifest_files(args.filename, recursive=args.recursive)]
    given = [*args.files, *args.filename]
    first = os.path.basename(os.path.normpath(given[0]))
    name = first.rpartition(".")[0] or first
    runs, shown = load_runs(paths, gates, overlay, name=name, has_seed=has_seed, **how), ", ".join(given)
    return [(f"{shown} [{cell}]" if cell else shown, scenario) for cell, scenario in runs]


def _warn(text: str) -> None:
    warn(f"warning: {text}")


def _ignore(text: str) -> None:
    """Ignore warnings that were already printed."""


def _found(file: str) -> str:
    """A file, or a bundled scenario by name."""
    from kubesim.shipped import scenario_file, scenario_names

    found = scenario_file(file)
    if found == file and file.replace("-", "").isalnum() and not os.path.exists(file):
        names = ", ".join(scenario_names())
        raise UsageError(f"{file}: no such file, and no bundled scenario has this name ({names})")
    return found
