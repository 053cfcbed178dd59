"""PodTemplateSpec: the template for a controller's pods, and the hash that distinguishes templates.

Mirrors: k8s.io/api/core/v1/types.go PodTemplateSpec; pkg/controller/controller_utils.go ComputeHash
"""

from __future__ import annotations

from kubesim.api.meta import ObjectMeta
from kubesim.api.model import Model, go
from kubesim.api.pod import PodSpec
from kubesim.api.schema.codec import encode
from kubesim.golang.fnv import fnv1a
from kubesim.golang.json import dumps

_SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class PodTemplateSpec(Model):
    metadata: ObjectMeta = go("ObjectMeta")
    spec: PodSpec = go("PodSpec")


def template_hash(template: PodTemplateSpec, collision_count: int | None = None) -> str:
    """The value of the label pod-template-hash: a number whose digits are encoded as letters that form no words.

    Equal templates have equal hashes. The number differs from a real controller's, which hashes Go's dump of the struct
    instead of the template's JSON.
    """
    text = dumps(encode("PodTemplateSpec", template.to_json())).encode()
    if collision_count is not None:
        text += collision_count.to_bytes(4, "little") + bytes(4)
    return safe_encode(str(fnv1a(text, 32)))


def safe_encode(text: str) -> str:
    """The text with each byte mapped to one of the letters used in random names.

    Mirrors: apimachinery/pkg/util/rand SafeEncodeString
    """
    return "".join(_SAFE_LETTERS[byte % len(_SAFE_LETTERS)] for byte in text.encode())
