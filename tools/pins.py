"""`make pins`: writes the hashes of pinned versions into `requirements/`, from the index that pip is configured with.

A pin is a line `NAME==VERSION`; the hashes below it are those of every file of that release, so that one list serves
all Pythons and platforms. To change a version, change that line and run this.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "requirements"


def files() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def pins(text: str) -> list[tuple[str, str]]:
    """Names and versions, in the order of the file."""
    words = [line.split()[0].partition("==") for line in text.splitlines() if "==" in line and line[0] not in "#- "]
    return [(name, version) for name, _, version in words]


def renewed(text: str, find: Callable[[str, str], list[str]]) -> str:
    """The file with the hashes that `find` gives for each pin; everything else stays."""
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
    from tools.index import Index, hashes  # the matrix reads pins with a Python that has no packages

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
