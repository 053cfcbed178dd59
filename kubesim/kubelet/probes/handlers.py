"""The four probe handlers: exec, httpGet, tcpSocket, grpc.

Each function makes one attempt and returns a `ProbeAnswer`; the prober decides whether to retry and what to record.

Mirrors: pkg/probe/{exec,http,tcp,grpc}, the exec runner of pkg/kubelet/prober/prober.go, cri-client's ExecSync
"""

from __future__ import annotations

from typing import Literal

from kubesim.api.pod import EnvVar
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import duration, quoted
from kubesim.runtime.expansion import expand
from kubesim.runtime.network.http_request import BadRequest, redirected
from kubesim.runtime.network.node_network import (
    BodyError,
    ConnectError,
    ConnectTimeout,
    GrpcStatusError,
    HttpResponse,
    NetworkError,
    NodeNetwork,
    NodeRequest,
    ResponseTimeout,
    join_host_port,
)
from kubesim.runtime.protocol import CallContext, DeadlineExceeded, Runtime
from kubesim.values import value_object

MAX_OUTPUT = 10 * 1024  # bytes of a command's output or a response's body that are kept
MAX_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)

GRPC_BASE_DELAY = SECOND
GRPC_MULTIPLIER = 1.6
GRPC_MAX_DELAY = 120 * SECOND


@value_object
class ProbeAnswer:
    """The outcome of one attempt. An `error` means that the probe could not run."""

    result: Literal["success", "warning", "failure", "unknown"]
    output: str = ""
    error: str | None = None


_SUCCESS = ProbeAnswer("success")


def cut(output: bytes) -> str:
    return output[:MAX_OUTPUT].decode(errors="replace")


def expand_static(command: tuple[str, ...], env: tuple[EnvVar, ...]) -> tuple[str, ...]:
    """Expand $(NAME) with values written in the manifest, and $$ to a dollar sign; unknown names stay unchanged."""
    if "$" not in "".join(command):
        return command
    values = {variable.name: variable.value for variable in env}
    return tuple(expand(word, values) for word in command)


async def exec_probe(
    runtime: Runtime,
    container_id: str,
    words: tuple[str, ...],
    env: tuple[EnvVar, ...],
    timeout: int,
    context: CallContext | None = None,
) -> ProbeAnswer:
    """Run a command. `container_id` is the runtime's id. The output is stdout followed by stderr, not interleaved."""
    command = words
    try:
        command = expand_static(words, env)
        result = await runtime.exec_sync(container_id, command, timeout, context)
    except DeadlineExceeded:
        said = f"command timed out: {quoted(' '.join(command))} timed out after {duration(timeout)}"
        return ProbeAnswer("failure", said)
    except RuntimeCallError as error:
        return ProbeAnswer("unknown", error=str(error))
    output = result.stdout + result.stderr
    if not output and result.exit_code == 0:
        return _SUCCESS
    return ProbeAnswer("success" if result.exit_code == 0 else "failure", cut(output.encode(errors="replace")))


async def tcp_probe(network: NodeNetwork, host: str, port: int, timeout: int) -> ProbeAnswer:
    try:
        await network.tcp_connect(host, port, timeout)
    except NetworkError as error:
        return ProbeAnswer("failure", str(error))
    return _SUCCESS


async def http_probe(network: NodeNetwork, clock: LoopClock, request: NodeRequest, timeout: int) -> ProbeAnswer:
    """Send a GET. A failed exchange is a failure; only an incomplete body is an error, which is retried."""
    try:
        response = await http_get(network, clock, request, timeout)
    except BodyError as error:
        return ProbeAnswer("failure", error=str(error))
    except NetworkError as error:
        return ProbeAnswer("failure", str(error))
    if not 200 <= response.status < 400:
        return ProbeAnswer("failure", f"HTTP probe failed with statuscode: {response.status}")
    body = cut(response.body)
    if response.status >= 300:
        return ProbeAnswer("warning", f"Probe terminated redirects, Response body: {body}")
    return ProbeAnswer("success", body)


async def http_get(network: NodeNetwork, clock: LoopClock, request: NodeRequest, timeout: int) -> HttpResponse:
    """A GET that follows redirects on the same host only, within one timeout (0: none)."""
    deadline = clock.now() + timeout
    first_host = request.host
    requests = 0
    while True:
        response = await _exchange(network, request, timeout and max(deadline - clock.now(), 1))
        requests += 1
        if response.status not in _REDIRECTS or not response.location:
            return response
        try:
            following = redirected(request, response.location)
        except BadRequest as error:
            raise NetworkError(f"Get {quoted(request.url)}: {error}") from error
        if following.host != first_host:
            return response
        if requests >= MAX_REDIRECTS:
            raise NetworkError(f"Get {quoted(response.location)}: stopped after {MAX_REDIRECTS} redirects")
        request = following


async def _exchange(network: NodeNetwork, request: NodeRequest, timeout: int) -> HttpResponse:
    try:
        return await network.http_get(request, timeout)
    except BodyError:
        raise
    except (ConnectTimeout, ResponseTimeout) as error:
        # Go's client reports one timeout for the connection and the headers together.
        problem = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        raise NetworkError(f"Get {quoted(request.url)}: {problem}") from error
    except NetworkError as error:
        raise NetworkError(f"Get {quoted(request.url)}: {error}") from error


async def grpc_probe(
    network: NodeNetwork, clock: LoopClock, host: str, port: int, service: str, timeout: int, *, tls: bool = False
) -> ProbeAnswer:
    """Never raises: every error is a failure."""
    address = join_host_port(host, port)
    try:
        status = await _health(network, clock, host, port, service, timeout, tls)
    except ConnectError:
        within = f"{quoted(address)} within {duration(timeout)}"
        return ProbeAnswer("failure", f"timeout: failed to connect service {within}: context deadline exceeded")
    except NetworkError as error:
        return ProbeAnswer("failure", _grpc_problem(error, timeout))
    if status != "SERVING":
        return ProbeAnswer("failure", f"service unhealthy (responded with {quoted(status)})")
    return ProbeAnswer("success", "service healthy")


async def _health(
    network: NodeNetwork, clock: LoopClock, host: str, port: int, service: str, timeout: int, tls: bool
) -> str:
    """gRPC retries the connection until the timeout, so even a refused connection is reported only then."""
    deadline = clock.now() + timeout
    pause = float(GRPC_BASE_DELAY)
    while (left := deadline - clock.now()) > 0:
        try:
            return await network.grpc_health(host, port, service, left, tls=tls)
        except ConnectError:
            await clock.sleep(min(round(pause), max(deadline - clock.now(), 0)))
            pause = min(pause * GRPC_MULTIPLIER, GRPC_MAX_DELAY)
    raise ConnectTimeout("context deadline exceeded")


def _grpc_problem(error: NetworkError, timeout: int) -> str:
    code = error.code if isinstance(error, GrpcStatusError) else ""
    if isinstance(error, ResponseTimeout) or code == "DeadlineExceeded":
        return f"timeout: health rpc did not complete within {duration(timeout)}"
    if isinstance(error, GrpcStatusError) and code == "Unimplemented":
        unknown = "this server does not implement the grpc health protocol (grpc.health.v1.Health)"
        return f"error: {unknown}: {error.message}"
    return f"error: health rpc probe failed: {error}"
