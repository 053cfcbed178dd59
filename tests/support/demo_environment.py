"""The environment of `make demo`: kubesim and the packages of `requirements/cluster.txt`, without other packages.

It is a directory of links to the packages of the test environment, so it needs no installation. `python()` runs an
interpreter that sees only this directory and the standard library.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
# the packages that the rule of `make demo` installs
REQUIREMENTS = ("requirements/run.txt", "requirements/cluster.txt")


def packages() -> list[str]:
    """The pinned packages that `make demo` installs."""
    return [name for file in REQUIREMENTS for name in re.findall(r"^([\w.-]+)==", (ROOT / file).read_text(), re.M)]


def link_packages(directory: Path) -> Path:
    """Fill a directory with links to these packages and kubesim."""
    directory.mkdir()
    (directory / "kubesim").symlink_to(ROOT / "kubesim")
    for name in packages():
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top in ("..", "__pycache__") or (directory / top).exists():
                continue
            (directory / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    return directory


def python(directory: Path) -> tuple[list[str], dict[str, str]]:
    """The command of the interpreter, and the environment variables it needs. `-S`: no other site-packages."""
    return [sys.executable, "-S"], {"PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
