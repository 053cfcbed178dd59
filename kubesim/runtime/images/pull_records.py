"""Image pull records: they decide which pods may use an image that is already on the node.

If an image was pulled without credentials, all pods of the node may use it under that repository name. If it was pulled
with a secret, pods with that secret or equal credentials may. All other pods must pull, so that the registry can deny
access. All pods may use preloaded images.

Mirrors: pkg/kubelet/images/pullmanager (image_pull_manager.go PullManager, image_pull_policies.go).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import field

from kubesim.api.images import InvalidReference, trim_image_tag_digest
from kubesim.errors import UsageError
from kubesim.runtime.images.pull_credentials import PullSecret
from kubesim.values import mutable

VerificationPolicy = Callable[[str, bool], bool]
"""(image, pulled by the kubelet) -> must the pod prove that it may use the image?"""

WRITE_WHILE_MATCHING_LIMIT = 100  # secrets per record


@mutable
class _Access:
    """Access to an image under one repository name."""

    all_pods: bool = False
    secrets: list[PullSecret] = field(default_factory=list)


class PullRecords:
    """Pulled images (by image id), and pulls in progress."""

    def __init__(self, policy: VerificationPolicy | None = None) -> None:
        self._policy = policy or verification_policy("NeverVerifyPreloadedImages")
        self._pulled: dict[str, dict[str, _Access]] = {}  # image id -> repositories it was pulled from
        self._intents: Counter[str] = Counter()
        self.unreadable: set[str] = set()  # image ids with a damaged record
        self.on_write: Callable[[str], object] = lambda image_ref: None

    def record_pull_intent(self, image: str) -> None:
        self._intents[image] += 1

    def record_image_pulled(self, image: str, image_ref: str, secret: PullSecret | None = None) -> None:
        """Record a pull. Without a secret, the image is public."""
        self._record(image, image_ref, secret)
        self._end_intent(image)

    def _record(self, image: str, image_ref: str, secret: PullSecret | None) -> None:
        if image_ref in self.unreadable:
            self.unreadable.discard(image_ref)
            self._pulled.pop(image_ref, None)
        access = self._pulled.setdefault(image_ref, {}).setdefault(trim_image_tag_digest(image), _Access())
        if secret is None:
            access.all_pods, access.secrets = True, []
        elif not access.all_pods:
            access.secrets = [known for known in access.secrets if not known.is_at(secret)] + [secret]
        self.on_write(image_ref)

    def record_image_pull_failed(self, image: str) -> None:
        self._end_intent(image)

    def _end_intent(self, image: str) -> None:
        self._intents[image] -= 1
        if self._intents[image] <= 0:
            del self._intents[image]

    def must_attempt_image_pull(
        self, image: str, image_ref: str, secrets: Callable[[], Collection[PullSecret]]
    ) -> bool:
        """Whether a present image must be pulled again. `secrets` are the pod's secrets that match the image."""
        if image_ref in self.unreadable:
            return True
        repositories = self._pulled.get(image_ref)
        # With a pull in progress, a preloaded image counts as pulled by the kubelet.
        pulled_by_kubelet = repositories is not None or image in self._intents
        if not self._policy(image, pulled_by_kubelet):
            return False
        if repositories is None:
            return True
        try:
            access = repositories.get(trim_image_tag_digest(image))
        except InvalidReference:
            return True
        if access is None or access.all_pods:
            return access is None
        return bool(not access.secrets or not self._has_matching_secret(image, image_ref, access, secrets()))

    def _has_matching_secret(
        self, image: str, image_ref: str, access: _Access, secrets: Collection[PullSecret]
    ) -> bool:
        """Whether a secret or its credentials match the record; a match is stored."""
        may_write = len(access.secrets) < WRITE_WHILE_MATCHING_LIMIT
        for secret in secrets:
            for known in access.secrets:
                same = secret.credential_hash == known.credential_hash
                if same or (secret.is_at(known) and may_write):
                    if may_write and secret != known:
                        self._record(image, image_ref, secret)
                    return True
        return False


def verification_policy(name: str, allowlist: Collection[str] = ()) -> VerificationPolicy:
    """The `imagePullCredentialsVerificationPolicy` of the kubelet configuration."""
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
        pass  # compared unparsed
    return any(image.startswith(entry[:-1]) if entry.endswith("/*") else image == entry for entry in allowlist)
