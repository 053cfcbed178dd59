"""Sessions in the stepper's full-screen view; `python -m tools.step_screens` writes the expected screens."""

from __future__ import annotations

import pytest

from tools.step_screens import FOLDER, STORIES


@pytest.mark.parametrize("name", STORIES)
def test_screens_of_a_session(name: str) -> None:
    story = STORIES[name]
    screens = story.screens()
    assert [shot.name for shot in story.shots] == list(screens)
    for shot, text in screens.items():
        assert text == (FOLDER / f"{name}-{shot}.txt").read_text(), f"{name}-{shot}: see tools/step_screens.py"


def test_every_stored_screen_belongs_to_a_session() -> None:
    names = {f"{name}-{shot.name}" for name, story in STORIES.items() for shot in story.shots}
    assert {path.stem for path in FOLDER.glob("*.txt")} == names


@pytest.mark.parametrize(
    ("screen", "sizes"), [("small-1-break", (24, 80)), ("resize-1-large", (40, 120)), ("resize-3-tiny", (16, 60))]
)
def test_a_screen_has_the_size_of_the_terminal(screen: str, sizes: tuple[int, int]) -> None:
    lines = (FOLDER / f"{screen}.txt").read_text().splitlines()
    assert (len(lines), max(map(len, lines))) == sizes


@pytest.mark.parametrize(
    ("screen", "texts"),
    [
        ("forth-and-back-1-first-break", ["pleg     crash:main: ContainerDied", "break  pleg.event ContainerDied"]),
        ("forth-and-back-3-plan", ["decide   crash: start main", "restartPolicy is Always", "computePodActions"]),
        ("forth-and-back-7-no-such-key", ["no such key: '!'; ? shows the keys"]),
        ("breaks-5-removed", ["no break is set; B sets one"]),
        ("search-4-none", ["'zebra' is not in any later record"]),
        ("filter-1-node", ["only node=node-2"]),
        ("filter-3-none", ["no record of zebra", "only node=node-2"]),
        ("jump-2-number", ["#42 of 337"]),
        ("jump-3-wrong", ["there is no record 9999; the last one is 337"]),
        ("inject-2-wrong", ["kil: unknown field; did you mean kill?"]),
        ("inject-3-injected", ["the run was played again: the same up to #"]),
        ("inject-4-its-effect", ["its main process gets the signal KILL"]),
        ("inject-6-its-effect", ["no space left on device"]),
        ("inject-9-nothing-left", ["nothing is injected"]),
        ("speed-1-plays", ["playing at 1x"]),
        ("speed-2-faster", ["playing at 5x"]),
        ("speed-3-to-a-break", ["stopped by the break pleg.event ContainerDied"]),
        ("speed-4-to-the-end", ["this is the last decision of the run"]),
        ("recording-1-begins", ["the watch of real-0 begins"]),
        ("recording-3-what-is-said", ["market/"]),
        ("recording-4-only-a-pod", ["only pod=market/no-image"]),
        ("network-1-added", ["eth0 10.88.0.2/16 via 10.88.0"]),
        ("network-2-page", ["route 192.168.0.0/16 via 10.88.0.1", "ADD bridge ok", "ADD portmap ok"]),
        ("network-3-removed", ["web  not ready, sandbox f00d"]),
    ],
)
def test_expected_texts_on_screens(screen: str, texts: list[str]) -> None:
    shown = (FOLDER / f"{screen}.txt").read_text()
    assert [text for text in texts if text not in shown] == []


def test_a_removed_fault_leaves_the_run_unchanged() -> None:
    before, after = ((FOLDER / f"inject-{name}.txt").read_text() for name in ("1-before", "8-step-removed"))
    assert before.splitlines()[0].split("#")[1].split()[2] == after.splitlines()[0].split("#")[1].split()[2]
