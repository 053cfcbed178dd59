"""EnsureImageExists: pull policy, access check, back-off, and the image pull.

Called at each container start. By default the kubelet pulls one image at a time, in the order of requests (see
ImagePullSettings).

Mirrors: pkg/kubelet/images/image_manager.go EnsureImageExists, puller.go, helpers.go throttleImagePulling.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from kubesim.api.images import InvalidReference, apply_default_image_tag
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import Clock
from kubesim.concurrency.token_bucket import TokenBucket
from kubesim.errors import KubesimError, RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.golang.text import duration, quoted
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.images.pull_credentials import AuthConfig, InvalidPullSecret, PullSecret, lookup_pull_credentials
from kubesim.runtime.images.pull_records import PullRecords
from kubesim.runtime.kuberuntime.decide.backoff import Backoff, new_image_backoff
from kubesim.runtime.protocol import Runtime, SandboxConfig
from kubesim.values import mutable, value_object

IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
IMAGE_INSPECT_ERROR = "ImageInspectError"
ERR_IMAGE_PULL = "ErrImagePull"
ERR_IMAGE_NEVER_PULL = "ErrImageNeverPull"
INVALID_IMAGE_NAME = "InvalidImageName"
REGISTRY_UNAVAILABLE = "RegistryUnavailable"
SIGNATURE_VALIDATION_FAILED = "SignatureValidationFailed"


@value_object
class ImagePullSettings:
    """Serial pulls, or up to this many in parallel (None: unlimited); and the registry's rate limit."""

    serialize: bool = True
    max_parallel: int | None = None
    qps: float = 5
    burst: int = 10


class ImageError(KubesimError):
    """An image error: the waiting reason for the status, and its message."""

    # Only crash loops set the time of the pod worker's next sync; after an image error the usual interval applies.
    retry_at: int | None = None

    def __init__(self, reason: str, message: str) -> None:
        self.reason, self.message = reason, message
        super().__init__(f"{reason}: {message}")


@mutable
class _Request:
    """A pull request: the image as in the pod spec, with the default tag, and the registry credentials."""

    pod: Pod
    container: str
    requested: str
    image: str
    pull_secrets: tuple[ApiObject, ...] = ()
    sandbox: SandboxConfig | None = None
    _credentials: tuple[AuthConfig, ...] | None = None

    def credentials(self) -> tuple[AuthConfig, ...]:
        """Looked up once, and only if needed. Raises ImageError."""
        if self._credentials is None:
            try:
                self._credentials = lookup_pull_credentials(self.image, self.pull_secrets)
            except InvalidPullSecret as error:
                # Upstream has no reason for this error, so the message is the reason.
                raise ImageError(str(error), str(error)) from error
        return self._credentials

    def secrets(self) -> list[PullSecret]:
        return [auth.source for auth in self.credentials()]

    @property
    def backoff_key(self) -> str:
        return f"{self.pod.metadata.uid}_{self.requested}"


@value_object
class _Pulled:
    image_ref: str
    size: int
    took: int
    secret: PullSecret | None  # the secret whose credentials succeeded


