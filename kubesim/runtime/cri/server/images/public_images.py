"""Facts about public images that their names do not tell: which names mean the same image, and its accounts.

The content of an image is not modelled. A fact is listed if a client of a runtime can notice it: the images of
Kubernetes' own tests of runtimes are meant for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from kubesim.api.images import ImageReference
from kubesim.runtime.cri.server.translate.users import USUAL_ACCOUNTS, Account, Accounts, passwd

T = TypeVar("T")
# Registries with the same content.
_MIRRORS = {"k8s.gcr.io": "registry.k8s.io", "registry-1.docker.io": "docker.io", "mirror.gcr.io": "docker.io"}
_PASSWD = "etc/passwd"
_TEST_IMAGES = "gcr.io/k8s-staging-cri-tools"
# All tags of these repositories are the same image.
_ONE_IMAGE = frozenset({f"{_TEST_IMAGES}/test-image-tags"})
_USERS = {
    f"{_TEST_IMAGES}/test-image-user-uid": "1002",
    f"{_TEST_IMAGES}/test-image-user-username": "www-data",
    f"{_TEST_IMAGES}/test-image-user-uid-group": "1003:1003",
    f"{_TEST_IMAGES}/test-image-user-username-group": "www-data:100",
}
_ACCOUNTS = {
    f"{_TEST_IMAGES}/test-image-predefined-group": Account("default-user", 1000, 1000, (50000,)),
    "registry.k8s.io/e2e-test-images/nonewprivs": Account("nonroot", 1000, 1000),
}
# Programs of images whose name is not that of a program.
_PROGRAMS = {f"{_TEST_IMAGES}/hostnet-nginx-*": ("nginx",), f"{_TEST_IMAGES}/test-image-*": ("sh",)}
_FILES = {f"{_TEST_IMAGES}/hostnet-nginx-*": {"etc/nginx/conf.d/default.conf": "server {\n    listen 12003;\n}\n"}}


def content_name(reference: ImageReference) -> str:
    """The same for all references to the same image; the digest, if that is known."""
    if reference.digest:
        return reference.digest
    domain, _, path = reference.name.partition("/")
    name = f"{_MIRRORS.get(domain, domain)}/{path}"
    return name if name in _ONE_IMAGE else f"{name}:{reference.tag}"


def image_user(reference: ImageReference) -> str:
    """`uid`, `name`, `uid:gid` or `name:group`; empty: root."""
    return _USERS.get(reference.name, "")


def image_accounts(reference: ImageReference) -> Accounts:
    own = _ACCOUNTS.get(reference.name)
    return USUAL_ACCOUNTS if own is None else {**USUAL_ACCOUNTS, own.name: own}


def image_command(reference: ImageReference) -> tuple[str, ...]:
    """Its command; empty if it is that of its name."""
    return _fact(_PROGRAMS, reference.name) or ()


def image_files(reference: ImageReference) -> Mapping[str, str]:
    """Its files that differ from those of every image, by path below the root."""
    return {_PASSWD: passwd(image_accounts(reference)), **(_fact(_FILES, reference.name) or {})}


def _fact(table: Mapping[str, T], name: str) -> T | None:
    """The value of the first pattern that matches."""
    return next((value for pattern, value in table.items() if fnmatchcase(name, pattern)), None)
