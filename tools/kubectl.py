"""Downloads real kubectl from Debian releases into the cache directory: `python -m tools.kubectl 1.36`.

Debian's packages contain static binaries.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.debian import unpacked
from tools.matrix import CACHE

PACKAGES = {"1.20": ("bookworm", "kubernetes-client"), "1.36": ("forky", "kubectl")}
DIRECTORY = CACHE.parent / "kubectl"


def kubectl(version: str) -> Path:
    """The program of that minor version, downloaded if missing."""
    release, package = PACKAGES[version]
    return unpacked(release, [package], DIRECTORY / f"kubectl-{version}", "usr/bin/kubectl")


if __name__ == "__main__":
    for version in sys.argv[1:] or PACKAGES:
        print(kubectl(version))
