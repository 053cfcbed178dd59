"""Predicates for names: label keys and values, and the kinds of resource names.

Mirrors: apimachinery/pkg/util/validation IsQualifiedName, IsValidLabelValue; pkg/apis/core/v1/helper/helpers.go;
pkg/scheduler/util/utils.go IsScalarResourceName
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"


def is_qualified_name(text: str) -> bool:
    """Whether a text is a valid label key: `name` or `prefix.example.com/name`."""
    prefix, slash, name = text.rpartition("/")
    is_prefix = not slash or (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix) is not None)
    return is_prefix and _is_name(name)


def is_label_value(text: str) -> bool:
    return not text or _is_name(text)


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _NAME.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def is_extended_resource_name(name: str) -> bool:
    """Whether a resource belongs to a vendor's domain, such as `example.com/gpu`."""
    if "/" not in name or _is_prefixed_native_resource(name) or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=4096)
def is_scalar_resource_name(name: str) -> bool:
    """Whether a resource is counted in whole numbers, other than cpu, memory, ephemeral storage and pods."""
    return (
        is_extended_resource_name(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or _is_prefixed_native_resource(name)
    )


def is_huge_page_resource_name(name: str) -> bool:
    return name.startswith("hugepages-")


def is_dra_extended_resource_name(name: str) -> bool:
    """Whether a device class may provide the extended resource."""
    return is_extended_resource_name(name) or name.startswith(_DEVICE_CLASS_PREFIX)


def _is_prefixed_native_resource(name: str) -> bool:
    return "kubernetes.io/" in name
