"""The output of a container for `kubectl logs`, with its options: the last lines, since a time, and follow.

Mirrors: pkg/registry/core/pod/rest/log.go; pkg/apis/core/validation ValidatePodLogOptions; pkg/kubelet kubelet_pods.go
validateContainerLogStatus; cri-client/pkg/logs ReadLogs
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aiohttp import web

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND, format_micro_time, parse_time
from kubesim.api.validation.field import Errors
from kubesim.cluster.kubectl.arguments import KubectlError
from kubesim.cluster.kubectl.logs import LogSource, container_id
from kubesim.cluster.problems import bad_request, invalid_options
from kubesim.errors import RuntimeCallError
from kubesim.runtime.simulated.containers.container_process import SimulatedContainer
from kubesim.shell.kernel.streams import Log, LogLine
from kubesim.up.pods import PodRequest
from kubesim.values import value_object

_POLL = 50 * MILLISECOND
_TEXT = {"Content-Type": "text/plain"}


@value_object
class LogOptions:
    """Options of a log request. `since` is a time in microseconds; `tail` and `limit` (bytes) None: everything."""

    follow: bool = False
    timestamps: bool = False
    since: int = 0
    tail: int | None = None
    limit: int | None = None
    stream: str = "All"

    def lines(self, lines: Iterable[LogLine]) -> Iterator[bytes]:
        """The selected lines, in the format of the response."""
        for line in lines:
            if line.time >= self.since and self.stream in ("All", line.stream.capitalize()):
                stamp = f"{format_micro_time(line.time)[:-1]}000Z " if self.timestamps else ""
                yield f"{stamp}{line.text}\n".encode(errors="surrogateescape")


def log_options(asked: PodRequest, now: int) -> LogOptions:
    """Parse the options of a request. Raises ApiError."""
    errors = Errors()
    numbers: dict[str, int | None] = {}
    for key, least in (("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)):
        text = asked.text(key)
        try:
            numbers[key] = int(text) if text else None
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
        if (number := numbers[key]) is not None and number < least:
            problem = "must be greater than or equal to 0" if not least else "must be greater than 0"
            errors.invalid(key, number, problem)
    stream = asked.text("stream") or "All"
    if stream not in ("All", "Stdout", "Stderr"):
        errors.unsupported("stream", stream, ("All", "Stderr", "Stdout"))
    if errors:
        raise invalid_options("PodLogOptions", errors)
    since = 0 if numbers["sinceSeconds"] is None else now - numbers["sinceSeconds"] * SECOND
    if asked.text("sinceTime"):
        try:
            since = parse_time(asked.text("sinceTime"))
        except ValueError as error:
            raise bad_request(f"sinceTime: {error}") from None
    return LogOptions(
        asked.flag("follow"), asked.flag("timestamps"), since, numbers["tailLines"], numbers["limitBytes"], stream
    )


async def serve_log(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    pod = asked.pod()
    options = log_options(asked, asked.pods.now())
    name = asked.container_name(pod)
    found = _container(asked, pod, name)
    response = web.StreamResponse(headers=_TEXT)
    await response.prepare(request)
    if isinstance(found, str):
        await response.write(found.encode())
    elif found is not None:
        await _send(asked, response, found, options)
    await response.write_eof()
    return response


def _container(asked: PodRequest, pod: Pod, name: str) -> SimulatedContainer | str | None:
    """The container; the kubelet's message if its record is gone; None if there is no output. Raises ApiError."""
    if not pod.spec.node_name:
        return None
    node = asked.pods.node_of(pod)
    try:
        identifier = container_id(LogSource(pod.to_json(), name), previous=asked.flag("previous"))
    except KubectlError as error:
        raise bad_request(str(error).removeprefix("Error from server (BadRequest): ")) from None
    try:
        return node.runtime.find(identifier.rpartition("//")[2])
    except RuntimeCallError:
        return f"unable to retrieve container logs for {identifier}"


async def _send(
    asked: PodRequest, response: web.StreamResponse, container: SimulatedContainer, options: LogOptions
) -> None:
    """Send the existing lines and, with `follow`, new ones until the container ends or the client disconnects."""
    log: Log | None = getattr(container.process, "log", None)
    if log is None:
        return
    room, read, first = options.limit, 0, True
    while True:
        ended = not container.runs()
        lines = log.lines[max(0, read - log.dropped) :]
        read = log.dropped + len(log.lines)
        pieces = list(options.lines(lines))
        if first and options.tail is not None:
            pieces = pieces[max(0, len(pieces) - options.tail) :]
        first = False
        data = b"".join(pieces)
        if room is not None:
            data, room = data[:room], max(0, room - len(data))
        if data:
            await response.write(data)
        if ended or not options.follow or room == 0:
            return
        await asked.pods.clock.sleep(_POLL)
