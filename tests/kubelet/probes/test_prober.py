"""The results of each kind of probe, and the kubelet's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from kubesim.api.pod import Container, HTTPGetAction, PodStatus
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.features.rules import rules_of
from kubesim.kubelet.probes.handlers import MAX_OUTPUT, expand_static
from kubesim.kubelet.probes.prober import Prober
from kubesim.runtime.network.http_request import (
    BadRequest,
    new_request_for_http_get_action,
    redirected,
    resolve_container_port,
)
from kubesim.runtime.network.node_network import (
    GrpcStatusError,
    HttpResponse,
    NetworkError,
    ResponseTimeout,
    body_timeout,
    connection_refused,
    dial_timeout,
)
from kubesim.runtime.protocol import DeadlineExceeded, ExecResult, Runtime
from tests.support.fakes.events import RecordedEvents
from tests.support.fakes.network import Web
from tests.support.fakes.runtimes import Commands
from tests.support.probes import EXEC, pod, subject

STATUS = PodStatus(pod_ip="10.0.0.7")


def probe(
    spec: Mapping[str, Any],
    *,
    commands: Commands | None = None,
    web: Web | None = None,
    gates: FeatureGates = DEFAULT_GATES,
) -> tuple[str | None, list[tuple[str, str]], int]:
    """(result, events, duration) of a readiness probe."""

    async def main() -> tuple[str | None, list[tuple[str, str]], int]:
        clock, events = LoopClock(), RecordedEvents()
        prober = Prober(clock, cast(Runtime, commands or Commands()), web or Web(), events, gates)
        of = pod(readinessProbe={"timeoutSeconds": 1, **spec})
        result = await prober.probe(subject(of, "readiness"), STATUS, "containerd://1")
        assert all(event.container == "web" for event in events.events)
        return result, [(event.reason, event.message) for event in events.events], clock.elapsed()

    return run_virtual(main)


def unhealthy(message: str) -> tuple[str, list[tuple[str, str]], int]:
    return "failure", [("Unhealthy", f"Readiness probe failed: {message}")], 0


def test_exec_success_is_silent_and_failure_shows_the_output() -> None:
    commands = Commands(ExecResult(0, "fine"))
    assert probe(EXEC, commands=commands) == ("success", [], 0)
    assert commands.calls == [("1", ("check",), SECOND)]
    assert probe(EXEC, commands=Commands(ExecResult(1, "out ", "err\n"))) == unhealthy("out err\n")


def test_exec_output_is_cut_at_ten_kibibytes() -> None:
    _, [(_, message)], _ = probe(EXEC, commands=Commands(ExecResult(1, "x" * 20_000)))
    assert message == "Readiness probe failed: " + "x" * MAX_OUTPUT


def test_a_slow_exec_probe_is_a_failure() -> None:
    spec = {"exec": {"command": ["sh", "-c", "sleep 9"]}}
    late = 'command timed out: "sh -c sleep 9" timed out after 1s'
    assert probe(spec, commands=Commands(DeadlineExceeded("whatever"))) == unhealthy(late)


def test_exec_had_no_time_limit_in_v1_12() -> None:
    commands = Commands(ExecResult(0))
    assert probe(EXEC, commands=commands, gates=FeatureGates(profile="v1.12")) == ("success", [], 0)
    assert commands.calls == [("1", ("check",), 0)], "without a timeout"


def test_an_error_is_retried_three_times_and_then_ignored() -> None:
    gone = RuntimeCallError("rpc error: code = NotFound desc = gone")
    reported = [("Unhealthy", f"Readiness probe errored and resulted in unknown state: {gone}")]
    commands = Commands(gone, gone, gone)
    assert probe(EXEC, commands=commands) == (None, reported, 0)
    assert len(commands.calls) == 3
    assert probe(EXEC, commands=Commands(gone, gone, ExecResult(0))) == ("success", [], 0)


def test_exec_commands_use_the_values_in_the_manifest() -> None:
    container = Container.from_json({"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]})
    command = ("$(A)-$(B)-$(C)", "$$(A)", "$(A", "a$", "$x")
    assert expand_static(command, container.env) == ("1--$(C)", "$(A)", "$(A", "a$", "$x")


def test_http_status_codes() -> None:
    spec = {"httpGet": {"path": "/healthz", "port": 8080}}
    web = Web(HttpResponse(204))
    assert probe(spec, web=web) == ("success", [], 0)
    assert web.requests[0].url == "http://10.0.0.7:8080/healthz"
    assert web.requests[0].headers == (("Accept", "*/*"), ("User-Agent", "kube-probe/1.36"))
    assert probe(spec, web=Web(HttpResponse(503, b"secret"))) == unhealthy("HTTP probe failed with statuscode: 503")
    assert probe(spec, web=Web(HttpResponse(304, b"old"))) == (
        "success",
        [("ProbeWarning", "Readiness probe warning: Probe terminated redirects, Response body: old")],
        0,
    )


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (connection_refused("10.0.0.7:80"), "dial tcp 10.0.0.7:80: connect: connection refused"),
        (dial_timeout("x"), "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        (ResponseTimeout(""), "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
        (NetworkError("EOF"), "EOF"),
    ],
)
def test_no_http_response_is_a_failure_with_gos_message(error: NetworkError, message: str) -> None:
    assert probe({"httpGet": {"path": "/", "port": 80}}, web=Web(error)) == unhealthy(
        f'Get "http://10.0.0.7:80/": {message}'
    )


def test_an_endless_http_body_is_an_error() -> None:
    web = Web(body_timeout())
    result, [(_, message)], _ = probe({"httpGet": {"path": "/", "port": 80}}, web=web)
    assert (result, len(web.requests)) == (None, 3)
    said = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    assert message == f"Readiness probe errored and resulted in failure state: {said}"


def test_http_follows_a_limited_number_of_redirects_on_the_same_host() -> None:
    spec = {"httpGet": {"path": "/a", "port": 80, "httpHeaders": [{"name": "host", "value": "example.org"}]}}
    web = Web(HttpResponse(302, location="/b?x=1"), HttpResponse(200))
    assert probe(spec, web=web)[0] == "success"
    assert [(r.target, r.host_header, r.header("Referer")) for r in web.requests] == [
        ("/a", "example.org", ""),
        ("/b?x=1", "example.org", "http://10.0.0.7:80/a"),
    ]
    away = Web(HttpResponse(301, b"go away", location="https://elsewhere/"))
    assert probe(spec, web=away)[1][0][0] == "ProbeWarning"
    assert len(away.requests) == 1
    loop = Web(HttpResponse(302, location="/a"))
    assert probe(spec, web=loop) == unhealthy('Get "/a": stopped after 10 redirects')
    assert len(loop.requests) == 10


def test_an_absolute_redirect_drops_the_custom_host() -> None:
    action = HTTPGetAction.from_json({"port": 80, "host": "Web", "httpHeaders": [{"name": "Host", "value": "h"}]})
    request = new_request_for_http_get_action(action, Container(), "", "probe")
    following = redirected(request, "http://Web/next")
    assert (following.host, following.port, following.host_header) == ("Web", 80, "")


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("", "http://10.0.0.7:80"),
        ("healthz", "http://10.0.0.7:80/healthz"),
        ("/a b?c=d e&f#g", "http://10.0.0.7:80/a%20b?c=d e&f#g"),
        ("/a%2fb/ü?", "http://10.0.0.7:80/a/b/%C3%BC?"),
        ("/a%2fb", "http://10.0.0.7:80/a%2fb"),
        ("/%zz?q", "http://10.0.0.7:80/%25zz%3Fq"),
        ("http://other:1/x", "http://10.0.0.7:80/x"),
        ("//other/x", "http://10.0.0.7:80/x"),
    ],
)
def test_urls_have_gos_format(path: str, url: str) -> None:
    action = HTTPGetAction(path=path, port=80)
    assert new_request_for_http_get_action(action, Container(), "10.0.0.7", "probe").url == url


def test_http_headers_and_hosts() -> None:
    headers = [("x-a", "1"), ("X-A", "2"), ("user-agent", "me"), ("accept", ""), ("Host", "h"), ("bad name", "v")]
    action = HTTPGetAction.from_json(
        {
            "port": "web",
            "scheme": "HTTPS",
            "httpHeaders": [{"name": name, "value": value} for name, value in headers],
        }
    )
    container = Container.from_json({"ports": [{"name": "web", "containerPort": 8443}]})
    request = new_request_for_http_get_action(action, container, "fd00::7", "lifecycle")
    assert request.url == "https://[fd00::7]:8443"
    assert request.headers == (("User-Agent", "me"), ("X-A", "1"), ("X-A", "2"), ("bad name", "v"))
    assert (request.host_header, request.target) == ("h", "/")


def test_tcp() -> None:
    web = Web("open")
    assert probe({"tcpSocket": {"port": "8080"}, "timeoutSeconds": 3}, web=web) == ("success", [], 0)
    assert web.connected == [("10.0.0.7", 8080, 3 * SECOND)]
    late = Web(dial_timeout("db:5432"))
    assert probe({"tcpSocket": {"port": 5432, "host": "db"}}, web=late) == unhealthy("dial tcp db:5432: i/o timeout")


@pytest.mark.parametrize(
    ("port", "problem"),
    [
        ("http", 'strconv.Atoi: parsing "http": invalid syntax'),
        (0, "invalid port number: 0"),
        ("70000", "invalid port number: 70000"),
    ],
)
def test_an_invalid_port_is_an_error(port: int | str, problem: str) -> None:
    reported = [("Unhealthy", f"Readiness probe errored and resulted in unknown state: {problem}")]
    assert probe({"tcpSocket": {"port": port}}) == (None, reported, 0)


def test_a_probe_without_a_handler_is_an_error() -> None:
    problem = "missing probe handler for p_ns(u1):web"
    reported = [("Unhealthy", f"Readiness probe errored and resulted in unknown state: {problem}")]
    assert probe({}) == (None, reported, 0)


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("NOT_SERVING", 'service unhealthy (responded with "NOT_SERVING")'),
        (ResponseTimeout(""), "timeout: health rpc did not complete within 1s"),
        (
            GrpcStatusError("Unimplemented", "unknown service"),
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service",
        ),
        (
            GrpcStatusError("NotFound", "unknown service"),
            "error: health rpc probe failed: rpc error: code = NotFound desc = unknown service",
        ),
    ],
)
def test_grpc_failures(outcome: str | NetworkError, message: str) -> None:
    assert probe({"grpc": {"port": 9000}}, web=Web(outcome)) == unhealthy(message)


def test_grpc_dials_until_its_timeout() -> None:
    refused = connection_refused("10.0.0.7:9000")
    result, [(_, message)], took = probe({"grpc": {"port": 9000}}, web=Web(refused))
    said = 'timeout: failed to connect service "10.0.0.7:9000" within 1s: context deadline exceeded'
    assert (result, message, took) == ("failure", f"Readiness probe failed: {said}", SECOND)
    spec = {"grpc": {"port": 9000}, "timeoutSeconds": 5}
    assert probe(spec, web=Web(refused, refused, "SERVING")) == ("success", [], 2_600_000)


def test_an_error_with_the_message_of_v1_30() -> None:
    gates = FeatureGates(profile="v1.30")
    reported = [("Unhealthy", "Readiness probe errored: missing probe handler for p_ns(u1):web")]
    assert probe({}, gates=gates) == (None, reported, 0)


def test_an_unknown_port_name() -> None:
    with pytest.raises(BadRequest, match=r'strconv\.Atoi: parsing "web": invalid syntax'):
        resolve_container_port("web", Container())
    assert resolve_container_port("80", Container()) == 80
    for name in ("web", "80"):
        with pytest.raises(BadRequest, match=f'port "{name}" not found'):
            resolve_container_port(name, Container(), rules_of("v1.37"))


HTTP2 = {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP", "protocol": "HTTP2"}}


@pytest.mark.parametrize(("is_on", "http2"), [(True, True), (False, False)])
def test_http2_is_used_if_the_gate_is_enabled(is_on: bool, http2: bool) -> None:
    web = Web(HttpResponse(200))
    probe(HTTP2, web=web, gates=FeatureGates({"H2CContainerProbe": is_on}, "v1.37"))
    assert [request.http2 for request in web.requests] == [http2]
