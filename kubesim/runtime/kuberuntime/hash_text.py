"""Go-formatted texts (JSON, %v) that the kubelet hashes or stores with a container.

Mirrors: encoding/json (string escaping), apimachinery resource.ParseQuantity (what a Quantity holds after
parsing, which %v shows), core/v1 generated.pb.go ResourceRequirements.String.
"""

from __future__ import annotations

from functools import lru_cache

from kubesim.api.pod import ResourceList, ResourceRequirements
from kubesim.api.quantity import quantity

# Go escapes characters that could end a script element or a JavaScript line; Python does not.


def resources_text(resources: ResourceRequirements) -> str:
    """ResourceRequirements.String(): part of the back-off key, so that changed resources reset the back-off."""
    claims_text = ""
    for claim in resources.claims:
        claims_text += f"ResourceClaim{{Name:{claim.get('name', '')},Request:{claim.get('request', '')},}},"
    return (
        f"&ResourceRequirements{{Limits:{_resource_list_text(resources.limits)},"
        f"Requests:{_resource_list_text(resources.requests)},Claims:[]ResourceClaim{{{claims_text}}},}}"
    )


def _resource_list_text(resources: ResourceList) -> str:
    if not resources:
        return "ResourceList{}"
    return "ResourceList{" + "".join(f"{k}: {quantity_text(v)}," for k, v in sorted(resources.items())) + "}"


@lru_cache(maxsize=4096, typed=True)
def quantity_text(value: str | int | float) -> str:
    """A parsed Quantity in %v format: number and scale, big number, cached text, format."""
    parsed = quantity(value)
    if parsed.wide:
        # Go stores these as a pointer to a big number and prints the address, which cannot be reproduced.
        return f"{{{{0 0}} {{{parsed}}}  {parsed.format}}}"
    return f"{{{{{parsed.unscaled} {parsed.scale}}} {{<nil>}} {parsed.kept} {parsed.format}}}"
