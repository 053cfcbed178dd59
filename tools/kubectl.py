"""Downloads real kubectl from Debian releases into the cache directory: `python -m tools.kubectl 1.36`.

Debian's packages contain static binaries. They are unpacked and never installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from tools.matrix import CACHE, mirror

PACKAGES = {"1.20": ("bookworm", "kubernetes-client"), "1.36": ("forky", "kubectl")}
DIRECTORY = CACHE.parent / "kubectl"
_TIMEOUT_S = 120
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def kubectl(version: str) -> Path:
    """The program of that minor version, downloaded if missing."""
    program = DIRECTORY / f"kubectl-{version}"
    if program.exists():
        return program
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with open(DIRECTORY / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _fetch(*PACKAGES[version], program)
    return program


def _fetch(release: str, package: str, program: Path) -> None:
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    base = mirror().rstrip("/")
    index = lzma.decompress(_read(f"{base}/dists/{release}/main/binary-{architecture}/Packages.xz")).decode()
    entry = next(text for text in index.split("\n\n") if text.startswith(f"Package: {package}\n"))
    fields = dict(line.split(": ", 1) for line in entry.splitlines() if not line.startswith(" ") and ": " in line)
    archive = _read(f"{base}/{fields['Filename']}")
    if hashlib.sha256(archive).hexdigest() != fields["SHA256"]:
        sys.exit(f"kubectl: {fields['Filename']} is not what its index says")
    with tempfile.TemporaryDirectory(dir=program.parent) as directory:
        path = Path(directory, "package.deb")
        path.write_bytes(archive)
        subprocess.run(["dpkg", "-x", str(path), directory], check=True)
        shutil.move(Path(directory, "usr", "bin", "kubectl"), f"{program}.new")
    os.replace(f"{program}.new", program)


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
        content: bytes = answer.read()
        return content


if __name__ == "__main__":
    for version in sys.argv[1:] or PACKAGES:
        print(kubectl(version))
