"""Streams into containers with real kubectl: 1.36 uses WebSocket, 1.20 uses SPDY."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stream_checks import check_cp, check_exec_stdin, check_exec_streams, check_port_forward
from tests.support.up import TIMEOUT_S, Up, running_up, wait_until

VERSIONS = ("1.36", "1.20")
both = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    with running_up(tmp_path_factory.mktemp("up"), "--speed", "10") as up:
        up.run_pod("box", "sh", "-c", "echo begun; while true; do sleep 1; echo tick; done")
        up.run_pod("web", image="nginx")
        yield up


@both
def test_exec_separates_stdout_stderr_and_exit_code(up: Up, version: str) -> None:
    check_exec_streams(up, version)


@both
def test_exec_forwards_stdin_to_its_end(up: Up, version: str) -> None:
    check_exec_stdin(up, version)


@both
def test_exec_of_a_missing_program(up: Up, version: str) -> None:
    done = up.run("exec", "box", "--", "nosuch", version=version)
    assert done.returncode == 1
    assert 'exec: "nosuch": executable file not found in $PATH' in done.stderr


@both
def test_cp_transfers_bytes_in_both_directions(up: Up, version: str, tmp_path: Path) -> None:
    check_cp(up, version, tmp_path)


def test_cp_of_a_directory(up: Up, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "a.txt").write_text("a\n")
    (folder / "b.txt").write_text("ä\n")
    up.kubectl("cp", str(folder), "box:/srv")
    assert up.kubectl("exec", "box", "--", "cat", "/srv/folder/below/a.txt", "/srv/folder/b.txt") == "a\nä\n"


@both
def test_port_forward_reaches_the_listening_program(up: Up, version: str) -> None:
    check_port_forward(up, version)


def test_port_forward_to_a_closed_port(up: Up) -> None:
    with subprocess.Popen(
        up.command("port-forward", "pod/web", ":81"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        port = process.stdout.readline().partition("127.0.0.1:")[2].split()[0]
        with pytest.raises(OSError, match=r"closed|reset"):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT_S)
        process.send_signal(signal.SIGTERM)
        assert "dial tcp4 127.0.0.1:81: connect: connection refused" in process.stderr.read()


@both
def test_logs_follow_until_the_client_disconnects(up: Up, version: str) -> None:
    with subprocess.Popen(
        up.command("logs", "-f", "box", version=version), stdout=subprocess.PIPE, text=True
    ) as follow:
        assert follow.stdout is not None
        lines = [follow.stdout.readline() for _ in range(30)]
        follow.send_signal(signal.SIGTERM)
    assert lines == ["begun\n", *["tick\n"] * 29]


def test_logs_with_tail_since_and_previous(up: Up) -> None:
    up.kubectl("run", "crash", "--image=busybox", "--", "sh", "-c", "echo one; echo two; echo three >&2; exit 1")
    up.wait_for(lambda: waits_for_restart(up, "crash"), "the back-off")
    assert up.kubectl("logs", "crash", "--tail=2", "--previous") == "two\nthree\n"
    assert up.kubectl("logs", "box", "--limit-bytes=4").startswith("begu")
    stamped = up.kubectl("logs", "box", "--timestamps").splitlines()
    assert stamped[0].endswith("Z begun")
    assert stamped[0][:2] == "20"
    assert len(up.kubectl("logs", "box", "--since=2s").splitlines()) < len(stamped)
    up.kubectl("delete", "pod", "crash", "--wait=false")


def waits_for_restart(up: Up, name: str) -> bool:
    statuses = up.get("pod", name)["status"].get("containerStatuses", ())
    return any(each["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff" for each in statuses)


def test_logs_rejected_by_the_kubelet(up: Up) -> None:
    done = up.run("logs", "box", "--previous")
    assert done.stderr == (
        'Error from server (BadRequest): previous terminated container "box" in pod "box" not found\n'
    )
    done = up.run("logs", "box", "-c", "other")
    assert "container other is not valid for pod box" in done.stderr


class Typist:
    """Types into kubectl in its own terminal, and reads the screen."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            try:
                os.execvp(command[0], command)
            finally:
                os._exit(127)  # never go on as a second pytest
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def wait_for(self, text: str) -> None:
        """Wait until the text appears after the previously awaited one."""
        while text not in self.seen:
            self.seen += os.read(self.terminal, 65536).decode()
        self.seen = self.seen.partition(text)[2]

    def press_enter_until(self, text: str) -> None:
        """Repeat Enter: input before kubectl controls the terminal may be lost."""
        while text not in self.seen:
            self.type("\r")
            if select.select([self.terminal], [], [], 1.0)[0]:
                self.seen += os.read(self.terminal, 65536).decode()
        self.seen = self.seen.partition(text)[2]

    def end(self) -> int:
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:  # how Linux reports that the other side has closed
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@both
def test_a_shell_in_a_terminal(up: Up, version: str) -> None:
    typist = Typist(up.command("exec", "-it", "box", "--", "sh", version=version))
    typist.wait_for("/ # ")
    typist.type("echo $((40+2))x\x7f\r")
    typist.wait_for("\r\n42\r\n/ # ")
    typist.type("for i in 1 2\rdo echo n$i; done\r")
    typist.wait_for("> ")
    typist.wait_for("n1\r\nn2\r\n/ # ")
    typist.type("sleep 1000\r")
    typist.wait_for("sleep 1000\r\n")
    typist.type("\x03")
    typist.wait_for("^C\r\n/ # ")
    typist.type("exit 4\r")
    assert typist.end() == 4


def test_run_with_a_terminal_attaches_to_the_main_process(up: Up) -> None:
    words = ("run", "-it", "--rm", "--restart=Never", "term", "--image=busybox", "--", "sh")
    typist = Typist(up.command(*words))
    typist.wait_for("try pressing enter.")
    typist.press_enter_until("/ # ")
    typist.type("hostname\r")
    typist.wait_for("\r\nterm\r\n")
    typist.type("exit\r")
    assert typist.end() == 0
    up.wait_for(lambda: up.run("get", "pod", "term").returncode == 1, "the pod to be deleted")


def test_attach_shows_new_output(up: Up) -> None:
    with subprocess.Popen(up.command("attach", "box"), stdout=subprocess.PIPE, text=True) as attached:
        assert attached.stdout is not None
        assert attached.stdout.readline() == "tick\n"
        attached.send_signal(signal.SIGTERM)


def test_a_command_continues_without_input_after_its_client_disconnected(up: Up) -> None:
    with subprocess.Popen(up.command("exec", "box", "--", "sleep", "12345"), stdout=subprocess.PIPE) as process:
        wait_until(lambda: "sleep 12345" in up.kubectl("exec", "box", "--", "ps"), "the command to run")
        process.kill()
    waiting = up.command("exec", "-i", "box", "--", "sh", "-c", "touch /tmp/begun; cat; touch /tmp/over")
    with subprocess.Popen(waiting, stdin=subprocess.PIPE) as process:
        wait_until(lambda: exists(up, "/tmp/begun"), "the command to run")
        process.kill()
    wait_until(lambda: exists(up, "/tmp/over"), "the end of the input")
    assert "sleep 12345" in up.kubectl("exec", "box", "--", "ps")


def exists(up: Up, path: str) -> bool:
    return up.run("exec", "box", "--", "test", "-f", path).returncode == 0


def test_top_shows_simulated_usage(up: Up) -> None:
    assert [line.split()[:1] for line in up.kubectl("top", "nodes", "--no-headers").splitlines()] == [["node-1"]]
    assert up.kubectl("top", "pod", "web", "--no-headers").split() == ["web", "1m", "2Mi"]
