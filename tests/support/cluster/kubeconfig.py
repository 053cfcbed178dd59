"""Kubeconfig files for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def kubeconfig(path: Path, server: str, user: dict[str, Any], **cluster: Any) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)
