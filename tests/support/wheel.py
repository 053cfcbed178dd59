"""A wheel built from the files of the container recipe, installed without a network into an environment with the test
packages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "deploy" / "Containerfile").read_text()
COPIED = re.findall(r"^COPY (?!--)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
BUILT_FROM = [name for line in COPIED for name in line.split()]
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")


def plain_environment() -> dict[str, str]:
    """An environment without variables that could lead to another kubesim."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KUBESIM_", "PYTHON", "PYTEST_"))}


def install_wheel(environment: Path) -> None:
    """Create the environment. Its parent directory gets the build files."""
    folder = environment.parent
    source = folder / "source"
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    plain = plain_environment()
    offline = ("--no-index", "--no-deps")
    built = [*PIP, "wheel", *offline, "--no-build-isolation", "-w", str(folder), str(source)]
    subprocess.run(built, check=True, env=plain, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    subprocess.run([*PIP, "--python", python, "install", *offline, wheel], check=True, env=plain, cwd=folder)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
