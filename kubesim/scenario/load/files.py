"""`-f FILE`: the files that an argument selects, as in kubectl: a file, a directory, a pattern, standard input.

Mirrors: k8s.io/cli-runtime/pkg/resource visitor.go ExpandPathsToFileVisitors, builder.go expandIfFilePattern
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

from kubesim.errors import InputError
from kubesim.scenario.load.text_files import STANDARD_INPUT, similar

EXTENSIONS = (".json", ".yaml", ".yml")


def manifest_files(names: Sequence[str], *, recursive: bool = False) -> list[str]:
    """All files in the order in which they are applied: in the order of the arguments, and by name in a directory."""
    return [path for name in names for path in _files(name, recursive)]


def _files(name: str, recursive: bool) -> Iterator[str]:
    if name == STANDARD_INPUT or (os.path.exists(name) and not os.path.isdir(name)):  # also a pipe
        yield name
    elif os.path.isdir(name):
        found = [path for path in _in_directory(name, recursive) if path.endswith(EXTENSIONS)]
        if not found:
            problem = f"has no manifests: recognized file extensions are {', '.join(EXTENSIONS)}"
            more = "" if recursive else "; -R also searches its subdirectories"
            raise InputError(name, problem + more)
        yield from found
    else:
        matching = sorted(glob.glob(name))
        if matching in ([], [name]):  # a dangling link matches itself
            raise InputError(name, f"no such file{similar(name)}")
        for path in matching:
            yield from _files(path, recursive)


def _in_directory(directory: str, recursive: bool) -> Iterator[str]:
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if not os.path.isdir(path):
            yield path
        elif recursive:
            yield from _in_directory(path, recursive)
