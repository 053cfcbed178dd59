"""Image references: their syntax, the normalized form, and the default tag.

Mirrors: github.com/distribution/reference (ParseNormalizedNamed, Parse), pkg/util/parsers ParseImageName,
pkg/kubelet/images/image_manager.go applyDefaultImageTag, pkg/kubelet/images/pullmanager trimImageTagDigest.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kubesim.golang.text import quoted
from kubesim.values import value_object

DEFAULT_DOMAIN = "docker.io"
DEFAULT_TAG = "latest"
_LEGACY_DOMAIN = "index.docker.io"
_OFFICIAL_PREFIX = "library/"
_MAX_PATH = 255

_DOMAIN_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PATH_PART}(?:/{_PATH_PART})*"
_TAG = r"\w[\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"

_REFERENCE = re.compile(rf"((?:{_DOMAIN}/)?{_PATH})(?::({_TAG}))?(?:@({_DIGEST}))?", re.ASCII)
_NAME = re.compile(rf"(?:({_DOMAIN})/)?({_PATH})", re.ASCII)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_DIGEST_FORM = re.compile(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}


class InvalidReference(ValueError):
    """Invalid syntax of an image reference; the message is upstream's."""


@value_object
class ImageReference:
    name: str
    tag: str = ""
    digest: str = ""


def parse(text: str) -> ImageReference:
    """Parse a reference literally, without adding anything to the name."""
    if not text:
        raise InvalidReference("repository name must have at least one component")
    found = _REFERENCE.fullmatch(text)
    if found is None:
        lower = text.lower()
        if lower != text and _REFERENCE.fullmatch(lower):
            raise InvalidReference("repository name must be lowercase")
        raise InvalidReference("invalid reference format")
    name, tag, digest = found.groups(default="")
    named = _NAME.fullmatch(name)
    if len(named[2] if named else name) > _MAX_PATH:
        raise InvalidReference(f"repository name must not be more than {_MAX_PATH} characters")
    if digest:
        _check_digest(digest)
    return ImageReference(name, tag, digest)


def _check_digest(digest: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    length = _DIGEST_LENGTHS.get(algorithm)
    if length is None:
        known_form = _DIGEST_FORM.fullmatch(digest)
        raise InvalidReference("unsupported digest algorithm" if known_form else "invalid checksum digest format")
    if len(encoded) != length:
        raise InvalidReference("invalid checksum digest length")
    if encoded != encoded.lower():
        raise InvalidReference("invalid checksum digest format")


@lru_cache(maxsize=4096)
def parse_normalized(text: str) -> ImageReference:
    """Parse and normalize a reference: `busybox` becomes `docker.io/library/busybox`."""
    if _IDENTIFIER.fullmatch(text):
        raise InvalidReference(f"invalid repository name ({text}), cannot specify 64-byte hexadecimal strings")
    domain, remainder = _split_domain(text)
    remote = remainder.partition(":")[0]
    if remote.lower() != remote:
        raise InvalidReference(f"invalid reference format: repository name ({remote}) must be lowercase")
    return parse(f"{domain}/{remainder}")


def _split_domain(text: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    is_domain = slash and (first == "localhost" or "." in first or ":" in first or first.lower() != first)
    domain, remainder = (first, rest) if is_domain else (DEFAULT_DOMAIN, text)
    if domain == _LEGACY_DOMAIN:
        domain = DEFAULT_DOMAIN
    if domain == DEFAULT_DOMAIN and "/" not in remainder:
        remainder = _OFFICIAL_PREFIX + remainder
    return domain, remainder


def image_tag(image: str) -> str:
    """The tag that a pull uses: `latest` without tag and digest, empty for a digest or an invalid name."""
    try:
        reference = parse_normalized(image)
    except InvalidReference:
        return ""
    return reference.tag or ("" if reference.digest else DEFAULT_TAG)


@lru_cache(maxsize=4096)
def apply_default_image_tag(image: str) -> str:
    """The image with `:latest` if it has neither tag nor digest; the name is not normalized."""
    try:
        reference = parse_normalized(image)
    except InvalidReference as error:
        raise InvalidReference(f"couldn't parse image name {quoted(image)}: {error}") from None
    if reference.tag or reference.digest:
        return image
    return f"{image}:{DEFAULT_TAG}"


@lru_cache(maxsize=4096)
def trim_image_tag_digest(image: str) -> str:
    """The repository without tag and digest; the name is not normalized."""
    reference = parse(image)
    if reference.digest:
        image = image.removesuffix(f"@{reference.digest}")
    if reference.tag:
        image = image.removesuffix(f":{reference.tag}")
    return image
