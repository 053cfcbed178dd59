"""libcni's cache of ADD results: `results/NETWORK-CONTAINER-INTERFACE`, one JSON object per file.

It also reads files of older libcni versions, which contain a bare result.

Mirrors: containernetworking/cni libcni/api.go cacheAdd, getCachedResult, getCachedConfig, GetCachedAttachments
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from kubesim.cni.spec.results import AnyResult, convert, create_from_bytes, plain
from kubesim.errors import CniError
from kubesim.golang.file_errors import describe_os_error
from kubesim.golang.json import InOrder, dumps
from kubesim.golang.structs import BYTES, OBJECT, STRING, Array, Slice, Struct, unmarshal
from kubesim.golang.text import quoted
from kubesim.values import replace, value_object

DEFAULT_CACHE_DIR: Final = "/var/lib/cni"
KIND: Final = "cniCacheV1"

_CACHED = Struct(
    "libcni.cachedInfo",
    {
        "kind": STRING,
        "containerId": STRING,
        "config": BYTES,
        "ifName": STRING,
        "networkName": STRING,
        "netns": STRING,
        "cniArgs": Slice(Array(2, STRING)),
        "capabilityArgs": OBJECT,
        "result": OBJECT,
    },
)


@value_object
class RuntimeConf:
    """The runtime's parameters for one attachment of a container to a network. Contract:

    - `container_id`, the name of the network and `ifname` identify the attachment. DEL must get the values of ADD.
    - `netns` is the path of the network namespace; it may be empty in DEL when the namespace is already gone.
    - `args` become CNI_ARGS, in this order. `capability_args` become `runtimeConfig` of plugins that declare the
      capability; others do not see them.
    """

    container_id: str = ""
    netns: str = ""
    ifname: str = ""
    args: Sequence[tuple[str, str]] = ()
    capability_args: Mapping[str, Any] | None = None


@value_object
class NetworkAttachment:
    """A cached ADD."""

    container_id: str
    network: str
    ifname: str
    config: bytes = b""
    netns: str = ""
    cni_args: Sequence[tuple[str, str]] = ()
    capability_args: Mapping[str, Any] | None = field(default=None)

    def runtime_conf(self) -> RuntimeConf:
        return RuntimeConf(self.container_id, self.netns, self.ifname, self.cni_args, self.capability_args)


class Cache:
    def __init__(self, directory: str = DEFAULT_CACHE_DIR) -> None:
        self.results = os.path.join(directory, "results")
        self.written: Callable[[str, bytes], bytes] = lambda name, content: content  # the bytes that reach the disk

    def path(self, network: str, runtime: RuntimeConf) -> str:
        if not network or not runtime.container_id or not runtime.ifname:
            parts = (
                f"network name ({quoted(network)}), container ID ({quoted(runtime.container_id)}), "
                f"and interface name ({quoted(runtime.ifname)})"
            )
            raise CniError(f"cache file path requires {parts}")
        return os.path.normpath(os.path.join(self.results, f"{network}-{runtime.container_id}-{runtime.ifname}"))

    def add(self, result: AnyResult | None, config: bytes, network: str, runtime: RuntimeConf) -> None:
        path = self.path(network, runtime)
        content = dumps(_entry(result, config, network, runtime)).encode("utf-8", "surrogatepass")
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        except OSError as error:
            raise CniError(describe_os_error("mkdir", error, str(error.filename))) from None
        try:
            # Written in place, as libcni does: a concurrent reader must cope with a partial file.
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, self.written(os.path.basename(path), content))
            finally:
                os.close(fd)
        except OSError as error:
            raise CniError(describe_os_error("open", error, path)) from None

    def remove(self, network: str, runtime: RuntimeConf) -> None:
        """Remove an entry; missing and invalid entries are removed too."""
        try:
            os.remove(self.path(network, runtime))
        except (OSError, CniError, ValueError):
            pass

    def result(self, network: str, version: str, runtime: RuntimeConf) -> AnyResult | None:
        """The cached result in the list's current version; None if there is none."""
        data = _read(self.path(network, runtime))
        if data is None:
            return None
        try:
            cached = unmarshal(_CACHED, data)
        except ValueError:
            cached = {}
        if cached.get("kind") == KIND:
            data = dumps(cached.get("result")).encode()
        result = create_from_bytes(data)
        try:
            return convert(result, version)
        except CniError as error:
            problem = f"failed to convert cached result to config version {quoted(version)}: {error}"
            raise CniError(problem, error) from None

    def config(self, network: str, runtime: RuntimeConf) -> tuple[bytes, RuntimeConf] | None:
        """Configuration and arguments of the ADD."""
        data = _read(self.path(network, runtime))
        if data is None:
            return None
        try:
            cached = unmarshal(_CACHED, data)
        except ValueError as error:
            raise CniError(f"failed to unmarshal cached network {quoted(network)} config: {error}") from None
        kind = cached.get("kind", "")
        if kind != KIND:
            raise CniError(f"read cached network {quoted(network)} config has wrong kind: {kind}")
        args = runtime.args if cached.get("cniArgs") is None else _pairs(cached["cniArgs"])
        return cached.get("config", b""), replace(runtime, args=args, capability_args=cached.get("capabilityArgs"))

    def attachments(self, container_id: str = "") -> list[NetworkAttachment]:
        """All cached attachments, or those of one container. Other files are skipped."""
        try:
            names = sorted(os.listdir(self.results), key=os.fsencode)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CniError(describe_os_error("open", error, self.results)) from None
        found = (self._attachment(name) for name in names if _may_be_of(name, container_id))
        return [entry for entry in found if entry and (not container_id or entry.container_id == container_id)]

    def _attachment(self, name: str) -> NetworkAttachment | None:
        data = _read(os.path.join(self.results, name))
        if data is None:
            return None
        try:
            cached = unmarshal(_CACHED, data)
        except ValueError:
            return None
        if cached.get("kind") != KIND or not cached.get("ifName") or not cached.get("networkName"):
            return None
        return NetworkAttachment(
            cached.get("containerId", ""),
            cached["networkName"],
            cached["ifName"],
            cached.get("config", b""),
            cached.get("netns", ""),
            _pairs(cached.get("cniArgs") or ()),
            cached.get("capabilityArgs"),
        )


def _entry(result: AnyResult | None, config: bytes, network: str, runtime: RuntimeConf) -> InOrder:
    entry = InOrder(
        kind=KIND,
        containerId=runtime.container_id,
        config=base64.b64encode(config).decode(),
        ifName=runtime.ifname,
        networkName=network,
    )
    optional: dict[str, Any] = {
        "netns": runtime.netns,
        "cniArgs": [list(pair) for pair in runtime.args],
        "capabilityArgs": runtime.capability_args,
        "result": None if result is None else plain(result.to_json()),
    }
    entry.update((key, value) for key, value in optional.items() if value)
    return entry


def _pairs(args: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in args)


def _may_be_of(name: str, container_id: str) -> bool:
    part = f"-{container_id}-"
    at = name.find(part)
    return not container_id or (at > 0 and at + len(part) < len(name))


def _read(path: str) -> bytes | None:
    """The cached entry; None for any read error."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None
