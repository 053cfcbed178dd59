"""The full-screen view: keys, pages, hostile names, and records added later."""

from __future__ import annotations

from kubesim.trace.records import LogOutput, Note, Record
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.session import StepSession
from tests.support.stepping import records, stepper
from tests.support.tui import View, in_view


def test_the_screen_after_a_page_of_the_help_is_not_blank() -> None:
    async def story(view: View) -> None:
        first = view.text
        assert await view.press("?nz") == first
        assert await view.press("wnnnw") == first

    in_view(StepSession(stepper("crashloop"), "x"), story)


def test_special_keys() -> None:
    session = StepSession(stepper("crashloop"), "x")

    async def story(view: View) -> None:
        places = []
        for key in ("<right>", "<down>", "<left>", "<pagedown>", "<up>", "<end>", "<home>", "<f5>"):
            await view.press(key)
            places.append(session.stepper.position)
        first, second, again, third, fourth, last, home, unknown = places
        assert first < second == third
        assert again == fourth == first
        assert last == len(session.stepper.records) - 1
        assert home == unknown == 0

    in_view(session, story)


def test_arrow_keys_insert_no_text() -> None:
    session = StepSession(stepper("crashloop"), "x")

    async def story(view: View) -> None:
        assert "search: ab" in await view.press("/a<left>b<home><f5>")
        await view.press("<escape>")
        assert session.footer == ""

    in_view(session, story)


def test_ctrl_c_and_q_close_the_view() -> None:
    for key in ("<ctrl+c>", "q"):

        async def story(view: View, key: str = key) -> None:
            await view.pilot.press(key.strip("<>"))
            assert not view.app.is_running

        in_view(StepSession(stepper("hello-pod"), "x"), story)


def hostile() -> list[Record]:
    name, text = "default/a\x1b[2J", "\x1b]0;title\x07 \x9b31m [bold]no markup[/bold]"
    return [
        Note(seq=1, pod=name, text=text, why=text),
        LogOutput(seq=2, pod=name, container="main\r", stream="stdout", text=text),
    ]


def test_control_characters_in_names_and_texts_are_escaped() -> None:
    async def story(view: View) -> None:
        shown = view.text + await view.press("N") + await view.press("l") + await view.press("w")
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert "[bold]no markup[/bold]" in shown
        assert r"\x1b[2J" in shown

    in_view(StepSession(Stepper(hostile()), "a\x1b[2J"), story)


def test_new_records_are_followed_until_the_user_goes_back() -> None:
    growing = list(records("hello-pod")[:20])
    session = StepSession(Stepper(growing), "live")
    session.follow()

    async def story(view: View) -> None:
        assert "#20 of 20" in view.text
        growing.extend(records("hello-pod")[20:40])
        assert "#40 of 40" in await view.passed(50_000)
        await view.press("p")
        here = session.stepper.position
        growing.extend(records("hello-pod")[40:50])
        assert f"#{here + 1} of 50" in await view.passed(50_000)
        assert "#50 of 50" in await view.press("<end>")
        growing.extend(records("hello-pod")[50:60])
        assert "#60 of 60" in await view.passed(50_000)

    in_view(session, story)


def test_a_fault_cannot_be_injected_without_a_scenario() -> None:
    async def story(view: View) -> None:
        assert "nothing can be injected here" in await view.press("ikill: {pod: a}\n")
        assert "nothing can be injected here" in await view.press("I")

    in_view(StepSession(stepper("hello-pod"), "x"), story)


def test_a_filter_by_node_skips_other_nodes() -> None:
    session = StepSession(stepper("workloads/drain-pdb"), "x")
    session.stepper.has_several_nodes = True

    async def story(view: View) -> None:
        assert ", only node=node-2" in await view.press("fnode=node-2\n")
        for _ in range(5):
            assert "node-1 " not in (await view.press("n")).split("sync loop")[0]
        assert "#1 of" not in await view.press("<end>")
        assert "node-1 " not in (await view.press("<home>")).split("sync loop")[0]

    in_view(session, story)
