"""The HTTP source: polls a URL for a pod or a list of pods, 20 s after the end of each poll.

`ManifestUrl` sends the requests, `UrlReader` evaluates the responses.

Mirrors: pkg/kubelet/config/http.go NewSourceURL
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.concurrency import TaskSet, Ticker
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.sources.config import ConfigStream
from kubesim.sources.manifests.manifest_url import FetchError, ManifestUrl, UrlAnswer, UrlReader
from kubesim.sources.manifests.static_pod import shown
from kubesim.trace import Recorder
from kubesim.trace.records import Note

SOURCE = "http"
CHECK_PERIOD = 20 * SECOND


class HttpSource:
    """The HTTP source. `start` sends the first request; `stop` ends polling and cancels a request in progress."""

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
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._recorder = recorder
        self._config = config
        self._url = url
        self._node_name = node_name
        self._period = period
        self._reader = UrlReader(url.url, node_name, gates)
        self._polls: asyncio.Task[None] | None = None
        self._stop_watch: Callable[[], None] | None = None
        self._outdated = False  # the URL's response may have changed since the last request

    def start(self) -> None:
        self._stop_watch = self._url.watch(self._may_have_changed)
        self._polls = self._tasks.start("http source", self._poll())

    def stop(self) -> None:
        if self._polls is not None and self._stop_watch is not None:
            self._stop_watch()
            self._polls.cancel()
            self._polls = None

    def withdraw(self) -> None:
        """Report that no pod is wanted, whatever the URL returns."""
        self.stop()
        self._config.snapshot(SOURCE, ())

    async def _poll(self) -> None:
        ticker = Ticker(self._clock, f"the next request to {self._url.url}", self._period, late=False)
        try:
            while True:
                self._recorder.because(None)
                began, self._outdated = self._clock.now(), False
                answer: UrlAnswer | FetchError
                try:
                    answer = await self._url.get()
                except FetchError as error:
                    answer = error
                self._take(answer)
                now = self._clock.now()
                ticker.period = self._period + now - began
                ticker.reset(now + self._period)
                ticker.done(NEVER if self._reader.is_idle and not self._outdated and not self._url.is_real else 0)
                await ticker.channel.receive()
        finally:
            ticker.stop()

    def _take(self, answer: UrlAnswer | FetchError) -> None:
        reading = self._reader.take(answer)
        if reading.note:
            self._recorder.because(self._recorder.record(Note(node=self._node_name, text=shown(reading.note))))
        if reading.pods is not None:
            self._config.snapshot(SOURCE, reading.pods)

    def _may_have_changed(self) -> None:
        self._outdated = True
