"""What kubectl's streams into the pods `box` and `web` must do, whichever kubelet and API server are between."""

from __future__ import annotations

import signal
import subprocess
import urllib.request
from pathlib import Path

from tests.support.up import TIMEOUT_S, Up


def check_exec_streams(up: Up, version: str) -> None:
    done = up.run("exec", "box", "--", "sh", "-c", "echo out; echo err >&2; exit 3", version=version)
    assert (done.returncode, done.stdout) == (3, "out\n")
    assert done.stderr == "err\ncommand terminated with exit code 3\n"


def check_exec_stdin(up: Up, version: str) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    assert up.kubectl("exec", "-i", "box", "--", "cat", input=text, version=version) == text


def check_cp(up: Up, version: str, directory: Path) -> None:
    content = bytes(range(256)) * 500
    there, back = directory / "there", directory / "back"
    there.write_bytes(content)
    up.kubectl("cp", str(there), f"box:/tmp/file-{version}", version=version)
    up.kubectl("cp", f"box:/tmp/file-{version}", str(back), version=version)
    assert back.read_bytes() == content


def check_port_forward(up: Up, version: str) -> None:
    with subprocess.Popen(
        up.command("port-forward", "pod/web", ":80", version=version), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().partition("127.0.0.1:")[2].split()[0]
        for _ in range(2):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=TIMEOUT_S) as answer:
                assert answer.read() == b"<h1>Welcome to nginx!</h1>\n"
        process.send_signal(signal.SIGTERM)
