"""ImageService: references, identities, pulls that fail, and what is removed."""

from __future__ import annotations

import base64

import pytest

from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import CriClient, with_client

TESTS = "gcr.io/k8s-staging-cri-tools"
DIGEST = "sha256:9700f9a2f5bf2c45f2f605a0bd3bce7cf37420ec9d3ed50ac2758413308766bf"


async def image(client: CriClient, name: str) -> cri.Image | None:
    answer = await client.call("ImageStatus", image=cri.ImageSpec(image=name))
    return answer.image if answer.HasField("image") else None


async def remove(client: CriClient, name: str) -> None:
    await client.call("RemoveImage", image=cri.ImageSpec(image=name))


@pytest.mark.parametrize(
    ("name", "tags", "digests"),
    [
        (f"{TESTS}/test-image-tag:test", [f"{TESTS}/test-image-tag:test"], None),
        (f"{TESTS}/test-image-latest", [f"{TESTS}/test-image-latest:latest"], None),
        (f"{TESTS}/test-image-digest@{DIGEST}", [], [f"{TESTS}/test-image-digest@{DIGEST}"]),
        ("busybox", ["docker.io/library/busybox:latest"], None),
    ],
)
def test_a_pulled_image_has_the_references_of_its_name(name: str, tags: list[str], digests: list[str] | None) -> None:
    async def story(client: CriClient) -> None:
        assert await image(client, name) is None
        identifier = await client.pull(name)
        found = await image(client, name)
        assert found is not None
        assert (found.id, list(found.repo_tags)) == (identifier, tags)
        assert digests is None or list(found.repo_digests) == digests
        assert found.size > 0
        for reference in (found.id, found.id.removeprefix("sha256:")[:12], *found.repo_tags, *found.repo_digests):
            assert await image(client, reference) == found
        await remove(client, found.id)
        assert await image(client, name) is None

    with_client(story)


@pytest.mark.parametrize(
    "names",
    [
        [f"{TESTS}/test-image-tags:{tag}" for tag in (1, 2, 3)],
        ["registry.k8s.io/pause:3.9", "k8s.gcr.io/pause:3.9"],
        ["nginx", "docker.io/library/nginx:latest"],
    ],
)
def test_references_to_the_same_image_are_one_image(names: list[str]) -> None:
    async def story(client: CriClient) -> None:
        ids = {await client.pull(name) for name in names}
        assert len(ids) == 1
        (found,) = (await client.call("ListImages")).images
        assert len(found.repo_tags) == len({*names} - {"nginx"})
        await remove(client, names[0])
        assert [await image(client, name) for name in (*names, *ids)] == [None] * (len(names) + 1)
        assert not (await client.call("ListImages")).images

    with_client(story)


def test_different_names_are_different_images() -> None:
    async def story(client: CriClient) -> None:
        names = [f"{TESTS}/test-image-{number}:latest" for number in (1, 2, 3)]
        ids = [await client.pull(name) for name in names]
        assert len({*ids}) == 3
        images = (await client.call("ListImages")).images
        assert {each.id: list(each.repo_tags) for each in images} == {
            identifier: [name] for identifier, name in zip(ids, names, strict=True)
        }
        (one,) = (await client.call("ListImages", filter=cri.ImageFilter(image=cri.ImageSpec(image=names[0])))).images
        assert one.id == ids[0]

    with_client(story)


@pytest.mark.parametrize(
    ("name", "uid", "username"),
    [
        ("test-image-user-uid", 1002, ""),
        ("test-image-user-username", None, "www-data"),
        ("test-image-user-uid-group", 1003, ""),
        ("test-image-user-username-group", None, "www-data"),
    ],
)
def test_an_image_tells_its_user(name: str, uid: int | None, username: str) -> None:
    async def story(client: CriClient) -> None:
        await client.pull(f"{TESTS}/{name}")
        found = await image(client, f"{TESTS}/{name}")
        assert found is not None
        assert (found.uid.value if found.HasField("uid") else None, found.username) == (uid, username)

    with_client(story)


def test_removing_an_image_that_does_not_exist_succeeds() -> None:
    async def story(client: CriClient) -> None:
        for _ in range(2):
            await remove(client, "0" * 64)

    with_client(story)


def test_the_scenario_decides_which_images_there_are() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.pull("example.com/app:broken")
        full = "example.com/app:broken"
        assert (failed.value.code, failed.value.text) == (
            "Unknown",
            f'failed to pull and unpack image "{full}": failed to resolve reference "{full}": {full}: not found',
        )
        with pytest.raises(CriError, match="boom"):
            await client.pull("nginx:1.27")
        await client.pull("nginx:1.27")
        assert await image(client, "redis:7") is not None

    images = [
        {"name": "example.com/*:broken", "missing": True},
        {"name": "nginx:*", "errors": ["boom"]},
        {"name": "redis:7", "present": True},
    ]
    with_client(story, {"images": images})


def test_an_invalid_reference_is_refused() -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.pull("UPPER/case:x y")
        assert failed.value.text.startswith('failed to parse image reference "UPPER/case:x y": ')

    with_client(story)


@pytest.mark.parametrize(
    ("auth", "works"),
    [
        (None, False),
        (cri.AuthConfig(username="me", password="right"), True),
        (cri.AuthConfig(username="me", password="wrong"), False),
        (cri.AuthConfig(auth=base64.b64encode(b"me:right").decode()), True),
        (cri.AuthConfig(username="me", password="right", server_address="https://other.example"), False),
        (cri.AuthConfig(username="me", password="right", server_address="https://private.example"), True),
    ],
)
def test_credentials_are_those_of_the_message(auth: cri.AuthConfig | None, works: bool) -> None:
    async def story(client: CriClient) -> None:
        asked = {"image": cri.ImageSpec(image="private.example/app:1")} | ({} if auth is None else {"auth": auth})
        if works:
            await client.call("PullImage", **asked)
            return
        with pytest.raises(CriError) as failed:
            await client.call("PullImage", **asked)
        assert "right" not in failed.value.text
        assert "wrong" not in failed.value.text

    credentials = {"username": "me", "password": "right"}
    with_client(story, {"images": [{"name": "private.example/*", "credentials": credentials}]})


def test_auth_that_cannot_be_decoded_is_not_quoted() -> None:
    async def story(client: CriClient) -> None:
        auth = cri.AuthConfig(auth=base64.b64encode(b"secret").decode())
        with pytest.raises(CriError) as failed:
            await client.call("PullImage", image=cri.ImageSpec(image="x"), auth=auth)
        assert failed.value.text == "invalid decoded auth: it has no colon"

    with_client(story)


def test_the_file_system_of_images_is_a_directory_that_exists() -> None:
    async def story(client: CriClient) -> None:
        empty = (await client.call("ImageFsInfo")).image_filesystems[0]
        await client.pull()
        full = (await client.call("ImageFsInfo")).image_filesystems[0]
        assert full.used_bytes.value > empty.used_bytes.value == 0
        assert full.fs_id.mountpoint.startswith("/")

    with_client(story)
