"""Screens of the stepper fit every terminal, at every record, in every view."""

from __future__ import annotations

import pytest

from kubesim.trace.stepping.screen import FOOTER, render
from tests.support.stepping import stepper


@pytest.mark.parametrize("view", ["step", "why", "next", "node", "help"])
@pytest.mark.parametrize("name", ["hello-pod", "two-containers", "kubelet-restart"])
def test_a_screen_has_the_terminals_size_and_no_colours(name: str, view: str) -> None:
    walk = stepper(name, "pleg.event")
    for position in range(0, len(walk.records), 11):
        walk.position = position
        for width, height in ((80, 24), (60, 16), (200, 60)):
            rows = render(walk, view, name, width, height)
            assert len(rows) == height
            assert max(map(len, rows)) <= width
            assert not any("\x1b" in row for row in rows)


def test_the_last_row_has_the_keys_or_a_message() -> None:
    walk = stepper("hello-pod")
    assert render(walk, "step", "x")[-1] == FOOTER
    assert render(walk, "step", "x", message="no further break")[-1] == "no further break"


def test_a_long_chain_of_causes_has_pages() -> None:
    walk = stepper("crashloop", "cri.call CreateContainer args.attempt=1")
    walk.go_on()
    first, second = (render(walk, "why", "x", page=page) for page in (0, 1))
    assert first[-2].endswith("more lines (n shows them)")
    assert second[2:] != first[2:]
    assert render(walk, "why", "x", page=1000) == render(walk, "why", "x", page=1001)


def test_a_written_status_shows_its_changes() -> None:
    walk = stepper("hello-pod", "api.write summary.phase=Running")
    walk.go_on()
    text = " ".join(" ".join(render(walk, "step", "x")).split())
    assert "Pending → Running" in text
