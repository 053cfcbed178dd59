"""The release of Kubernetes that each profile follows, and its container runtime: what a node reports in
`status.nodeInfo` as `kubeletVersion` and `containerRuntimeVersion`."""

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

# One of the versions of docker that these kubelets were tested with (CHANGELOG-1.6, CHANGELOG-1.12).
RUNTIMES: Mapping[str, str] = {
    "v1.6": "docker://1.12.6",
    "v1.12": "docker://18.6.1",
    "v1.30": "containerd://1.7.15",
    "v1.35": "containerd://2.3.0",
    "v1.36": "containerd://2.3.0",
    "v1.37": "containerd://2.3.0",
}
