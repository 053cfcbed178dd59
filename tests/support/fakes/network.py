"""A network that records requests and returns scripted responses."""

from __future__ import annotations

from typing import Any

from kubesim.runtime.network.node_network import HttpResponse, NodeRequest


class Web:
    """A network that records requests and returns scripted responses or errors."""

    def __init__(self, *outcomes: HttpResponse | str | Exception) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[NodeRequest] = []
        self.connected: list[tuple[str, int, int]] = []

    def _next(self) -> Any:
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        self.connected.append((host, port, timeout))
        self._next()

    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse:
        self.requests.append(request)
        response = self._next()
        assert isinstance(response, HttpResponse)
        return response

    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        self.connected.append((host, port, timeout))
        answer = self._next()
        assert isinstance(answer, str)
        return answer
