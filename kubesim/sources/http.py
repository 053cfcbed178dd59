"""The http source: a url that is asked every 20 s, counted from the end of the last time, for a pod or a list of pods.

Where the answers come from is another's matter (`ManifestUrl`), what they mean is decided by `UrlReader`. While a
simulated url would answer as it did, and nothing new would come of it, it is not asked; the moment of the next question
is the one that asking every time would have led to.

Mirrors: pkg/kubelet/config/http.go NewSourceURL
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.api.timestamps import SECOND
from kubesim.clock import Awaited, LoopClock, wake
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.sources.config import ConfigStream
from kubesim.sources.manifest_url import Answer, FetchError, ManifestUrl, UrlReader
from kubesim.sources.static_pod import shown
from kubesim.trace import Recorder
from kubesim.trace.records import Note

SOURCE = "http"
CHECK_PERIOD = 20 * SECOND


class HttpSource:
    """`start` asks for the first time; `stop` ends it, also in the middle of an exchange."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        recorder: Recorder,
        config: ConfigStream,
        url: ManifestUrl,
        node_name: str,
        *,
        period: int = CHECK_PERIOD,
        every: bool = False,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._recorder = recorder
        self._config = config
        self._url = url
        self._node_name = node_name
        self._period = period
        self._every = every or not url.tells_all
        self._reader = UrlReader(url.url, node_name, gates)
        self._polls: asyncio.Task[None] | None = None
        self._stop_watch: Callable[[], None] | None = None
        self._rest: asyncio.Future[None] | None = None
        self._outdated = False  # since the last question was asked, the url may answer differently

    def start(self) -> None:
        self._stop_watch = self._url.watch(self._may_have_changed)
        self._polls = self._tasks.start("http source", self._poll())

    def stop(self) -> None:
        if self._polls is not None and self._stop_watch is not None:
            self._stop_watch()
            self._polls.cancel()
            self._polls = None

    def withdraw(self) -> None:
        """Want nothing any more, whatever the url says."""
        self.stop()
        self._config.snapshot(SOURCE, ())

    async def _poll(self) -> None:
        while True:
            self._recorder.because(None)
            began, self._outdated = self._clock.now(), False
            answer: Answer | FetchError
            try:
                answer = await self._url.get()
            except FetchError as error:
                answer = error
            self._take(answer)
            await self._pause(self._clock.now() - began)

    def _take(self, answer: Answer | FetchError) -> None:
        reading = self._reader.take(answer)
        if reading.note:
            self._recorder.because(self._recorder.record(Note(node=self._node_name, text=shown(reading.note))))
        if reading.pods is not None:
            self._config.snapshot(SOURCE, reading.pods)

    async def _pause(self, took: int) -> None:
        """Until the next question, or until the first one that is worth asking."""
        due = self._clock.now() + self._period
        if self._reader.rests and not self._outdated and not self._every:
            self._rest = Awaited(f"another answer of {self._url.url}")
            try:
                await self._rest
            finally:
                self._rest = None
            cycle = self._period + took
            due += max(0, -(-(self._clock.now() - due) // cycle)) * cycle
        await self._clock.sleep_until(due)

    def _may_have_changed(self) -> None:
        self._outdated = True
        if self._rest is not None:
            wake(self._rest, None)
