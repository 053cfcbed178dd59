"""Versions of the CNI specification: parsing, comparison, and a plugin's VERSION output.

Mirrors: containernetworking/cni pkg/version/plugin.go, version.go; pkg/types/create DecodeVersion
"""

from __future__ import annotations

import re
from typing import Final

from kubesim.errors import CniError
from kubesim.golang.structs import STRING, Slice, Struct, unmarshal
from kubesim.golang.text import quoted

CURRENT: Final = "1.1.0"
ALL: Final = ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0")

_PARTS = ("major", "minor", "micro")
_INFO = Struct("version.pluginInfo", {"cniVersion": STRING, "supportedVersions": Slice(STRING)})
_CARRIER = Struct('struct { CNIVersion string "json:\\"cniVersion\\"" }', {"cniVersion": STRING}, short="")


def parse_version(text: str) -> tuple[int, int, int]:
    """Parse a version: `1.1` is 1.1.0. An empty text is 0.1.0, from before configurations had versions."""
    if not text:
        return 0, 1, 0
    parts = text.split(".")
    if len(parts) > len(_PARTS):
        raise CniError(f"invalid version {quoted(text)}: too many parts")
    numbers = [0, 0, 0]
    for n, part in enumerate(parts):
        try:
            numbers[n] = atoi(part)
        except ValueError as error:
            raise CniError(f"failed to convert {_PARTS[n]} version part {quoted(part)}: {error}") from None
    return numbers[0], numbers[1], numbers[2]


def atoi(text: str) -> int:
    """strconv.Atoi with its error message."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"strconv.Atoi: parsing {quoted(text)}: value out of range")
    return number


def at_least(version: str, other: str) -> bool:
    """GreaterThanOrEqualTo."""
    return parse_version(version) >= parse_version(other)


def greater_than(version: str, other: str) -> bool:
    return parse_version(version) > parse_version(other)


def decode_version(data: bytes) -> str:
    """The cniVersion of a configuration or a result."""
    try:
        version: str = unmarshal(_CARRIER, data).get("cniVersion", "")
    except ValueError as error:
        raise CniError(f"decoding version from network config: {error}") from None
    return version or "0.1.0"


def decode_plugin_info(data: bytes) -> tuple[str, ...]:
    """The supported versions in a plugin's VERSION output."""
    try:
        info = unmarshal(_INFO, data)
    except ValueError as error:
        raise CniError(f"decoding version info: {error}") from None
    if not info.get("cniVersion"):
        raise CniError("decoding version info: missing field cniVersion")
    supported = info.get("supportedVersions")
    if not supported:
        if info["cniVersion"] == "0.2.0":
            return "0.1.0", "0.2.0"
        raise CniError("decoding version info: missing field supportedVersions")
    return tuple(supported)
