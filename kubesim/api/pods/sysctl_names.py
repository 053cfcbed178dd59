"""Names of kernel parameters (sysctls) in a pod.

Mirrors: component-helpers/node/util/sysctl NormalizeName
"""

from __future__ import annotations

_SWAP = str.maketrans("./", "/.")


def normalize_name(name: str) -> str:
    """The name with dots as separators: if slashes are the separators, dots and slashes are swapped."""
    before_slash = name.partition("/")[0]
    return name if before_slash == name or "." in before_slash else name.translate(_SWAP)
