"""The package index configured for pip, and its data about releases."""

from __future__ import annotations

import ast
import html
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Mapping

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

_LINK = re.compile(r'<a\s[^>]*href="[^"#]*#sha256=([0-9a-f]{64})"[^>]*>([^<]+)</a>', re.IGNORECASE)
_LIMIT_S = 60


def setting(listed: str, name: str) -> str:
    """A setting in the output of `pip config list`: environment variables override `install`, which overrides
    `global`.
    """
    values = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    found = next((values[key] for key in (f":env:.{name}", f"install.{name}", f"global.{name}") if key in values), "''")
    return str(ast.literal_eval(found))


class Index:
    """Reads pages of the index. Failures raise OSError."""

    def __init__(self) -> None:
        from pip._internal.models.index import PyPI  # pip's default index

        words = [sys.executable, "-m", "pip", "config", "list"]
        listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        self._simple = (setting(listed, "index-url") or PyPI.simple_url).rstrip("/")
        self._tls = ssl.create_default_context(cafile=setting(listed, "cert") or None)

    def page(self, name: str) -> str:
        """All files of a project."""
        return self._read(f"{self._simple}/{name}/")

    def release(self, name: str, version: str) -> str:
        """JSON about a release, with known vulnerabilities. Not every index has it."""
        return self._read(f"{self._simple.removesuffix('/simple')}/pypi/{name}/{version}/json")

    def _read(self, url: str) -> str:
        with urllib.request.urlopen(url, timeout=_LIMIT_S, context=self._tls) as answer:
            return str(answer.read().decode())


def hashes(page: str, version: str) -> list[str]:
    """The hashes of all wheels and source archives of a release, sorted."""
    files: Mapping[str, str] = {html.unescape(name).strip(): digest for digest, name in _LINK.findall(page)}
    wanted = Version(version)
    return sorted({digest for name, digest in files.items() if _version(name) == wanted})


def _version(file: str) -> Version | None:
    try:
        return parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return None  # an egg, or an invalid file name
