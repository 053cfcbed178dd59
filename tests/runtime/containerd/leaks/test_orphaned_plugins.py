"""Plugins that outlive kubesim and its holder, both killed: their later effects are removed too."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kubesim.errors import UsageError
from kubesim.runtime.containerd.leaks.orphans import lock_plugins, orphaned_plugins
from tests.support.machine.cni_host import BIN_DIR, on_host
from tests.support.machine.leaks import STORY, leaks, left_over
from tests.support.processes import kubesim

# An IPAM plugin that waits once for permission: bridge waits for it, and will use its result.
SLOW = f"""#!/bin/sh
if [ "$CNI_COMMAND" = ADD ] && mkdir "$0.began" 2>/dev/null; then
    for i in $(seq 600); do [ -e "$0.go" ] || sleep 0.1; done
    {BIN_DIR}/host-local
    code=$?
    touch "$0.ended"
    exit $code
fi
exec {BIN_DIR}/host-local
"""


def killed_with_its_holder(folder: str, state: str) -> None:
    """While the slow plugin waits."""
    slow = Path(folder, "host-local")
    slow.write_text(SLOW)
    slow.chmod(0o755)
    words = kubesim("run", "-q", "--host-network-node", "--state", state, "-")
    words[-1:] = ["--cni-bin-dir", folder, "--cni-bin-dir", BIN_DIR, "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stdin is not None
        process.stdin.write(STORY)
        process.stdin.close()
        assert came(Path(f"{slow}.began")), "the plugin did not begin"
        [holder] = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(holder), signal.SIGKILL)
        process.kill()


def came(path: Path, within_s: float = 120) -> bool:
    for _ in range(round(within_s / 0.02)):
        if path.exists():
            return True
        time.sleep(0.02)
    return False


def left_later(folder: str, state: str) -> dict[str, list[str]]:
    """When the last waiter has finished."""
    Path(folder, "host-local.go").touch()
    if came(Path(folder, "host-local.ended"), within_s=1):
        time.sleep(1)  # bridge continues
    return left_over(state)


def started_again(folder: str) -> dict[str, Any]:
    state = f"{folder}/state"
    killed_with_its_holder(folder, state)
    idle = STORY.partition("---")[0].replace("duration: 1h", "duration: 1s")
    words = kubesim("run", "-q", "--host-network-node", "--state", state, "-")
    again = subprocess.run(words, input=idle, capture_output=True, text=True, check=False)
    return {"code": again.returncode, "said": again.stderr, "left": left_later(folder, state)}


def test_the_next_start_ends_them_before_it_cleans_up(tmp_path: Path) -> None:
    reported = on_host(started_again, folder=str(tmp_path))
    assert reported["code"] == 0, reported["said"]
    assert not any(reported["left"].values()), reported["left"]
    assert (tmp_path / "host-local.began").exists()
    assert not (tmp_path / "host-local.ended").exists()


def looked_for(folder: str) -> dict[str, Any]:
    state = f"{folder}/state"
    killed_with_its_holder(folder, state)
    found, cleaned = leaks("--state", state), leaks("--state", state, "--clean")
    return {"found": found, "cleaned": cleaned, "left": left_later(folder, state)}


def test_the_command_lists_and_ends_them(tmp_path: Path) -> None:
    reported = on_host(looked_for, folder=str(tmp_path))
    code, text = reported["found"]
    assert code == 1
    processes = [line for line in text.splitlines() if line.startswith("process")]
    assert any(line.endswith(f"{BIN_DIR}/bridge of pod default/web") for line in processes), text
    assert reported["cleaned"] == [0, f"nothing is left behind ({tmp_path}/state)\n"]
    assert not any(reported["left"].values()), reported["left"]


# -- the lock ---------------------------------------------------------------------------------------------------------


def left_running(state: Path) -> subprocess.Popen[bytes]:
    """A process that inherited the lock of an exited process."""
    with lock_plugins(str(state)) as lock:
        return subprocess.Popen(["sleep", "60"], pass_fds=[lock.fileno()])


def test_only_processes_that_inherited_the_lock_are_ended(tmp_path: Path) -> None:
    state = str(tmp_path)
    with (
        left_running(tmp_path) as orphan,
        open(tmp_path / "plugins.lock") as read,
        subprocess.Popen(["sleep", "60"], pass_fds=[read.fileno()]) as reader,
    ):
        assert [leak.name for leak in orphaned_plugins(state)] == [f"{orphan.pid} sleep 60"]
        lock_plugins(state).close()
        assert orphan.wait() == -signal.SIGKILL
        assert orphaned_plugins(state) == []
        assert reader.poll() is None
        reader.kill()


def test_a_process_that_does_not_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesim.runtime.containerd.leaks.orphans._kill", lambda *_: None)
    monkeypatch.setattr("kubesim.runtime.containerd.leaks.orphans._TRIES", 2)
    with left_running(tmp_path) as orphan:
        with pytest.raises(UsageError, match=rf"do not end, though killed \(processes: {orphan.pid}\)"):
            lock_plugins(str(tmp_path))
        orphan.kill()
