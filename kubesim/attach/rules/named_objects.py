"""Finds the missing object in a message of the kubelet: a ConfigMap, a Secret, a claim, or a key in one of them.

Mirrors: kubelet_pods.go makeEnvironmentVariables; volume/configmap, volume/secret SetUpAt
"""

from __future__ import annotations

import re

_KINDS = {"configmap": "ConfigMap", "secret": "Secret", "persistentvolumeclaim": "PersistentVolumeClaim"}
_NOT_FOUND = re.compile(r'\b(configmap|secret|persistentvolumeclaim)s? "([^"\s]+)" not found', re.IGNORECASE)
_NO_KEY = re.compile(r"couldn't find key (\S+) in (ConfigMap|Secret) (\S+)")


def named_object(message: str) -> str:
    """The missing object in a message: `ConfigMap settings not found`, `no key url in Secret shop/db`; empty if it
    names none."""
    found = _NOT_FOUND.search(message)
    if found is not None:
        return f"{_KINDS[found.group(1).lower()]} {found.group(2)} not found"
    no_key = _NO_KEY.search(message)
    return f"no key {no_key.group(1)} in {no_key.group(2)} {no_key.group(3)}" if no_key is not None else ""
