"""Real kubectl of several versions, from Debian releases: `python -m tools.kubectl 1.36`."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.debian_packages import programs

PACKAGES = {"1.20": ("bookworm", "kubernetes-client"), "1.36": ("forky", "kubectl")}


def kubectl(version: str) -> Path:
    """The program of that minor version, downloaded if missing."""
    return programs(*PACKAGES[version]) / "kubectl"


if __name__ == "__main__":
    for version in sys.argv[1:] or PACKAGES:
        print(kubectl(version))
