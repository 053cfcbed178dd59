"""Logs as files in CRI's format, and the files of this machine that containers see."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.runtime.cri.server.containers.log_files import MAX_LINE, log_path
from kubesim.runtime.cri.server.containers.propagation import propagation_problem
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from kubesim.runtime.kuberuntime.labels import CONTAINER_TERMINATION_MESSAGE_PATH
from tests.support.cri_node import CriClient, container_message, sandbox_message, with_client

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (stdout|stderr) ([FP]) (.*)")


def entries(path: Path) -> list[tuple[str, str, str]]:
    """Stream, tag and text of each line."""
    found = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
    return [(match[1], match[2], match[3]) for match in found if match is not None]


def logging_sandbox(directory: Path) -> cri.PodSandboxConfig:
    config: cri.PodSandboxConfig = sandbox_message(log_directory=str(directory))
    return config


def test_output_is_written_with_time_and_stream(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path)
        sandbox = await client.sandbox(config)
        script = "echo out; echo err >&2; printf partial"
        identifier = await client.run(sandbox, "sh", "-c", script, config=config, log_path="main.log")
        assert (await client.status(identifier)).log_path == str(tmp_path / "main.log")
        await client.clock.sleep(SECOND)
        log = tmp_path / "main.log"
        assert entries(log) == [("stdout", "F", "out"), ("stderr", "F", "err"), ("stdout", "P", "partial")]
        assert log.stat().st_mode & 0o777 == 0o640

    with_client(story)


def test_a_long_line_is_written_in_parts(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path)
        sandbox = await client.sandbox(config)
        script = f"head -c {MAX_LINE + 10} /dev/zero | tr '\\0' x; echo"
        await client.run(sandbox, "sh", "-c", script, config=config, log_path="main.log")
        await client.clock.sleep(SECOND)
        assert [(tag, len(text)) for _, tag, text in entries(tmp_path / "main.log")] == [("P", MAX_LINE), ("F", 10)]

    with_client(story)


def test_a_log_is_reopened_after_its_file_was_renamed(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path)
        sandbox = await client.sandbox(config)
        script = "while true; do echo tick; sleep 1; done"
        identifier = await client.run(sandbox, "sh", "-c", script, config=config, log_path="main.log")
        await client.clock.sleep(3 * SECOND)
        log, old = tmp_path / "main.log", tmp_path / "main.log.old"
        log.rename(old)
        await client.call("ReopenContainerLog", container_id=identifier)
        assert log.exists()
        before = len(entries(old))
        await client.clock.sleep(3 * SECOND)
        assert (len(entries(old)), len(entries(log))) == (before, 3)

    with_client(story)


def test_a_log_that_cannot_be_opened_fails_the_start(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path / "nosuch")
        identifier = await client.create(
            await client.sandbox(config), container_message("top", log_path="main.log"), config
        )
        with pytest.raises(CriError) as failed:
            await client.call("StartContainer", container_id=identifier)
        path = tmp_path / "nosuch" / "main.log"
        assert failed.value.text == (
            "failed to create containerd task: failed to create container loggers: "
            f"failed to create and open log file: open {path}: no such file or directory"
        )

    with_client(story)


def test_a_log_is_not_written_through_a_link_or_into_a_pipe(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path)
        sandbox = await client.sandbox(config)
        (tmp_path / "victim").write_text("")
        (tmp_path / "link.log").symlink_to(tmp_path / "victim")
        os.mkfifo(tmp_path / "pipe.log")
        for name in ("link", "pipe"):
            message = container_message("echo", "x", name=name, log_path=f"{name}.log")
            identifier = await client.create(sandbox, message, config)
            with pytest.raises(CriError, match="failed to create and open log file"):
                await client.call("StartContainer", container_id=identifier)
        assert (tmp_path / "victim").read_text() == ""

    with_client(story)


@pytest.mark.parametrize(
    ("directory", "path", "expected"),
    [
        ("/var/log/pods/a", "main/0.log", "/var/log/pods/a/main/0.log"),
        ("/var/log/pods/a/", "/main/0.log", "/var/log/pods/a/main/0.log"),
        ("", "main.log", ""),
        ("/var/log", "", ""),
    ],
)
def test_the_log_is_below_the_directory_of_the_sandbox(directory: str, path: str, expected: str) -> None:
    assert log_path(directory, path) == expected


def test_a_log_path_that_leaves_its_directory_is_refused(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = logging_sandbox(tmp_path)
        with pytest.raises(CriError, match="is not below the log directory"):
            await client.create(
                await client.sandbox(config), container_message("top", log_path="../../etc/passwd"), config
            )

    with_client(story)


# -- files of this machine --------------------------------------------------------------------------------------


def mount(container_path: str, host_path: Path, *, readonly: bool = False) -> cri.Mount:
    return cri.Mount(container_path=container_path, host_path=str(host_path), readonly=readonly)


def config_map(folder: Path, text: str) -> None:
    """A volume as the kubelet's atomic writer leaves it."""
    data = folder / f"..{len(list(folder.iterdir()))}"
    data.mkdir()
    (data / "key").write_text(text)
    link = folder / "..data.new"
    link.symlink_to(data.name)
    link.rename(folder / "..data")
    if not (folder / "key").exists():
        (folder / "key").symlink_to("..data/key")


