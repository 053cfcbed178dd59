"""Bundled plugins, and their installation into a directory of binaries."""

from __future__ import annotations

import os
import stat
import sys
from typing import Final

SHIPPED: Final = ("flannel",)

_SCRIPT = """#!{python}
import sys

sys.path.insert(0, {root!r})
from kubesim.cni.plugins.{name} import main

main()
"""


def install(name: str, directory: str) -> str:
    """Write an executable file that runs a bundled plugin with this interpreter; returns its path."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    path = os.path.join(directory, name)
    os.makedirs(directory, exist_ok=True)
    temporary = f"{path}.new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(_SCRIPT.format(python=sys.executable, root=root, name=name))
    os.chmod(temporary, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
    os.replace(temporary, path)  # atomic, because a plugin may be executed at any time
    return path
