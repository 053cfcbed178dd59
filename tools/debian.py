"""Unpacks packages of Debian releases without installing them, from the mirror that apt is configured with."""

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
from collections.abc import Sequence
from pathlib import Path

from tools.matrix import mirror

_TIMEOUT_S = 300
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def unpacked(release: str, packages: Sequence[str], target: Path, wanted: str = ".") -> Path:
    """The target, which is the file or directory `wanted` of the unpacked packages; downloaded if it is missing."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent) as directory:
                for package in packages:
                    _unpack(release, package, directory)
                shutil.move(Path(directory, wanted), f"{target}.new")
            os.replace(f"{target}.new", target)
    return target


def _unpack(release: str, package: str, directory: str) -> None:
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    base = mirror().rstrip("/")
    index = lzma.decompress(_read(f"{base}/dists/{release}/main/binary-{architecture}/Packages.xz")).decode()
    entry = next(text for text in index.split("\n\n") if text.startswith(f"Package: {package}\n"))
    fields = dict(line.split(": ", 1) for line in entry.splitlines() if not line.startswith(" ") and ": " in line)
    archive = _read(f"{base}/{fields['Filename']}")
    if hashlib.sha256(archive).hexdigest() != fields["SHA256"]:
        sys.exit(f"{package}: {fields['Filename']} is not what its index says")
    path = Path(directory, "package.deb")
    path.write_bytes(archive)
    subprocess.run(["dpkg", "-x", str(path), directory], check=True)
    path.unlink()


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
        content: bytes = answer.read()
        return content
