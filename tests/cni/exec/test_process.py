"""Plugins that misbehave: each causes a clear error and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from kubesim.clock import LoopClock, run_virtual
from kubesim.cni.cache import RuntimeConf
from kubesim.cni.conf.network_lists import network_conf_from_bytes
from kubesim.cni.exec.context import BACKGROUND, Context, with_timeout
from kubesim.cni.exec.process import Execution, RealExec
from kubesim.cni.libcni import CNIConfig
from kubesim.errors import CniError, PluginError
from tests.support.patience import with_growing_limits
from tests.support.processes import children, unique_sleep, wait_until_ended

ANSWER = """echo '{"cniVersion": "1.0.0"}'"""


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No file descriptor and no process, not even a zombie, outlives a test."""
    files, others = set(os.listdir("/proc/self/fd")), children()
    yield
    assert set(os.listdir("/proc/self/fd")) == files
    if os.getpid() != 1:  # as PID 1 of a container this process gets every orphan as its child
        assert children() <= others


class Plugins:
    """A directory of shell scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, *lines: str, mode: int = 0o755) -> str:
        path = self.folder / name
        path.write_text("\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(mode)
        return str(path)


@pytest.fixture
def plugins(tmp_path: Path) -> Plugins:
    return Plugins(tmp_path)


def run(path: str, timeout_s: float | None = None, stdin: bytes = b"{}", **options: int) -> bytes | str:
    """The output of a plugin, or the text of the error."""

    async def main() -> bytes | str:
        with with_timeout(timeout_s) as ctx:
            try:
                exec = RealExec(log=lambda remark: None, **options)  # type: ignore[arg-type]
                return await exec.exec_plugin(path, stdin, {**os.environ, "CNI_COMMAND": "ADD"}, ctx)
            except PluginError as error:
                return str(error)

    return asyncio.run(main())


def test_stdin_reaches_the_plugin_and_its_output_is_returned(plugins: Plugins) -> None:
    big = b"x" * 300_000
    assert run(plugins.write("echo", "cat"), stdin=big) == big


def test_a_plugin_that_prints_a_megabyte(plugins: Plugins) -> None:
    path = plugins.write("big", "head -c 1000000 /dev/zero | tr '\\0' x", "head -c 1000000 /dev/zero | tr '\\0' y >&2")
    assert run(path) == b"x" * 1_000_000


def test_a_megabyte_of_output_in_virtual_time(plugins: Plugins) -> None:
    path = plugins.write("big", "head -c 1000000 /dev/zero")

    async def main() -> int:
        return len(await RealExec().exec_plugin(path, b"", dict(os.environ)))

    assert run_virtual(main) == 1_000_000


def test_a_plugin_that_never_stops_printing_is_killed(plugins: Plugins) -> None:
    word = unique_sleep().replace(" ", "-")
    path = plugins.write("endless", f"yes {word}")
    assert run(path, most_output=100_000) == "netplugin printed more than 100000 bytes and was killed"
    wait_until_ended(f"yes {word}")


def test_a_plugin_that_never_exits(plugins: Plugins) -> None:
    sleep = unique_sleep()
    assert run(plugins.write("hang", f"exec {sleep}"), 0.1) == "netplugin failed with no error message: signal: killed"
    wait_until_ended(sleep)


def test_a_plugin_that_forks_is_killed_with_its_children(plugins: Plugins) -> None:
    """Children in its session, children in other sessions, and orphans that hold its output."""
    sleep = unique_sleep()
    path = plugins.write("fork", f"{sleep} &", f"setsid {sleep} &", f"(setsid {sleep} &)", sleep)
    assert run(path, 0.2) == "netplugin failed with no error message: signal: killed"
    wait_until_ended(sleep)


def test_a_background_child_that_holds_the_output_is_waited_for(plugins: Plugins) -> None:
    path = plugins.write("background", "(sleep 0.2; echo late) &", "echo early")
    assert run(path) == b"early\nlate\n"


def test_a_background_child_does_not_delay_a_timeout(plugins: Plugins) -> None:
    """The plugin itself answered in time."""
    sleep = unique_sleep()
    path = plugins.write("background", f"{sleep} &", ANSWER)
    answer = b'{"cniVersion": "1.0.0"}\n'
    assert with_growing_limits(lambda limit_s: run(path, limit_s), lambda reported: reported == answer) == answer
    wait_until_ended(sleep)


def test_a_plugin_that_closes_its_output_and_keeps_running(plugins: Plugins, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert run(plugins.write("closed", "exec >&- 2>&-", "sleep 0.2", f"touch {mark}")) == b""
    assert mark.exists()


@pytest.mark.parametrize(
    ("lines", "mode", "reported"),
    [
        (("echo oops >&2", "exit 1"), 0o755, 'netplugin failed: "oops\\n"'),
        (("exit 3",), 0o755, "netplugin failed with no error message: exit status 3"),
        (("kill -TERM $$",), 0o755, "netplugin failed with no error message: signal: terminated"),
        (('echo \'{"code": 11, "msg": "busy", "details": "d"}\'', "exit 1"), 0o755, "busy; d"),
        (
            ("echo no", "exit 1"),
            0o755,
            (
                "netplugin failed but error parsing its diagnostic message "
                "\"no\\n\": invalid character 'o' in literal null (expecting 'u')"
            ),
        ),
        (
            ('echo \'{"code": "x", "msg": "busy", "details": "d"}\'', "exit 1"),
            0o755,
            (
                'netplugin failed but error parsing its diagnostic message "{{\\"code\\": \\"x\\", \\"msg\\": '
                '\\"busy\\", \\"details\\": \\"d\\"}}\\n": json: cannot unmarshal string into Go struct field '
                "Error.code of type uint; d"
            ),
        ),
        ((ANSWER,), 0o644, "netplugin failed with no error message: fork/exec {path}: permission denied"),
    ],
)
def test_failures_have_libcnis_messages(plugins: Plugins, lines: tuple[str, ...], mode: int, reported: str) -> None:
    path = plugins.write("plugin", *lines, mode=mode)
    assert run(path) == reported.format(path=path)


def test_a_missing_file_or_a_file_that_is_not_executable(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert run(missing) == f"netplugin failed with no error message: fork/exec {missing}: no such file or directory"
    text = tmp_path / "text"
    text.write_text("hello\n")
    text.chmod(0o755)
    assert run(str(text)) == f"netplugin failed with no error message: fork/exec {text}: exec format error"


def test_a_file_that_is_being_written_is_retried(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries are a second apart; the test shortens them."""
    path = plugins.write("busy", ANSWER)

    async def main(writer: IO[str], release_after: int) -> tuple[bytes | str, int]:
        waits = 0

        async def wait(seconds: float) -> None:
            nonlocal waits
            waits += 1
            if waits == release_after:
                writer.close()

        monkeypatch.setattr("kubesim.cni.exec.process.wall_sleep", wait)
        try:
            return await RealExec().exec_plugin(path, b"", dict(os.environ)), waits
        except CniError as error:
            return str(error), waits

    with open(path, "a") as writer:
        assert asyncio.run(main(writer, 2)) == (b'{"cniVersion": "1.0.0"}\n', 2)
    busy = f"netplugin failed with no error message: fork/exec {path}: text file busy"
    with open(path, "a") as writer:
        assert asyncio.run(main(writer, 9)) == (busy, 5)


