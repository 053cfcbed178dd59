"""What holds for images of every runtime."""

from __future__ import annotations

from kubesim.testing.runtime_contract.subject import Subject, refusal


async def present(subject: Subject) -> None:
    status = await subject.runtime.image_status(subject.image)
    assert status is not None
    assert status.id
    assert status.size > 0
    assert status.id in [image.id for image in await subject.runtime.list_images()]


async def missing(subject: Subject) -> None:
    assert await subject.runtime.image_status(subject.missing_image) is None
    call = subject.runtime.pull_image(subject.missing_image, subject.pod("pull"))
    assert await refusal(call, "an image is pulled from a registry that does not exist")
