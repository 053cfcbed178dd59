"""State directories of runs with real containers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubesim.errors import UsageError
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.cri.client.cgroups import SavedCgroups
from kubesim.runtime.cri.client.state import StateDirectory, is_kept, state_id, unused


def test_a_later_run_has_the_same_id(tmp_path: Path) -> None:
    first = StateDirectory(str(tmp_path / "state"))
    identifier = first.id
    first.close()
    second = StateDirectory(str(tmp_path / "state"))
    assert second.id == identifier
    assert second.close_removed() == ""
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("words")
    with pytest.raises(UsageError, match="has other files"):
        StateDirectory(str(tmp_path))
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_other_files_are_not_removed(tmp_path: Path) -> None:
    state = StateDirectory(str(tmp_path / "state"))
    (tmp_path / "state" / "thesis.txt").write_text("words")
    assert state.close_removed() == f"{tmp_path}/state: Directory not empty"
    assert os.listdir(tmp_path / "state") == ["thesis.txt"]


def test_the_lock_says_whether_a_run_goes_on(tmp_path: Path) -> None:
    state = StateDirectory(str(tmp_path / "state"))
    with unused(state.directory) as ended:
        assert not ended
    state.close_kept()
    with unused(state.directory) as ended:
        assert ended
    assert is_kept(state.directory)
    StateDirectory(state.directory).close()
    assert not is_kept(state.directory)  # the new run does not keep them
    assert state_id(state.directory) == state.id


def test_cgroups_are_found_again(tmp_path: Path) -> None:
    path = str(tmp_path / "node" / "cgroups.json")
    first = SavedCgroups(path)
    first.create("a", ResourceConfig(cpu_shares=2, huge_page_limits={2097152: 0}))
    first.create("b", ResourceConfig())
    first.write("a", ResourceConfig(memory=4096))
    first.destroy("b")
    second = SavedCgroups(path)
    assert second.uids() == ("a",)
    assert second.get("a") == first.get("a")
    (tmp_path / "node" / "cgroups.json").write_text('{"a": 1}')
    assert SavedCgroups(path).uids() == ()