def test_a_cancelled_call_kills_the_plugin(plugins: Plugins) -> None:
    sleep = unique_sleep()
    path = plugins.write("hang", sleep)

    async def main() -> None:
        call = asyncio.create_task(RealExec().exec_plugin(path, b"", dict(os.environ)))
        await asyncio.sleep(0)  # the plugin has been started
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())
    wait_until_ended(sleep)


def test_a_cancelled_context_starts_nothing(plugins: Plugins, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = plugins.write("touch", f"touch {mark}")
    ctx = Context()
    ctx.cancel()
    with pytest.raises(PluginError, match="netplugin failed with no error message: context canceled"):
        asyncio.run(RealExec().exec_plugin(path, b"", dict(os.environ), ctx))
    assert not mark.exists()


def test_the_number_of_concurrent_plugins_is_limited(plugins: Plugins, tmp_path: Path) -> None:
    """Each counts the running plugins while it exists."""
    path = plugins.write(
        "count", f"touch {tmp_path}/here-$$", f"ls {tmp_path} | grep -c here-", f"rm {tmp_path}/here-$$"
    )

    async def main() -> list[bytes]:
        exec = RealExec(at_once=3)
        return await asyncio.gather(*(exec.exec_plugin(path, b"", dict(os.environ)) for _ in range(20)))

    counted = [int(line) for line in asyncio.run(main())]
    assert max(counted) <= 3


def test_every_run_is_reported_to_the_observers(plugins: Plugins) -> None:
    path = plugins.write("plugin", "echo out", "echo err >&2", "exit 2")
    seen: list[Execution] = []

    async def main() -> None:
        with pytest.raises(PluginError):
            await RealExec(observe=seen.append).exec_plugin(path, b"in", {"CNI_COMMAND": "DEL"})

    asyncio.run(main())
    run = seen[0]
    assert (run.path, run.stdin, run.stdout, run.stderr, run.how) == (path, b"in", b"out\n", b"err\n", "exit status 2")
    assert run.seconds > 0


def test_virtual_time_stops_during_a_call(plugins: Plugins) -> None:
    """A timer of the virtual clock does not fire while a real plugin runs; a limit on the wall clock does."""
    quick, hanging = plugins.write("quick", "sleep 0.1", ANSWER), plugins.write("hang", f"exec {unique_sleep()}")

    async def main() -> tuple[int, str]:
        clock = LoopClock()
        await RealExec().exec_plugin(quick, b"", dict(os.environ))
        elapsed = clock.elapsed()
        with with_timeout(0.1) as ctx:
            try:
                await RealExec().exec_plugin(hanging, b"", dict(os.environ), ctx)
            except CniError as error:
                return elapsed, str(error)
        return elapsed, ""

    assert run_virtual(main) == (0, "netplugin failed with no error message: signal: killed")


@pytest.mark.parametrize(
    ("plugin", "reported"),
    [
        ({"type": "nosuch"}, 'plugin type="nosuch" failed (add): failed to find plugin "nosuch" in path [{folder}]'),
        ({"type": "a/b"}, 'plugin type="a/b" failed (add): invalid plugin name: a/b'),
        (
            {"type": "garbage"},
            (
                'plugin type="garbage" failed (add): failed to unmarshal raw result: '
                "invalid character 'g' looking for beginning of value"
            ),
        ),
        (
            {"type": "wrong"},
            (
                'plugin type="wrong" failed (add): '
                "json: cannot unmarshal string into Go struct field Result.ips of type []*types100.IPConfig"
            ),
        ),
        (
            {"type": "silent"},
            'plugin type="silent" failed (add): failed to unmarshal raw result: unexpected end of JSON input',
        ),
    ],
)
def test_a_chain_with_a_bad_plugin(plugins: Plugins, plugin: dict[str, str], reported: str) -> None:
    plugins.write("garbage", "echo garbage")
    plugins.write("wrong", """echo '{"cniVersion": "1.0.0", "ips": "none"}'""")
    plugins.write("silent", "true")
    network = network_conf_from_bytes(json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": [plugin]}).encode())
    cache = plugins.folder / "cache"
    cni = CNIConfig([str(plugins.folder)], RealExec(), str(cache))
    with pytest.raises(CniError) as raised:
        asyncio.run(cni.add_network_list(network, RuntimeConf("id", "/netns", "eth0"), BACKGROUND))
    assert str(raised.value) == reported.format(folder=plugins.folder)
    assert not cache.exists()
