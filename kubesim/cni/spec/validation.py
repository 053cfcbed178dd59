"""Validation of container ids, network names and interface names.

Mirrors: containernetworking/cni pkg/utils/utils.go; pkg/types/types.go (the codes of errors)
"""

from __future__ import annotations

import re
from typing import Final

from kubesim.errors import PluginError

ERR_INCOMPATIBLE_CNI_VERSION: Final = 1
ERR_UNKNOWN_CONTAINER: Final = 3
ERR_INVALID_ENVIRONMENT_VARIABLES: Final = 4
ERR_IO_FAILURE: Final = 5
ERR_DECODING_FAILURE: Final = 6
ERR_INVALID_NETWORK_CONFIG: Final = 7
ERR_INVALID_NETNS: Final = 8
ERR_TRY_AGAIN_LATER: Final = 11
ERR_INTERNAL: Final = 999

_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.\-]*")
_LONGEST_INTERFACE_NAME = 15  # bytes; the kernel's limit
# unicode.IsSpace; Python also includes the separators U+001C to U+001F.
_FORBIDDEN = re.compile("[/:\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def validate_container_id(container_id: str) -> None:
    if not container_id:
        raise PluginError(ERR_UNKNOWN_CONTAINER, "missing containerID")
    if not _NAME.fullmatch(container_id):
        raise PluginError(ERR_INVALID_ENVIRONMENT_VARIABLES, "invalid characters in containerID", container_id)


def validate_network_name(name: str) -> None:
    if not name:
        raise PluginError(ERR_INVALID_NETWORK_CONFIG, "missing network name:")
    if not _NAME.fullmatch(name):
        raise PluginError(ERR_INVALID_NETWORK_CONFIG, "invalid characters found in network name", name)


def validate_interface_name(name: str) -> None:
    problem, details = "", ""
    if not name:
        problem = "interface name is empty"
    elif len(name.encode("utf-8", "surrogatepass")) > _LONGEST_INTERFACE_NAME:
        problem = "interface name is too long"
        details = f"interface name should be less than {_LONGEST_INTERFACE_NAME + 1} characters"
    elif name in (".", ".."):
        problem = "interface name is . or .."
    elif _FORBIDDEN.search(name):
        problem = "interface name contains / or : or whitespace characters"
    if problem:
        raise PluginError(ERR_INVALID_ENVIRONMENT_VARIABLES, problem, details)
