"""`make pins`: writes the hashes of pinned versions into `requirements/`, from pip's package index.

A pin is a line `NAME==VERSION`, followed by the hashes of all files of that release, so that one list serves all
Pythons and platforms. To change a version, edit that line and run this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "requirements"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def pins(text: str) -> list[tuple[str, str]]:
    """Names and versions, in file order."""
    words = [line.split()[0].partition("==") for line in text.splitlines() if "==" in line and line[0] not in "#- "]
    return [(name, version) for name, _, version in words]


def renewed(text: str, find: Callable[[str, str], list[str]]) -> str:
    """The file with the hashes from `find` for each pin; other lines are unchanged."""
    lines = []
    for line in text.splitlines():
        if line.startswith("    --hash="):
            continue
        pinned = pins(line)
        if not pinned:
            lines.append(line)
        for name, version in pinned:
            found = [f"    --hash=sha256:{digest}" for digest in find(name, version)]
            lines.append(" \\\n".join([f"{name}=={version}", *found]))
    return "\n".join(lines) + "\n"


def main() -> int:
    from tools.index import Index, hashes  # the matrix reads pins with a Python without packages

    index = Index()

    def find(name: str, version: str) -> list[str]:
        try:
            found = hashes(index.page(name), version)
        except OSError as error:
            sys.exit(f"pins: {name}: the index cannot be read: {error}")
        if not found:
            sys.exit(f"pins: the index has no file of {name} {version} with a SHA-256 hash: choose another version")
        return found

    for path in files():
        path.write_text(renewed(path.read_text(), find))
        print(f"{path.relative_to(FOLDER.parent)}: {len(pins(path.read_text()))} releases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
