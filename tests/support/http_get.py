"""GET requests to servers started by tests."""

from __future__ import annotations

import urllib.error
import urllib.request


def get(address: str, path: str, method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(address + path, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
