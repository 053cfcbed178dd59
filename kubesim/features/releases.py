"""The release of Kubernetes that each profile follows: what a node reports as `status.nodeInfo.kubeletVersion`."""

from __future__ import annotations

from collections.abc import Mapping

RELEASES: Mapping[str, str] = {
    "v1.6": "v1.6.13",
    "v1.12": "v1.12.4",
    "v1.30": "v1.30.0",
    "v1.35": "v1.35.8",
    "v1.36": "v1.36.4",
    "v1.37": "v1.37.0",
}