def test_mounted_files_are_read_and_followed(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        folder = tmp_path / "map"
        folder.mkdir()
        config_map(folder, "one")
        (tmp_path / "hosts").write_text("10.0.0.9 name\n")
        mounts = [mount("/config", folder, readonly=True), mount("/etc/hosts", tmp_path / "hosts")]
        identifier = await client.run(await client.sandbox(), "top", mounts=mounts)
        assert await client.exec(identifier, "cat", "/config/key", "/etc/hosts") == (0, "one10.0.0.9 name\n", "")
        config_map(folder, "two")
        assert (await client.exec(identifier, "cat", "/config/key"))[1] == "two"
        assert (await client.exec(identifier, "touch", "/config/new"))[0] == 1

    with_client(story)


def test_containers_share_a_directory_in_the_simulation_only(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        mounts = [mount("/shared", tmp_path)]
        first = await client.run(sandbox, "top", name="a", mounts=mounts)
        second = await client.run(sandbox, "top", name="b", mounts=mounts)
        await client.exec(first, "sh", "-c", "echo hello > /shared/file")
        assert (await client.exec(second, "cat", "/shared/file"))[1] == "hello\n"

    with_client(story)
    assert not list(tmp_path.iterdir())


def test_only_the_mount_itself_is_read(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        (tmp_path / "secret").write_text("secret")
        folder = tmp_path / "folder"
        folder.mkdir()
        (folder / "escape").symlink_to("../secret")
        (folder / "binary").write_bytes(b"\xff\xfe")
        os.mkfifo(folder / "pipe")
        (folder / "text").write_text("text")
        identifier = await client.run(await client.sandbox(), "top", mounts=[mount("/folder", folder)])
        assert (await client.exec(identifier, "ls", "-A", "/folder"))[1] == "text\n"

    with_client(story)


def test_the_termination_message_is_written_into_its_file(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        file = tmp_path / "abc"
        file.write_text("")
        annotations = {CONTAINER_TERMINATION_MESSAGE_PATH: "/dev/termination-log"}
        script = "echo why > /dev/termination-log; exit 1"
        mounts = [mount("/dev/termination-log", file)]
        identifier = await client.run(
            await client.sandbox(), "sh", "-c", script, mounts=mounts, annotations=annotations
        )
        await client.clock.sleep(SECOND)
        assert file.read_text() == "why\n"
        assert (await client.status(identifier)).message == ""

    with_client(story)


def test_no_file_is_created_for_a_termination_message(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        annotations = {CONTAINER_TERMINATION_MESSAGE_PATH: "/dev/termination-log"}
        mounts = [mount("/dev/termination-log", tmp_path / "nosuch")]
        script = "echo why > /dev/termination-log"
        await client.run(await client.sandbox(), "sh", "-c", script, mounts=mounts, annotations=annotations)
        await client.clock.sleep(SECOND)

    with_client(story)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"recursive_read_only": True}, "recursive read-only mount conflicts with RW mount"),
        (
            {"recursive_read_only": True, "readonly": True, "propagation": "PROPAGATION_BIDIRECTIONAL"},
            'needs private propagation, got "PROPAGATION_BIDIRECTIONAL"',
        ),
        ({"image": cri.ImageSpec(image="x"), "host_path": ""}, "readonly must be true while mount image"),
        ({"image": cri.ImageSpec(image="x"), "readonly": True}, "hostpath must be empty while mount image"),
    ],
)
def test_mounts_that_contradict_themselves_are_refused(tmp_path: Path, fields: dict[str, object], problem: str) -> None:
    async def story(client: CriClient) -> None:
        await client.pull("x")
        given = cri.Mount(**{"container_path": "/mnt", "host_path": str(tmp_path), **fields})  # type: ignore[arg-type]
        with pytest.raises(CriError) as failed:
            await client.create(await client.sandbox(), container_message("top", mounts=[given]))
        assert problem in failed.value.text

    with_client(story)


def test_an_image_volume_names_its_image_in_the_status() -> None:
    async def story(client: CriClient) -> None:
        image = await client.pull("example.com/data:1")
        spec = cri.ImageSpec(image="example.com/data:1")
        given = cri.Mount(container_path="/data", readonly=True, image=spec)
        identifier = await client.run(await client.sandbox(), "top", mounts=[given])
        (shown,) = (await client.status(identifier)).mounts
        assert shown.image.image_ref == image

    with_client(story)


TABLE = """
21 1 254:0 / / rw - ext4 /dev/vda rw
22 21 0:30 / /shared rw shared:7 - tmpfs tmpfs rw
23 21 0:31 / /slave rw master:7 - tmpfs tmpfs rw
24 22 0:32 / /shared/with\\040space rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "propagation", "problem"),
    [
        ("/srv", "PROPAGATION_PRIVATE", ""),
        ("/shared/x", "PROPAGATION_BIDIRECTIONAL", ""),
        ("/shared/x", "PROPAGATION_HOST_TO_CONTAINER", ""),
        ("/slave", "PROPAGATION_HOST_TO_CONTAINER", ""),
        ("/slave", "PROPAGATION_BIDIRECTIONAL", 'path "/slave" is mounted on "/slave" but it is not a shared mount'),
        (
            "/shared/with space/x",
            "PROPAGATION_HOST_TO_CONTAINER",
            'path "/shared/with space/x" is mounted on "/shared/with space" but it is not a shared or slave mount',
        ),
        (
            "/sharedness",
            "PROPAGATION_BIDIRECTIONAL",
            'path "/sharedness" is mounted on "/" but it is not a shared mount',
        ),
    ],
)
def test_mounts_are_propagated_only_where_this_machine_shares_them(path: str, propagation: str, problem: str) -> None:
    assert propagation_problem(cri.Mount(host_path=path, propagation=propagation), TABLE) == problem
