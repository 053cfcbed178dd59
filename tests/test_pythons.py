"""The Python versions in the package metadata, in `make matrix` and in the documentation are the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tools.matrix import RELEASES

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TESTED = list(RELEASES)
FIRST, LAST = TESTED[0], TESTED[-1]


def test_the_classifiers_are_the_tested_versions() -> None:
    prefix = "Programming Language :: Python :: 3."
    assert [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if line.startswith(prefix)] == TESTED


def test_requires_python_and_the_makefile_match_them() -> None:
    after = f"3.{int(LAST.removeprefix('3.')) + 1}"
    assert PROJECT["requires-python"] == f">={FIRST},<{after}"
    makefile = (ROOT / "Makefile").read_text()
    assert f"({FIRST.replace('.', ', ')}) <= sys.version_info < ({after.replace('.', ', ')})" in makefile


def test_the_documentation_names_them() -> None:
    for name in ("README.md", "docs/tutorial.md"):
        assert f"{FIRST} to {LAST}" in (ROOT / name).read_text()
    listed = f"{', '.join(TESTED[:-1])} and {LAST}"
    for name in ("README.md", "docs/design.md", "CONTRIBUTING.md"):
        assert listed in (ROOT / name).read_text()


def test_the_container_uses_one_of_them() -> None:
    (image,) = re.findall(
        r"^ARG PYTHON=.*python:([\d.]+)", (ROOT / "deploy" / "Containerfile").read_text(), re.MULTILINE
    )
    assert image in TESTED


def test_the_mypy_and_ruff_target_is_the_oldest() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tool["mypy"]["python_version"] == FIRST
    assert tool["ruff"]["target-version"] == f"py{FIRST.replace('.', '')}"
