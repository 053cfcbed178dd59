"""Families of inputs. A family creates input number N in a folder, and returns the command line that reads it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[4]


class Invocation(NamedTuple):
    """A kubesim command line, and its standard input."""

    arguments: list[str]
    stdin: bytes = b""


Make = Callable[[Random, Path], Invocation]

# family -> module, and number of inputs in `make test`; `make soak` runs fifty times as many.
FAMILIES = {
    "scenario": ("running", 560), "manifests": ("running", 320), "kubelet_configuration": ("running", 170),
    "network_configuration": ("networks", 220), "plugin_answers": ("networks", 130), "plugin_cache": ("networks", 30),
    "plugin_process": ("networks", 10), "lab": ("teaching", 150), "lab_progress": ("teaching", 50),
    "corpus": ("measurements", 110), "recording": ("watching", 50), "pods": ("watching", 100),
    "api_answers": ("clusters", 60), "kubeconfig": ("clusters", 40),
}  # fmt: skip


def family(name: str) -> Make:
    made: Make = getattr(import_module(f"{__name__}.{FAMILIES[name][0]}"), name)
    return made


def input_of(name: str, number: int, folder: Path) -> Invocation:
    """Create an input. The same number gives the same input on every machine. The folder must be empty."""
    return family(name)(Random(f"{name} {number}"), folder)
