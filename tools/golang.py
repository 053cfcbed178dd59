"""Finds Go, or downloads that of a Debian release into the cache directory: `python -m tools.golang`."""

from __future__ import annotations

import os
import shutil

from tools.debian import unpacked
from tools.matrix import CACHE

_RELEASE, _VERSION = "bookworm", "1.19"
DIRECTORY = CACHE.parent / "go"


def go_environment() -> dict[str, str]:
    """The environment in which `go` runs, without modules of others, and with a cache that survives."""
    found = shutil.which("go")
    packages = [f"golang-{_VERSION}-go", f"golang-{_VERSION}-src"]
    given = {"GOCACHE": str(DIRECTORY / "cache"), "GOPROXY": "off", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    if found is not None:
        return {**os.environ, **given}
    root = unpacked(_RELEASE, packages, DIRECTORY / f"go-{_VERSION}", "usr") / "lib" / f"go-{_VERSION}"
    return {**os.environ, **given, "GOROOT": str(root), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}


if __name__ == "__main__":
    print(shutil.which("go", path=go_environment()["PATH"]))
