"""The image manager: pulls, their queue, and access to existing images."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from kubesim.api.images import InvalidReference, apply_default_image_tag, trim_image_tag_digest
from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.features import FeatureGates
from kubesim.runtime.images.image_manager import ImageError, ImageManager, ImagePullSettings
from kubesim.runtime.images.pull_credentials import PullSecret
from kubesim.runtime.images.pull_records import PullRecords, verification_policy
from kubesim.runtime.kuberuntime.decide.backoff import Backoff
from kubesim.runtime.protocol import Runtime
from tests.support.fakes.runtimes import Registry

A, B = (Pod(metadata=ObjectMeta(name=name, namespace="ns", uid=f"uid-{name}")) for name in "ab")


def make(clock: LoopClock, **options: object) -> tuple[Registry, ImageManager]:
    registry = Registry(clock)
    return registry, ImageManager(cast(Runtime, registry), registry, clock, **options)  # type: ignore[arg-type]


def test_pulls_are_sequential_and_the_event_shows_both_durations() -> None:
    async def main() -> None:
        clock = LoopClock()
        registry, images = make(clock)
        await asyncio.gather(
            images.ensure_image_exists(A, "one", "IfNotPresent"), images.ensure_image_exists(B, "two:v1", "Always")
        )
        assert registry.pulls == [(0, "one:latest"), (2, "two:v1")]
        assert registry.reasons()[-1] == (
            "b",
            "Pulled",
            'Successfully pulled image "two:v1" in 2s (4s including waiting). Image size: 1234 bytes.',
        )

    run_virtual(main)


@pytest.mark.parametrize(("limit", "begins"), [(None, [0, 0, 0]), (2, [0, 0, 2])])
def test_parallel_pulls_with_and_without_a_limit(limit: int | None, begins: list[float]) -> None:
    async def main() -> None:
        clock = LoopClock()
        registry, images = make(clock, settings=ImagePullSettings(serialize=False, max_parallel=limit))
        await asyncio.gather(*(images.ensure_image_exists(A, f"image-{n}", "Always") for n in range(3)))
        assert [at for at, _ in registry.pulls] == begins

    run_virtual(main)


def test_a_failed_pull_backs_off_by_pod_and_the_message_keeps_the_cause() -> None:
    async def main() -> None:
        clock = LoopClock()
        registry, images = make(clock)
        registry.failure = "RegistryUnavailable: try later"
        with pytest.raises(ImageError) as first:
            await images.ensure_image_exists(A, "app", "IfNotPresent")
        assert first.value.reason == "RegistryUnavailable"
        assert first.value.message == "image pull failed for app because the registry is unavailable: try later"
        with pytest.raises(ImageError) as second:
            await images.ensure_image_exists(A, "app", "IfNotPresent")
        assert second.value.reason == "ImagePullBackOff"
        assert second.value.message == f'Back-off pulling image "app": {first.value}'
        assert registry.reasons()[-1] == ("a", "BackOff", 'Back-off pulling image "app"')
        registry.failure = ""
        assert await images.ensure_image_exists(B, "app", "IfNotPresent") == "id-of-app:latest"
        assert await images.ensure_image_exists(A, "app", "Never") == "id-of-app:latest"

    run_virtual(main)


def test_the_same_content_under_another_name_is_pulled_again() -> None:
    async def main() -> None:
        clock = LoopClock()
        registry, images = make(clock)
        registry.ids = {"mine:1": "sha", "yours:1": "sha"}
        registry.present = {"yours:1": "sha"}
        await images.ensure_image_exists(A, "yours:1", "IfNotPresent")
        assert registry.pulls == []  # it existed before the kubelet pulled anything
        await images.ensure_image_exists(A, "mine:1", "IfNotPresent")
        with pytest.raises(ImageError, match="ErrImageNeverPull"):
            await images.ensure_image_exists(B, "yours:1", "Never")
        await images.ensure_image_exists(B, "yours:1", "IfNotPresent")
        assert [image for _, image in registry.pulls] == ["mine:1", "yours:1"]

    run_virtual(main)


def test_without_the_access_check_the_old_message_is_used() -> None:
    async def main() -> None:
        registry, images = make(LoopClock(), gates=FeatureGates({"KubeletEnsureSecretPulledImages": False}))
        registry.present = {"app:1": "x"}
        await images.ensure_image_exists(A, "app:1", "IfNotPresent")
        assert registry.reasons() == [("a", "Pulled", 'Container image "app:1" already present on machine')]

    run_virtual(main)


def test_too_many_concurrent_pulls_are_rejected() -> None:
    async def main() -> None:
        registry, images = make(LoopClock(), settings=ImagePullSettings(serialize=False))
        answers = await asyncio.gather(
            *(images.ensure_image_exists(A, f"image-{n}", "Always") for n in range(11)), return_exceptions=True
        )
        assert [str(answer) for answer in answers if isinstance(answer, Exception)] == [
            "ErrImagePull: pull QPS exceeded"
        ]
        assert len(registry.pulls) == 10

    run_virtual(main)


def test_a_pull_in_progress_does_not_prevent_others() -> None:
    records = PullRecords()
    assert not records.must_attempt_image_pull("app:1", "id", list)
    records.record_pull_intent("app:1")
    assert records.must_attempt_image_pull("app:1", "id", list)
    records.record_image_pull_failed("app:1")
    assert not records.must_attempt_image_pull("app:1", "id", list)


def test_an_image_pulled_with_a_secret_is_for_pods_with_that_secret() -> None:
    mine, same, other = (
        PullSecret(uid, "ns", f"secret-{uid}", hash) for uid, hash in (("1", "x"), ("2", "x"), ("3", "y"))
    )
    rotated = PullSecret("1", "ns", "secret-1", "z")
    records = PullRecords()
    records.record_pull_intent("app:1")
    records.record_image_pulled("app:1", "id", mine)
    assert not records.must_attempt_image_pull("app:1", "id", lambda: [mine])
    assert not records.must_attempt_image_pull("app:2", "id", lambda: [same])  # the same credentials
    assert not records.must_attempt_image_pull("app:1", "id", lambda: [rotated])  # the same secret
    assert records.must_attempt_image_pull("app:1", "id", lambda: [other])
    assert records.must_attempt_image_pull("app:1", "id", list)
    assert records.must_attempt_image_pull("copy:1", "id", lambda: [mine])  # under another name
    records.record_pull_intent("app:1")
    records.record_image_pulled("app:1", "id")  # the registry gave it to a pod without credentials
    assert not records.must_attempt_image_pull("app:1", "id", list)


def test_verification_policies() -> None:
    assert verification_policy("AlwaysVerify")("x", False)
    assert not verification_policy("NeverVerify")("x", True)
    allow = verification_policy("NeverVerifyAllowlistedImages", ("registry.io/open/*", "docker.io/library/busybox"))
    assert [
        allow(image, True) for image in ("registry.io/open/a/b:1", "docker.io/library/busybox@sha256:" + "a" * 64)
    ] == [
        False,
        False,
    ]
    assert allow("docker.io/library/busybox2", True)


@pytest.mark.parametrize(
    ("image", "tagged"),
    [
        ("busybox", "busybox:latest"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("host:5000", "host:5000"),
        ("a/b:v1", "a/b:v1"),
        ("a@sha256:" + "0" * 64, "a@sha256:" + "0" * 64),
        ("UPPER.io/x", "UPPER.io/x:latest"),
    ],
)
def test_a_default_tag_is_added_only_without_a_tag_and_a_digest(image: str, tagged: str) -> None:
    assert apply_default_image_tag(image) == tagged


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        ("", "invalid reference format"),
        ("bad:tag:x", "invalid reference format"),
        ("Busybox", "invalid reference format: repository name (library/Busybox) must be lowercase"),
        ("a" * 64, f"invalid repository name ({'a' * 64}), cannot specify 64-byte hexadecimal strings"),
        ("x@sha256:" + "0" * 40, "invalid checksum digest length"),
        ("x@md5:" + "0" * 32, "unsupported digest algorithm"),
        ("r.io/" + "a" * 256, "repository name must not be more than 255 characters"),
        ("x\n", "invalid reference format"),
    ],
)
def test_invalid_image_names(image: str, problem: str) -> None:
    with pytest.raises(InvalidReference) as found:
        apply_default_image_tag(image)
    assert str(found.value).endswith(f": {problem}")


def test_the_repository_as_written() -> None:
    assert trim_image_tag_digest("localhost:5000/a/b:v1@sha256:" + "0" * 64) == "localhost:5000/a/b"


def test_a_configured_back_off_is_used_even_if_it_is_empty() -> None:
    async def main() -> None:
        own = Backoff(SECOND, 4 * SECOND)
        assert make(LoopClock(), backoff=own)[1].backoff is own

    run_virtual(main)


def test_a_v1_30_kubelet_in_back_off_does_not_repeat_the_error() -> None:
    async def story() -> None:
        registry, images = make(LoopClock(), gates=FeatureGates(profile="v1.30"))
        registry.failure = "no such image"
        for reason in ("ErrImagePull", "ImagePullBackOff"):
            with pytest.raises(ImageError) as raised:
                await images.ensure_image_exists(A, "app", "IfNotPresent")
            assert raised.value.reason == reason
        assert raised.value.message == 'Back-off pulling image "app"'

    run_virtual(story)