class ImageManager:
    """The image manager of one kubelet."""

    def __init__(
        self,
        runtime: Runtime,
        events: EventRecorder,
        clock: Clock,
        *,
        backoff: Backoff | None = None,
        records: PullRecords | None = None,
        settings: ImagePullSettings | None = None,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._runtime = runtime
        self._events = events
        self._clock = clock
        self.backoff = new_image_backoff() if backoff is None else backoff  # `or` would discard an empty one
        self._records = records or PullRecords()
        self._check_access = gates.enabled("KubeletEnsureSecretPulledImages")
        self._rules = gates.rules
        self._previous_errors: dict[str, str] = {}  # back-off key -> last pull error
        settings = settings or ImagePullSettings()
        self._limiter = TokenBucket(settings.qps, settings.burst) if settings.qps else None
        limit = 1 if settings.serialize else settings.max_parallel
        # As with Go's channels, both serve in the order of requests.
        self._turns: AbstractAsyncContextManager[None] = asyncio.Semaphore(limit) if limit else nullcontext()

    async def ensure_image_exists(
        self,
        pod: Pod,
        image: str,
        pull_policy: str,
        *,
        container: str = "",
        pull_secrets: Sequence[ApiObject] = (),
        sandbox: SandboxConfig | None = None,
    ) -> str:
        """The image id, after a pull if necessary. Raises ImageError after emitting Events for the user."""
        try:
            request = _Request(pod, container, image, apply_default_image_tag(image), tuple(pull_secrets), sandbox)
        except InvalidReference as error:
            message = f"Failed to apply default image tag {quoted(image)}: {error}"
            self._events.event(pod, "Warning", "InspectFailed", message, container)
            raise ImageError(INVALID_IMAGE_NAME, message) from error
        may_be_present = pull_policy in ("IfNotPresent", "Never")
        image_ref = ""
        if may_be_present or self._rules.inspects_images_first:
            image_ref = await self._precheck(request, pull_policy)
        if image_ref and may_be_present:
            if self._may_use(request, image_ref):
                return image_ref
            if pull_policy == "Never":
                # Same error as for an absent image, so that a pod cannot find out which images are on the node.
                raise self._not_present(request)
        return await self._pull(request)

    async def _precheck(self, request: _Request, pull_policy: str) -> str:
        """The id of the present image; empty if it must be pulled."""
        try:
            info = await self._runtime.image_status(request.image)
        except RuntimeCallError as error:
            # As upstream, the message contains the id that was not found.
            named = request.requested if self._rules.inspects_images_first else ""
            message = f"Failed to inspect image {quoted(named)}: {error}"
            self._event(request, "Warning", "InspectFailed", message)
            raise ImageError(IMAGE_INSPECT_ERROR, message) from error
        if info is not None and info.id:
            return info.id
        if pull_policy == "Never":
            raise self._not_present(request)
        return ""

    def _may_use(self, request: _Request, image_ref: str) -> bool:
        message = f"Container image {quoted(request.requested)} already present on machine"
        if self._check_access:
            if self._records.must_attempt_image_pull(request.requested, image_ref, request.secrets):
                return False
            message += " and can be accessed by the pod"
        self._event(request, "Normal", "Pulled", message)
        return True

    def _not_present(self, request: _Request) -> ImageError:
        message = f"Container image {quoted(request.requested)} is not present with pull policy of Never"
        self._event(request, "Warning", "ErrImageNeverPull", message)
        return ImageError(ERR_IMAGE_NEVER_PULL, message)

    async def _pull(self, request: _Request) -> str:
        """Pull with records of intent and success."""
        request.credentials()
        if not self._check_access:
            return (await self._pull_unless_backing_off(request)).image_ref
        self._records.record_pull_intent(request.requested)
        try:
            pulled = await self._pull_unless_backing_off(request)
        except BaseException:
            self._records.record_image_pull_failed(request.requested)
            raise
        self._records.record_image_pulled(request.requested, pulled.image_ref, pulled.secret)
        return pulled.image_ref

    async def _pull_unless_backing_off(self, request: _Request) -> _Pulled:
        key = request.backoff_key
        if self.backoff.is_in_back_off_since_update(key, self._clock.now()):
            message = f"Back-off pulling image {quoted(request.requested)}"
            self._event(request, "Normal", "BackOff", message)
            previous = self._previous_errors.get(key)
            repeats = previous and self._rules.repeats_pull_error
            raise ImageError(IMAGE_PULL_BACK_OFF, f"{message}: {previous}" if repeats else message)
        self._previous_errors.pop(key, None)
        image = quoted(request.requested)
        self._event(request, "Normal", "Pulling", self._rules.pulling_event.format(image=image))
        asked = self._clock.now()
        try:
            pulled = await self._take_turn(request)
        except RuntimeCallError as error:
            raise self._pull_failed(request, str(error)) from error
        now = self._clock.now()
        took, waited = _in_milliseconds(pulled.took), _in_milliseconds(now - asked)
        message = self._rules.pulled_event.format(image=image, took=took, waited=waited, size=pulled.size)
        self._event(request, "Normal", "Pulled", message)
        self.backoff.gc(now)
        return pulled

    async def _take_turn(self, request: _Request) -> _Pulled:
        async with self._turns:
            began = self._clock.now()
            if self._limiter is not None and not self._limiter.try_accept(began):
                raise RuntimeCallError("pull QPS exceeded")
            credentials, secret = request.credentials(), None
            if credentials:
                image_ref, secret = await self._pull_with(credentials, request)
            else:  # anonymously
                image_ref = await self._runtime.pull_image(request.image, request.pod, None, request.sandbox)
            size = await self._image_size(request.image) if image_ref else 0
            return _Pulled(image_ref, size, self._clock.now() - began, secret)

    async def _pull_with(self, credentials: tuple[AuthConfig, ...], request: _Request) -> tuple[str, PullSecret]:
        """Try each credential until one succeeds."""
        problems: dict[str, None] = {}
        for auth in credentials:
            try:
                return await self._runtime.pull_image(request.image, request.pod, auth, request.sandbox), auth.source
            except RuntimeCallError as error:
                problems[str(error)] = None
        raise RuntimeCallError("".join(problems) if len(problems) == 1 else f"[{', '.join(problems)}]")

    async def _image_size(self, image: str) -> int:
        try:
            info = await self._runtime.image_status(image)
        except RuntimeCallError:
            return 0  # only used in an Event message
        return 0 if info is None else info.size

    def _pull_failed(self, request: _Request, text: str) -> ImageError:
        self._event(request, "Warning", "Failed", f"Failed to pull image {quoted(request.requested)}: {text}")
        now = self._clock.now()
        self.backoff.next(request.backoff_key, now, now)
        error = pull_error(request.requested, text)
        self._previous_errors[request.backoff_key] = f"{error.reason}: {error.message}"
        return error

    def _event(self, request: _Request, event_type: str, reason: str, message: str) -> None:
        self._events.event(request.pod, event_type, reason, message, request.container)


def pull_error(image: str, text: str) -> ImageError:
    """The error for a runtime message: two errors are recognised by their first word."""
    for reason, cause in (
        (REGISTRY_UNAVAILABLE, "the registry is unavailable"),
        (SIGNATURE_VALIDATION_FAILED, "the signature validation failed"),
    ):
        if text.startswith(reason):
            return ImageError(reason, f"image pull failed for {image} because {cause}{text.removeprefix(reason)}")
    return ImageError(ERR_IMAGE_PULL, text)


def _in_milliseconds(micros: int) -> str:
    return duration(micros // MILLISECOND * MILLISECOND)
