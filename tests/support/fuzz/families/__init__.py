"""Kinds of inputs. A family makes its input number N in a folder, and says which command line reads it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[4]


class Invocation(NamedTuple):
    """A command line of kubesim, and what is on its standard input."""

    arguments: list[str]
    stdin: bytes = b""


Make = Callable[[Random, Path], Invocation]

# By name: the module with the function of that name, and how many inputs `make test` runs; `make soak` runs fifty times
# as many.
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
    """The same for the same number, on every machine. The folder exists and empty."""
    return family(name)(Random(f"{name} {number}"), folder)
