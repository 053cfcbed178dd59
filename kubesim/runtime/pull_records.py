"""Who may use an image that is already on the node: records of what the kubelet pulled, and under which name.

An image that the kubelet pulled may be used under the repository name it was pulled by; under another name for the
same content it is pulled once more, so that the registry can say no. Images that were there before are free to all.
Pulls here use no pull secrets, so every pulled record is open to all pods of the node.

Mirrors: pkg/kubelet/images/pullmanager (image_pull_manager.go PullManager, image_pull_policies.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection

from kubesim.errors import UsageError
from kubesim.runtime.image_reference import InvalidReference, trim_image_tag_digest

VerificationPolicy = Callable[[str, bool], bool]
"""(image, pulled by the kubelet) -> must the pod prove that it may use the image?"""


class PullRecords:
    """What the kubelet pulled (by image id), and what it is pulling."""

    def __init__(self, policy: VerificationPolicy | None = None) -> None:
        self._policy = policy or verification_policy("NeverVerifyPreloadedImages")
        self._pulled: dict[str, set[str]] = {}  # image id -> repositories it was pulled by
        self._intents: Counter[str] = Counter()

    def record_pull_intent(self, image: str) -> None:
        self._intents[image] += 1

    def record_image_pulled(self, image: str, image_ref: str) -> None:
        self._pulled.setdefault(image_ref, set()).add(trim_image_tag_digest(image))
        self._end_intent(image)

    def record_image_pull_failed(self, image: str) -> None:
        self._end_intent(image)

    def _end_intent(self, image: str) -> None:
        self._intents[image] -= 1
        if self._intents[image] <= 0:
            del self._intents[image]

    def must_attempt_image_pull(self, image: str, image_ref: str) -> bool:
        """Is a pull needed although the image is present?"""
        repositories = self._pulled.get(image_ref)
        # A pull under way makes an image that was there before count as the kubelet's own.
        pulled_by_kubelet = repositories is not None or image in self._intents
        if not self._policy(image, pulled_by_kubelet):
            return False
        if repositories is None:
            return True
        try:
            return trim_image_tag_digest(image) not in repositories
        except InvalidReference:
            return True


def verification_policy(name: str, allowlist: Collection[str] = ()) -> VerificationPolicy:
    """The `imagePullCredentialsVerificationPolicy` of a kubelet configuration."""
    if name == "NeverVerify":
        return lambda image, pulled: False
    if name == "NeverVerifyPreloadedImages":
        return lambda image, pulled: pulled
    if name == "AlwaysVerify":
        return lambda image, pulled: True
    if name == "NeverVerifyAllowlistedImages":
        return lambda image, pulled: not _allowlisted(image, allowlist)
    raise UsageError(f"unknown imagePullCredentialsVerificationPolicy {name!r}")


def _allowlisted(image: str, allowlist: Collection[str]) -> bool:
    try:
        image = trim_image_tag_digest(image)
    except InvalidReference:
        pass  # compared as it was written
    return any(image.startswith(entry[:-1]) if entry.endswith("/*") else image == entry for entry in allowlist)
