"""agnhost, the test image in the Kubernetes documentation: ports and responses of its commands.

Mirrors: kubernetes test/images/agnhost
"""

from __future__ import annotations

from itertools import pairwise

from kubesim.clock import LoopClock
from kubesim.golang.text import duration
from kubesim.shell.kernel.kernel import Kernel
from kubesim.shell.kernel.ports import HttpAnswer, HttpRequest, Listener

_NOT_FOUND = HttpAnswer(404, "404 page not found\n")


def agnhost(kernel: Kernel, argv: list[str]) -> list[Listener]:
    """Run an agnhost command. `liveness` is healthy for ten seconds, then unhealthy."""
    command = argv[1] if len(argv) > 1 else ""
    flags = _flags(argv[2:])
    began = kernel.clock.now()

    def liveness(request: HttpRequest) -> HttpAnswer:
        age = (kernel.clock.now() - began) / 1_000_000
        return HttpAnswer(200, "ok") if age <= 10 else HttpAnswer(500, f"error: {age}")

    def netexec(request: HttpRequest) -> HttpAnswer:
        path, _, query = request.path.partition("?")
        if path == "/echo":
            return HttpAnswer(200, query.removeprefix("msg="))
        known = {
            "/": f"NOW: {kernel.clock.now()}",
            "/healthz": "",
            "/hostname": kernel.network.hostname,
            "/hostName": kernel.network.hostname,
        }
        return HttpAnswer(200, known[path]) if path in known else _NOT_FOUND

    if command == "liveness":
        return [Listener(8080, answer=liveness)]
    if command == "netexec":
        return [Listener(_number(flags, "http-port", 8080), answer=netexec)]
    if command == "serve-hostname":
        return [Listener(_number(flags, "port", 9376), answer=lambda request: HttpAnswer(200, kernel.network.hostname))]
    if command == "grpc-health-checking":
        return _grpc_health_checking(kernel.clock, flags)
    if command == "h2c-server":
        return [Listener(_number(flags, "port", 80), answer=lambda request: HttpAnswer(200, "ok"), http2=True)]
    return []


def _grpc_health_checking(clock: LoopClock, flags: dict[str, str]) -> list[Listener]:
    """A gRPC health service: healthy until a request to the other port or a timeout makes it unhealthy."""
    began, known = clock.now(), flags.get("service", "")
    healthy_for_s = _number(flags, "delay-unhealthy-sec", -1)
    forced_unhealthy = False

    def health(service: str) -> str | None:
        if service != known:
            return None
        is_over = 0 <= healthy_for_s * 1_000_000 <= clock.now() - began
        return "NOT_SERVING" if forced_unhealthy or is_over else "SERVING"

    def control(request: HttpRequest) -> HttpAnswer:
        nonlocal forced_unhealthy
        path = request.path.partition("?")[0]
        if path not in ("/make-serving", "/make-not-serving"):
            return _NOT_FOUND
        forced_unhealthy = path == "/make-not-serving"
        return HttpAnswer(200, duration(clock.now() - began))

    ports = _number(flags, "http-port", 8080), _number(flags, "port", 5000)
    has_tls = bool(flags.get("tls-cert-file") and flags.get("tls-private-key-file"))
    return [Listener(ports[0], answer=control), Listener(ports[1], health=health, tls=has_tls)]


def _flags(words: list[str]) -> dict[str, str]:
    """Parse `--name=value` and `--name value`; a flag followed by another flag is true."""
    flags: dict[str, str] = {}
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name] = value if equals else "true" if following.startswith("--") else following
    return flags


def _number(flags: dict[str, str], name: str, default: int) -> int:
    text = flags.get(name, "")
    return int(text) if text.removeprefix("-").isdecimal() else default
