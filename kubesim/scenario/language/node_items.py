"""What a scenario says about a node, beside its name and capacity.

`NodeFiles`: `/etc/resolv.conf` and others that the kubelet or a hostPath volume reads.
"""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError


def _absolute(path: str) -> str:
    if not path.startswith("/") or posixpath.normpath(path) != path or path == "/":
        raise PydanticCustomError("path", "{path} must be the absolute path of a file", {"path": repr(path)})
    return path


NodeFiles = dict[Annotated[str, AfterValidator(_absolute)], str]
