"""Programs of other Debian releases, unpacked into the cache directory and never installed.

The packages come from the mirror that apt is configured with. Those that are named here contain programs that need
nothing newer than the C library of bookworm.
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

DIRECTORY = CACHE.parent / "debian-packages"
_TIMEOUT_S = 120
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def programs(release: str, package: str) -> Path:
    """The directory with the programs of the package, downloaded if missing."""
    place = DIRECTORY / f"{package}-{release}"
    if not place.exists():
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        with open(DIRECTORY / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                _fetch(release, package, place)
    return place / "usr" / "bin"


def _fetch(release: str, package: str, place: Path) -> None:
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    base = mirror().rstrip("/")
    index = lzma.decompress(_read(f"{base}/dists/{release}/main/binary-{architecture}/Packages.xz")).decode()
    entry = next(text for text in index.split("\n\n") if text.startswith(f"Package: {package}\n"))
    fields = dict(line.split(": ", 1) for line in entry.splitlines() if not line.startswith(" ") and ": " in line)
    archive = _read(f"{base}/{fields['Filename']}")
    if hashlib.sha256(archive).hexdigest() != fields["SHA256"]:
        sys.exit(f"{package}: {fields['Filename']} is not what its index says")
    unpacked = Path(tempfile.mkdtemp(dir=place.parent))
    try:
        path = unpacked / "package.deb"
        path.write_bytes(archive)
        subprocess.run(["dpkg", "-x", str(path), str(unpacked)], check=True)
        path.unlink()
        os.rename(unpacked, place)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
        content: bytes = answer.read()
        return content
