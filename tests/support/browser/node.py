"""Runs Node.js programs with the packages of tests/browser/package.json."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "browser"
PACKAGES = FOLDER / "node_modules"


def needs(is_there: bool, missing: str) -> None:
    """Fail where the tests must be complete, else skip."""
    if not is_there:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{missing} (make test installs it)")


def run_node(*arguments: str, text: str = "") -> str:
    """The output of the program, or the start of its error message if it fails."""
    node = shutil.which("node")
    needs(node is not None, "node is not installed")
    assert node is not None
    done = subprocess.run([node, *arguments], cwd=FOLDER, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def parsed_mermaid(markdown: str) -> list[str]:
    """The kind of each diagram according to Mermaid's parser."""
    needs((PACKAGES / "mermaid").is_dir(), f"the npm package mermaid is not in {PACKAGES}")
    return run_node("parse_mermaid.mjs", text=markdown).split()
