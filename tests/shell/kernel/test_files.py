"""Files: volumes shared by the containers of a pod, read-only mounts, and change notifications."""

from __future__ import annotations

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.shell import FileFault, VirtualFiles, Volume
from tests.support.shell import SECOND, container_of, run, sh


def test_a_volume_is_shared_but_the_root_is_not() -> None:
    async def main() -> str:
        clock, shared = LoopClock(), Volume()
        writer_files, reader_files = VirtualFiles(), VirtualFiles()
        writer_files.mount("/out", shared)
        reader_files.mount("/in", shared)
        writer = container_of(sh("echo private > /tmp/x; echo hello > /out/f"), clock, files=writer_files)
        writer.start()
        await writer.exited()
        reader = container_of(sh("cat /in/f; ls /tmp; ls /in"), clock, files=reader_files)
        reader.start()
        await reader.exited()
        return reader.log.text()

    assert run_virtual(main) == "hello\nf\n"


def test_nested_mounts_and_single_files() -> None:
    files = VirtualFiles()
    files.mount("/data", Volume({"a": "outer"}))
    files.mount("/data/inner", Volume({"b/c": "inner"}))
    config = Volume({"app.conf": "x=1"})
    files.mount("/etc/app.conf", config, sub_path="app.conf", read_only=True)
    assert files.read("/data/inner/b/../b/c") == "inner"
    assert files.names("/data") == ["a", "inner"]
    assert files.read("/etc/app.conf") == "x=1"
    config.write("app.conf", "x=2")
    assert files.read("/etc/app.conf") == "x=2"
    with pytest.raises(FileFault, match="Read-only file system"):
        files.create("/etc/app.conf", 0)


def test_the_termination_log_is_a_file_that_the_runtime_reads() -> None:
    files, log = VirtualFiles(), Volume({"log": ""})
    files.mount("/dev/termination-log", log, sub_path="log")
    run("echo why > /dev/termination-log; exit 1", files=files)
    assert log.read("log") == "why\n"


def test_a_read_only_root() -> None:
    files = VirtualFiles(read_only=True)
    files.mount("/tmp", Volume())
    outcome = run("echo x > /tmp/f; touch /f; echo x > /etc/f; cat /tmp/f", files=files)
    assert outcome.out == "x\n"
    assert outcome.err == "touch: /f: Read-only file system\nsh: can't create /etc/f: Read-only file system\n"


def test_a_removed_file_exists_while_a_process_has_it_open() -> None:
    assert run("exec 3> /tmp/f; rm /tmp/f; echo x >&3; ls /tmp; echo end").out == "end\n"


def test_tail_follows_a_file_without_polling() -> None:
    async def main() -> list[tuple[float, str]]:
        clock, shared = LoopClock(), Volume()
        files = VirtualFiles()
        files.mount("/var/log", shared)
        follower = container_of(["tail", "-n+1", "-F", "/var/log/1.log"], clock, files=files)
        follower.start()
        writer = container_of(
            sh("sleep 1; for i in 1 2; do echo $i >> /var/log/1.log; sleep 1; done"), clock, files=files
        )
        writer.start()
        await writer.exited()
        follower.kill()
        assert not shared.watchers
        return [((line.time - clock.start) / SECOND, line.text) for line in follower.log.lines]

    lines = run_virtual(main)
    assert lines[-2:] == [(1, "1"), (2, "2")]


def test_disks_and_directories_have_limits() -> None:
    assert "No space left on device" in run("head -c 100M /dev/zero > /tmp/big").err
