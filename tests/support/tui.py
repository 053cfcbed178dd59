"""Tests of the stepper's full-screen view, driven by Textual's Pilot; screens are plain text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from textual import events
from textual.pilot import Pilot

from kubesim.cli.tui.app import StepApp
from kubesim.trace.stepping.session import StepSession
from kubesim.values import value_object

Size = tuple[int, int]
_NAMES = {"\n": "enter", " ": "space", "\x7f": "backspace"}


@value_object
class Shot:
    """An action, and the name of the following screen; without a name it is not kept.

    `keys` are characters or, in angle brackets, names: `n`, `/back-off\n`, `<end>`. `passed` is in microseconds.
    """

    name: str = ""
    keys: str = ""
    resize: Size | None = None
    passed: int = 0


def names_of(keys: str) -> list[str]:
    """The keys in Textual's naming."""
    out: list[str] = []
    while keys:
        if keys[0] == "<" and ">" in keys:
            name, _, keys = keys[1:].partition(">")
            out.append(name)
        else:
            out.append(_NAMES.get(keys[0], keys[0]))
            keys = keys[1:]
    return out


class CountedApp(StepApp):
    """Counts received keys. Textual calls the handlers of all classes."""

    def __init__(self, session: StepSession) -> None:
        super().__init__(session, is_timed=False)
        self._handled = 0
        self._came = asyncio.Event()

    def on_key(self, event: events.Key) -> None:
        self._handled += 1
        self._came.set()

    async def has_handled(self, count: int) -> None:
        while self._handled < count:
            self._came.clear()
            await self._came.wait()


class View:
    """A running view. Pilot waits for an idle CPU, which is unreliable on a shared machine; here all sent keys have
    been handled.
    """

    def __init__(self, app: CountedApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self._sent = 0

    async def press(self, keys: str) -> str:
        for name in names_of(keys):
            self.app.post_message(_key(name))
            self._sent += 1
            await self.app.has_handled(self._sent)
            await self._settled()
        return self.text

    async def resize(self, width: int, height: int) -> str:
        await self.pilot.resize_terminal(width, height)
        return await self._settled()

    async def passed(self, elapsed: int) -> str:
        self.app.passed(elapsed)
        return await self._settled()

    async def _settled(self) -> str:
        for _ in range(3):
            if self.app.is_running and self.app.session.requested_run is None:
                await self.pilot._wait_for_screen()
                self.app.screen._on_timer_update()  # normally done by a screen timer: lay out and draw
        return self.text

    @property
    def text(self) -> str:
        return "".join(f"{strip.text.rstrip()}\n" for strip in self.app.screen._compositor.render_strips())


def _key(name: str) -> events.Key:
    return events.Key("space" if name == " " else name, name if len(name) == 1 else " " if name == "space" else None)


@asynccontextmanager
async def shown(session: StepSession, size: Size = (80, 24)) -> AsyncIterator[View]:
    app = CountedApp(session)
    async with app.run_test(size=size) as pilot:
        yield View(app, pilot)


def screens(session: StepSession, shots: Sequence[Shot], size: Size = (80, 24)) -> dict[str, str]:
    """The screens of a story by name. A run that the session requests is played between two views."""
    found: dict[str, str] = {}
    left = list(shots)
    while left:
        size = asyncio.run(_until_wish(session, left, size, found))
        session.fulfil()
    return found


async def _until_wish(session: StepSession, left: list[Shot], size: Size, found: dict[str, str]) -> Size:
    async with shown(session, size) as view:
        while left:
            shot = left.pop(0)
            if shot.resize is not None:
                size = shot.resize
                await view.resize(*size)
            await view.press(shot.keys)
            if session.requested_run is not None:
                left.insert(0, Shot(shot.name))
                return size
            text = await view.passed(shot.passed)
            if shot.name:
                found[shot.name] = text
    return size


def in_view(session: StepSession, story: Callable[[View], object], size: Size = (80, 24)) -> None:
    """Run a test that needs more than screens."""

    async def run() -> None:
        async with shown(session, size) as view:
            await story(view)  # type: ignore[misc]

    asyncio.run(run())
