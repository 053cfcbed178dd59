"""A simulated URL: it responds as configured, fails, or does not respond.

Implements `ManifestUrl`; all nodes share it.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import LoopClock
from kubesim.golang.text import quoted
from kubesim.sources.manifests.manifest_files import LIMIT_REACHED, MAX_CONFIG_LENGTH
from kubesim.sources.manifests.manifest_url import REQUEST_TIMEOUT, FetchError, UrlAnswer, without_password
from kubesim.values import value_object

URL = "http://manifests.example/pods"
NO_PODS = UrlAnswer(200, b'{"apiVersion":"v1","kind":"PodList","items":[]}')
LATENCY = 2 * MILLISECOND
TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"


@value_object
class UrlBehaviour:
    """The response to a request, or its connection error, after a delay."""

    answer: UrlAnswer = NO_PODS
    error: str = ""
    delay: int = LATENCY


class SimulatedUrl:
    is_real = False

    def __init__(self, clock: LoopClock, url: str = URL) -> None:
        self.url = url
        self._clock = clock
        self._behaviour = UrlBehaviour()
        self._listeners: dict[Callable[[], None], None] = {}

    def behave(self, behaviour: UrlBehaviour) -> None:
        """Set the behaviour of later requests."""
        self._behaviour = behaviour
        for listener in list(self._listeners):
            listener()

    def watch(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    async def get(self) -> UrlAnswer:
        behaviour = self._behaviour
        await self._clock.sleep_in_tick(min(behaviour.delay, REQUEST_TIMEOUT))
        if behaviour.delay >= REQUEST_TIMEOUT:
            raise FetchError(f"Get {quoted(without_password(self.url))}: {TIMED_OUT}")
        if behaviour.error:
            raise FetchError(f"Get {quoted(without_password(self.url))}: {behaviour.error}")
        if len(behaviour.answer.body) >= MAX_CONFIG_LENGTH:
            raise FetchError(LIMIT_REACHED)
        return behaviour.answer
