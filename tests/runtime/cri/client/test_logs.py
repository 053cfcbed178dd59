"""Logs of real containers: lines in parts, and files that are rotated, compressed and removed."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.runtime.cri.client.logs.entries import last_output
from kubesim.runtime.cri.client.logs.following import LogFollower
from kubesim.runtime.cri.client.logs.log_files import RealLogDirectory, RealLogFiles
from kubesim.shell.kernel.streams import LogLine

TIME = "2026-11-19T06:12:42.157582525Z"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "default_web_uid-1" / "main" / "0.log"
    path.parent.mkdir(parents=True)
    return path


def write(log: Path, *entries: str) -> None:
    with log.open("a") as file:
        file.writelines(f"{TIME} {entry}" for entry in entries)


def test_each_complete_line_is_passed_on_once(log: Path, tmp_path: Path) -> None:
    found: list[tuple[str, str, str, str, str]] = []

    def wrote(pod: str, uid: str, container: str, line: LogLine) -> None:
        found.append((pod, uid, container, line.stream, line.text))

    async def make() -> LogFollower:
        return LogFollower(LoopClock(), str(tmp_path / "logs"), wrote)

    follower = run_virtual(make)
    write(log, "stdout F one\n", "stdout P a long \n", "stderr F oh\n")
    follower.poll()
    write(log, "stdout F line\n", "stdout F not comp")
    follower.poll()
    os.rename(log, f"{log}.1")
    with open(f"{log}.1", "a") as file:
        file.write("lete\n")
    write(log, "stdout F after the rotation\n")
    follower.poll()
    log.unlink()
    follower.close()
    lines = [("stdout", "one"), ("stderr", "oh"), ("stdout", "a long line"), ("stdout", "not complete")]
    lines.append(("stdout", "after the rotation"))
    assert found == [("default/web", "uid-1", "main", *line) for line in lines]


def test_the_kubelet_rotates_compresses_and_removes_files(log: Path, tmp_path: Path) -> None:
    reopened: list[str] = []
    files = RealLogFiles(str(tmp_path / "logs"), reopened.append)
    name = "/var/log/pods/default_web_uid-1/main/0.log"
    log.write_text("0123456789")
    assert files.size(name) == 10
    files.rename(name, f"{name}.20261119-061242")
    assert reopened == [name]
    assert files.size(name) == 0
    files.compress(f"{name}.20261119-061242")
    assert files.rotated(name) == [f"{name}.20261119-061242.gz"]
    with gzip.open(f"{log}.20261119-061242.gz") as packed:
        assert packed.read() == b"0123456789"
    files.remove(f"{name}.20261119-061242.gz")
    assert files.rotated(name) == []


def test_logs_go_with_their_container_and_their_pod(log: Path, tmp_path: Path) -> None:
    directory = RealLogDirectory(str(tmp_path / "logs"))
    log.write_text("")
    (log.parent / "0.log.20261119-061242").write_text("")
    (log.parent / "1.log").write_text("")
    assert list(directory.pods()) == ["uid-1"]
    directory.removed("uid-1", "main", 0)
    assert os.listdir(log.parent) == ["1.log"]
    directory.remove_pod("uid-1")
    assert os.listdir(tmp_path / "logs") == []


def test_the_end_of_a_log_is_a_termination_message(log: Path) -> None:
    write(log, *[f"stdout F line {number}\n" for number in range(200)], "stderr F the last one\n")
    found = last_output(str(log)).splitlines()
    assert found[-1] == "the last one"
    assert len(found) == 80
