"""Fields of a scenario that access this machine or its network, which only the user can allow.

A path or URL for which the scenario has manifests is simulated and accesses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kubesim.scenario.language.document import Spec
from kubesim.scenario.load.yaml_source import Path
from kubesim.scenario.play.node.static_sources import file_plan, url_plan

KUBELET_CONFIGURATION: Final = "kubeletConfiguration"
CNI: Final = {"conf_dir": ("cni", "confDir"), "bin_dirs": ("cni", "binDirs")}
PLUGIN_DIR: Final = ("cni", "plugin", "dir")
RUNTIME: Final = ("runtime",)
CRI: Final = {"endpoint": ("cri", "endpoint"), "state": ("cri", "state")}
_PRIVATE: Final = ("simulated", "cni")  # runtimes that leave the machine alone
_SOURCES: Final = "sources"
_HTTP: Final = (_SOURCES, "http")
_STATIC_POD_PATH: Final = (KUBELET_CONFIGURATION, "staticPodPath")
_STATIC_POD_URL: Final = (KUBELET_CONFIGURATION, "staticPodURL")
_FLAGS: Final[dict[Path, str]] = {
    CNI["conf_dir"]: "--cni-conf-dir",
    CNI["bin_dirs"]: "--cni-bin-dir",
    PLUGIN_DIR: "--network-plugin-dir",
    RUNTIME: "--runtime",
    CRI["endpoint"]: "--cri-endpoint",
    CRI["state"]: "--cri-state",
    (_SOURCES, "file", "path"): "--pod-manifest-path",
    _STATIC_POD_PATH: "--pod-manifest-path",
    (*_HTTP, "url"): "--manifest-url",
    _STATIC_POD_URL: "--manifest-url",
}


def refusal(path: Path) -> str:
    """The error for a field that is not allowed."""
    instead = f", or give the value with {_FLAGS[path]}" if path in _FLAGS else ""
    return f"reaches this machine: allow that with --allow-host{instead}"


def host_fields(given: Mapping[str, Any], spec: Spec, overridden: Collection[Path]) -> Iterator[Path]:
    """The fields below `spec` that access this machine. `overridden`: fields that a flag overrides."""
    for path in _candidates(spec):
        if path not in overridden and _value(given, path):
            yield path


def _candidates(spec: Spec) -> Iterator[Path]:
    yield from CNI.values()
    yield PLUGIN_DIR
    if spec.runtime not in _PRIVATE:
        yield RUNTIME
    yield from CRI.values()
    if file_plan(spec).real:
        yield (_SOURCES, "file", "path")
        yield _STATIC_POD_PATH
    url = url_plan(spec)
    if url is not None and url.real:
        yield (*_HTTP, "url")
        yield _STATIC_POD_URL
        yield from ((*_HTTP, "tls", name) for name in ("caFile", "certFile", "keyFile"))
    yield (_SOURCES, "apiserver")
    yield (_SOURCES, "bootstrapCheckpoint", "path")


def _value(given: Any, path: Path) -> Any:
    for step in path:
        given = given.get(step) if isinstance(given, Mapping) else None
    return given
