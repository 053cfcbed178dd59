"""Runs Python as an unprivileged user, with kubesim and its dependencies copied to a readable directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
NOBODY = 65534


def _needed() -> set[str]:
    """The folders and files of kubesim's dependencies, recursively."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    todo, known, found = [Requirement(text) for text in project["dependencies"]], set(), set()
    while todo:
        name = todo.pop().name
        if name not in known:
            known.add(name)
            found |= {file.parts[0] for file in metadata.files(name) or ()}
            wanted = [Requirement(text) for text in metadata.requires(name) or ()]
            todo += [each for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return {name for name in found if name not in ("..", "__pycache__") and not name.endswith(".dist-info")}


class Unprivileged:
    """`folder` is a directory that the user can read but not change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "kubesim", folder / "kubesim")  # with bytecode: it starts in half the time
        shutil.copytree(ROOT / "scenarios", folder / "scenarios")
        site = Path(sysconfig.get_path("purelib"))
        for name in _needed():
            if (site / name).is_dir():
                shutil.copytree(site / name, folder / name)
            else:
                shutil.copy(site / name, folder / name)
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)

    def start(self, *words: str, **options: Any) -> subprocess.Popen[str]:
        """Start `python WORDS` as that user if this process is root, else as the current user. `env` is added to the
        environment.
        """
        # The base interpreter of the virtual environment; every user can execute the system's.
        interpreter = os.path.realpath(sys.executable)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        environ |= options.pop("env", {})
        pipe = subprocess.PIPE
        given = {"cwd": self.folder, "env": environ, "text": True, "stdout": pipe, "stderr": pipe, **user, **options}
        return subprocess.Popen([interpreter, "-S", *words], **given)

    def run(self, *words: str) -> str:
        with self.start(*words) as process:
            out, err = process.communicate()
        assert process.returncode == 0, f"{words}: {out}{err}"
        return str(out)


@contextmanager
def unprivileged() -> Iterator[Unprivileged]:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are not readable by others
        folder = Path(name)
        folder.chmod(0o755)
        yield Unprivileged(folder)
