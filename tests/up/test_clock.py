"""`kubesim clock`: another program advances, pauses and paces the time of `kubesim up` and `kubesim node`."""

from __future__ import annotations

import json
import socket
import stat
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.main import main
from kubesim.errors import UsageError
from kubesim.testing.served import ServedNodes
from kubesim.up.control.client import control_clock
from kubesim.up.control.commands import ClockCommand, parse_command
from kubesim.up.control.server import listen
from tests.support.up import TIMEOUT_S, Up, is_ready, running_up

CRASHING = ("run", "crash", "--image=busybox", "--", "sh", "-c", "exit 1")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    directory = tmp_path_factory.mktemp("up")
    with running_up(directory, "--control", str(directory / "clock")) as up:
        yield up
        code, _, error = up.stop()
        assert (code, error) == (0, "")
    assert not socket_of(up).exists()


def socket_of(up: Up) -> Path:
    return up.kubeconfig.parent / "clock"


def clock(up: Up, command: str, **arguments: Any) -> dict[str, Any]:
    return control_clock(str(socket_of(up)), command, **arguments)


def time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_back_off_of_ten_minutes_passes_at_once(up: Up) -> None:
    """Restarts after 0, 10, 20, 40, 80, 160 and 300 s: seven of them in less than 15 minutes."""
    clock(up, "pause")
    before = time(clock(up, "now")["now"])
    up.kubectl(*CRASHING)
    after = clock(up, "advance", duration="15m")
    assert time(after["now"]) - before == timedelta(minutes=15)
    assert after["paused"]
    (status,) = up.get("pod", "crash")["status"]["containerStatuses"]
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["restartCount"] == 7
    clock(up, "resume")


def test_time_stands_still_in_a_pause(up: Up) -> None:
    moment = clock(up, "pause")["now"]
    up.kubectl("run", "still", "--image=nginx")
    up.kubectl("get", "pods")
    assert clock(up, "now")["now"] == moment
    assert not is_ready(up.get("pod", "still"))
    assert not clock(up, "resume")["paused"]
    up.wait_for(lambda: is_ready(up.get("pod", "still")), "the pod to run after the pause")


def test_the_speed_can_be_changed(up: Up) -> None:
    assert clock(up, "speed", speed=1000)["speed"] == 1000
    start = time(clock(up, "now")["now"])
    up.wait_for(lambda: time(clock(up, "now")["now"]) - start > timedelta(seconds=100), "the clock to run ahead")
    assert clock(up, "speed", speed=1)["speed"] == 1


def test_the_command_prints_the_time(
    up: Up, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(socket_of(up))
    assert main(["clock", "advance", "1m", "--control", path]) == 0
    assert capsys.readouterr().out.endswith("Z running, 1 s for each real second\n")
    monkeypatch.setenv("KUBESIM_CONTROL", path)
    assert main(["clock", "pause", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["paused"]
    assert main(["clock", "resume"]) == 0


def test_only_the_owner_reaches_the_socket(up: Up) -> None:
    assert stat.S_IMODE(socket_of(up).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"nonsense\n", "the request is no JSON"),
        (b"[" * 3000 + b"\n", "the request is no JSON"),
        (b'{"command":"stop"}\n', "the command must be one of now, advance, pause, resume, speed"),
        (b'{"command":"advance"}\n', "advance needs a duration such as 5m or 1m30s"),
        (b'{"command":"advance","duration":"0s"}\n', "advance: the duration must be longer than 0"),
        (b'{"command":"advance","duration":"-5m"}\n', "advance: '-5m' is not a duration such as 1m30s"),
        (b'{"command":"advance","duration":"9999999h"}\n', "advance: '9999999h' is longer than ten years"),
        (b'{"command":"speed","speed":0}\n', "speed needs a number from 0.001 to 1e+06"),
        (b'{"command":"speed","speed":true}\n', "speed needs a number from 0.001 to 1e+06"),
        (b'{"command":"now","duration":"5m"}\n', "now does not take duration"),
        (b"x" * 5000, "the request is longer than 4096 bytes"),
    ],
)
def test_bad_requests_are_answered(up: Up, line: bytes, problem: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(socket_of(up)))
        connection.sendall(line)
        assert problem in json.loads(connection.makefile("rb").readline())["error"]


def test_a_client_that_hangs_up_stops_its_advance(up: Up) -> None:
    clock(up, "pause")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(socket_of(up)))
        connection.sendall(b'{"command":"advance","duration":"87000h"}\n')
    year = time(clock(up, "now")["now"]).year  # ten years of an idle cluster take minutes
    clock(up, "advance", duration="1s")  # it waits for the end of the other
    assert time(clock(up, "now")["now"]).year - year < 9
    clock(up, "resume")


def test_commands_are_parsed() -> None:
    assert parse_command(b'{"command":"advance","duration":"1m30s"}') == ClockCommand("advance", duration=90_000_000)
    assert parse_command(b'{"command":"speed","speed":2}') == ClockCommand("speed", speed=2.0)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["clock", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error.removeprefix("kubesim: error: ").rstrip("\n")


def test_mistakes_of_the_command_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBESIM_CONTROL", raising=False)
    nowhere = ("--control", str(tmp_path / "no"))
    assert refusal(capsys, "now").startswith("give --control PATH")
    assert "No such file or directory: is a kubesim up" in refusal(capsys, "now", *nowhere)
    assert (
        refusal(capsys, "advance", *nowhere) == "kubesim clock advance needs a value, such as: kubesim clock advance 5m"
    )
    assert refusal(capsys, "pause", "5m", *nowhere) == "kubesim clock pause takes no value, but got '5m'"
    assert refusal(capsys, "speed", "fast", *nowhere).startswith("speed: ")


def test_a_socket_replaces_only_one_that_nobody_serves(tmp_path: Path) -> None:
    path = tmp_path / "clock"
    first = listen(path)
    with pytest.raises(UsageError, match="another program serves this socket"):
        listen(path)
    first.close()
    listen(path).close()
    path.unlink()
    path.write_text("")
    with pytest.raises(UsageError, match="a file that is not a socket"):
        listen(path)
    with pytest.raises(UsageError, match="longer than the 107 bytes"):
        listen(Path("/" + "x" * 120))


def test_nodes_that_were_paused_at_their_start_know_pods_when_they_are_advanced(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running_up(tmp_path_factory.mktemp("up"), "--nodes", "0") as cluster:
        nodes = ServedNodes(str(cluster.kubeconfig), "--name", "worker")
        try:
            nodes.pause()
            spec = {"nodeName": "worker", "containers": [{"name": "main", "image": "nginx"}]}
            for number in (1, 2):
                pod = {"metadata": {"name": f"web-{number}"}, "spec": spec}
                cluster.create_raw("/api/v1/namespaces/default/pods", pod)
                nodes.advance("1m")
                assert is_ready(cluster.get("pod", f"web-{number}"))
        finally:
            nodes.stop()
