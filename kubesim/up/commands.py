"""exec and attach, as the API server serves them.

Mirrors: pkg/registry/core/pod/rest/subresources.go
"""

from __future__ import annotations

from aiohttp import web

from kubesim.cluster.problems import bad_request
from kubesim.runtime.simulated.streaming.commands import StreamOptions, stream_attach, stream_exec
from kubesim.up.pods import PodRequest


async def serve_exec(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    command = tuple(asked.query.get("command", ()))
    if not command:
        raise bad_request("you must specify at least one command for the container")
    options = _options(asked)
    _, _, process = asked.running()
    return await stream_exec(request, process, command, options, asked.pods.clock)


async def serve_attach(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    options = _options(asked)
    pod, container, process = asked.running()
    name = container.info.name
    if options.tty and not container.config.container.tty:
        raise bad_request(f"container {name} of pod {pod.metadata.name} has no TTY: attach without -t")
    if options.stdin and not container.config.container.stdin:
        raise bad_request(f"container {name} of pod {pod.metadata.name} has no stdin: attach without -i")
    return await stream_attach(request, container, process, options, asked.pods.clock)


def _options(asked: PodRequest) -> StreamOptions:
    """Raises ApiError."""
    stdin, stdout, stderr, tty = (asked.flag(name) for name in ("stdin", "stdout", "stderr", "tty"))
    if not (stdin or stdout or stderr):
        raise bad_request("you must specify at least one of stdin, stdout, stderr")
    return StreamOptions(stdin, stdout, stderr, tty)
