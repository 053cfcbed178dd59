"""Runtime `cri` in the scenario language: where the container runtime is, and what remains of the run."""

from __future__ import annotations

from typing import Final

from kubesim.scenario.language.sources.source_items import LocalPath
from kubesim.scenario.language.strict import Strict

DEFAULT_ENDPOINT: Final = "unix:///run/containerd/containerd.sock"


class CriItem(Strict):
    """The container runtime that runs the containers, for real and in real time."""

    endpoint: str = ""  # default: unix:///run/containerd/containerd.sock
    state: LocalPath = ""  # where volumes and logs are; default: a new directory in the XDG state directory
    keep: bool = False  # leave containers, volumes and logs at the end of the run
