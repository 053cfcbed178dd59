"""Image names: what tag an image has when none is written.

Mirrors: pkg/util/parsers ParseImageName; github.com/distribution/reference ParseNormalizedNamed
"""

from __future__ import annotations

import re
from functools import lru_cache

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
_DOMAIN_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_DOMAIN_LABEL}(?:\.{_DOMAIN_LABEL})*|\[(?:[a-fA-F0-9:]+)\])"
_REFERENCE = re.compile(
    rf"(?:{_HOST}(?::[0-9]+)?/)?(?P<path>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}
_PATH_MAX = 255
_OTHER_NAMES = {"index.docker.io": "docker.io"}


@lru_cache(maxsize=1024)
def image_tag(image: str) -> str:
    """The tag an image is pulled by: `latest` if neither tag nor digest is written, nothing if it is no image name."""
    found = _REFERENCE.fullmatch(_normalized(image))
    if not found or len(found["path"]) > _PATH_MAX or _IDENTIFIER.fullmatch(image):
        return ""
    digest = found["digest"]
    return "" if digest and not _is_digest(digest) else found["tag"] or ("" if digest else "latest")


def _normalized(image: str) -> str:
    """With the domain and the `library/` that may be left out."""
    first, slash, rest = image.partition("/")
    is_domain = bool(slash) and (any(char in first for char in ".:") or first == "localhost" or first.lower() != first)
    domain, remainder = (first, rest) if is_domain else ("docker.io", image)
    domain = _OTHER_NAMES.get(domain, domain)
    if domain == "docker.io" and "/" not in remainder:
        remainder = f"library/{remainder}"
    return f"{domain}/{remainder}"


def _is_digest(digest: str) -> bool:
    algorithm, _, digits = digest.partition(":")
    return _DIGEST_LENGTHS.get(algorithm) == len(digits) and digits == digits.lower()
