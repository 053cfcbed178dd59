"""A hostile plugin in a private node, started by root and by an ordinary user: nothing on the host changes."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.cni.exec.process import RealExec
from kubesim.linux.private_node.confinement import mount_filter
from kubesim.linux.private_node.holder_client import PrivateNode, Underlay
from tests.support.machine import escapes
from tests.support.machine.unprivileged import NOBODY, unprivileged
from tests.support.processes import running, unique_sleep, wait_until_ended


@pytest.fixture(scope="module")
def node() -> Iterator[PrivateNode]:
    underlay = Underlay()
    node = underlay.new_node()
    yield node
    node.close()
    underlay.close()


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Targets of a plugin: a directory, a process, a port, an abstract socket."""
    name, folder = f"kubesim-test-{os.getpid()}", tmp_path / "host"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    with (
        socket.create_server(("127.0.0.1", 0)) as port,
        socket.socket(socket.AF_UNIX) as abstract,
        subprocess.Popen(unique_sleep().split()) as process,
    ):
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield {"HOST": str(folder), "PID": str(process.pid), "PORT": str(port.getsockname()[1]), "NAME": name}
        assert process.poll() is None
        process.kill()
    assert os.listdir(folder) == []


@pytest.mark.parametrize("name", escapes.ATTEMPTS)
def test_a_plugin_of_root_cannot(name: str, node: PrivateNode, tmp_path: Path, outside: dict[str, str]) -> None:
    assert not escapes.succeeds(node, name, tmp_path, outside)


def test_a_plugin_of_an_ordinary_user_cannot(outside: dict[str, str]) -> None:
    with unprivileged() as user:
        shutil.copy(escapes.__file__, user.folder / "escapes.py")
        work = user.folder / "work"
        work.mkdir()
        if os.geteuid() == 0:
            os.chown(work, NOBODY, NOBODY)
        words = [f"{key}={value}" for key, value in outside.items()]
        assert user.run("escapes.py", str(work), *words).splitlines() == []


def test_an_attempt_that_succeeds_is_detected(tmp_path: Path, outside: dict[str, str]) -> None:
    """The test can fail: on the host's own network a plugin has all permissions of its caller."""
    underlay = Underlay("host")
    host = underlay.host_node()
    try:
        for name in ("reach a port of the host", "reach an abstract socket of the host", "become more by exec"):
            assert escapes.succeeds(host, name, tmp_path, outside)
    finally:
        underlay.close()


def test_the_node_can_configure_its_own_network(node: PrivateNode, tmp_path: Path) -> None:
    program = tmp_path / "program"
    steps = "echo 1 > /proc/sys/net/ipv4/ip_forward && ip link add x type bridge && ip link del x && echo done"
    program.write_text(f"#!/bin/sh\n{steps}\n")
    program.chmod(0o755)
    environ = {"PATH": os.environ["PATH"]}
    assert asyncio.run(RealExec(spawn=node.spawn).exec_plugin(str(program), b"", environ)) == b"done\n"


def test_a_daemon_ends_with_its_node(tmp_path: Path) -> None:
    underlay = Underlay()
    node = underlay.new_node()
    command = unique_sleep()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nsetsid {command} < /dev/null > /dev/null 2>&1 &\n")
    program.chmod(0o755)
    reported, tell = os.pipe()
    with open(os.devnull) as nothing:
        child = node.spawn(str(program), {"PATH": os.environ["PATH"]}, (nothing.fileno(), tell, tell))
    os.close(tell)
    with open(reported) as output:
        assert output.read() == ""  # immediately: the daemon has no file descriptor of the plugin
    while not running(command):
        pass
    child.close()
    node.close()
    underlay.close()
    wait_until_ended(command)


def test_the_filter_requires_a_machine_whose_system_calls_are_known() -> None:
    assert len(mount_filter("x86_64")) == 8 * (3 + 3 + 8 + 1 + 2)
    assert len(mount_filter("aarch64")) == 8 * (3 + 3 + 8 + 2)
    assert mount_filter("riscv64") == b""
