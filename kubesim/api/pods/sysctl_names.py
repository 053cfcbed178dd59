"""Names of kernel parameters, as a pod may write them.

Mirrors: component-helpers/node/util/sysctl NormalizeName
"""

from __future__ import annotations

_SWAP = str.maketrans("./", "/.")


def normalize_name(name: str) -> str:
    """With dots between its parts; slashes are read as dots, and the reverse."""
    before_slash = name.partition("/")[0]
    return name if before_slash == name or "." in before_slash else name.translate(_SWAP)
