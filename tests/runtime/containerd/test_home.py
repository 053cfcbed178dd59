"""The lock of a state directory: its owner, and how long others wait."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.errors import UsageError
from kubesim.runtime.containerd.home import lock_state

# Takes the lock, passes it to a process that lives a little longer, as a holder does, and exits.
KILLED = """
import subprocess, sys
from kubesim.runtime.containerd.home import lock_state
lock = lock_state(sys.argv[1])
subprocess.Popen(["sleep", "0.5"], pass_fds=[lock.fileno()], stdout=subprocess.DEVNULL)
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesim.runtime.containerd.home._TRIES_WITH_A_LIVING", 2)


def test_a_second_user_gets_an_error(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    with lock_state(state), pytest.raises(UsageError, match=r"is in use by another kubesim \(--state names another"):
        lock_state(state)
    lock_state(state).close()


def test_the_holder_of_a_killed_process_is_awaited(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=True)
    lock_state(str(tmp_path)).close()
