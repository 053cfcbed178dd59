"""A real url, served on loopback: headers, redirects, TLS, limits and timeouts. The node's time is virtual."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import UsageError
from kubesim.sources.config import ConfigStream
from kubesim.sources.http import HttpSource
from kubesim.sources.manifests.manifest_files import MAX_CONFIG_LENGTH
from kubesim.sources.manifests.manifest_url import FetchError, Tls, UrlAnswer, UrlOptions
from kubesim.sources.manifests.real_url import RealUrl, header_for, proxy_for, tls_context
from kubesim.trace import Recorder
from tests.support.patience import with_growing_limits
from tests.support.sources.manifests import pod, pods
from tests.support.sources.web import Handler, answering, hang, serving

CERTIFICATES = Path(__file__).parent.parent / "tls"
CA, SERVER, CLIENT = (str(CERTIFICATES / name) for name in ("ca.pem", "server.pem", "client.pem"))


def play(scene: Callable[[LoopClock], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        return await scene(LoopClock())

    return run_virtual(main)


def fetch(handler: Handler, path: str = "/", **options: Any) -> UrlAnswer | str:
    """The result of one request; an error as its text, with SERVER for the address."""

    async def scene(clock: LoopClock) -> UrlAnswer | str:
        context = options.pop("context", None)
        with serving(handler, context) as address:
            try:
                return await RealUrl(address + path, clock, UrlOptions(**options)).get()
            except FetchError as error:
                return str(error).replace(address, "SERVER")

    answer: UrlAnswer | str = play(scene)
    return answer


def test_a_response_with_its_status() -> None:
    assert fetch(answering(lambda _: web.Response(text="hello"))) == UrlAnswer(200, b"hello", "OK")
    gone = fetch(answering(lambda _: web.Response(status=404, text="gone")))
    assert isinstance(gone, UrlAnswer)
    assert gone.status_line == "404 Not Found"


def test_headers_are_sent_once_for_each_value() -> None:
    def echo(request: web.Request) -> web.Response:
        return web.json_response([request.method, request.headers.getall("X-Token"), request.headers["User-Agent"]])

    answer = fetch(answering(echo), header={"X-Token": ("one", "two")})
    assert isinstance(answer, UrlAnswer)
    assert json.loads(answer.body) == ["GET", ["one", "two"], "kubesim"]


def test_a_limited_number_of_redirects_is_followed() -> None:
    def hops(request: web.Request) -> web.Response:
        left = int(request.path[1:])
        if left == 0:
            return web.Response(text="arrived")
        return web.Response(status=[301, 302, 303, 307, 308][left % 5], headers={"Location": f"/{left - 1}"})

    assert fetch(answering(hops), "/9") == UrlAnswer(200, b"arrived", "OK")
    assert fetch(answering(hops), "/10") == 'Get "SERVER/0": stopped after 10 redirects'


def test_a_redirect_without_a_location_is_a_response_and_one_to_a_file_is_rejected() -> None:
    nowhere = fetch(answering(lambda _: web.Response(status=302)))
    assert isinstance(nowhere, UrlAnswer)
    assert nowhere.status_line == "302 Found"
    to_file = answering(lambda _: web.Response(status=302, headers={"Location": "file:///etc/passwd"}))
    assert fetch(to_file) == 'Get "file:///etc/passwd": unsupported protocol scheme "file"'


def test_credentials_are_not_sent_to_another_host() -> None:
    header = {"Authorization": ("Bearer x",), "Cookie": ("a=b",), "X-Token": ("y",)}
    assert header_for(header, "example.com", "example.com") == header
    assert header_for(header, "example.com", "sub.example.com") == header
    assert header_for(header, "example.com", "example.org") == {"X-Token": ("y",)}
    assert header_for(header, "example.com", "badexample.com") == {"X-Token": ("y",)}


def test_proxies_come_from_the_environment_but_not_for_this_machine() -> None:
    environment = {"HTTP_PROXY": "http://proxy:1", "https_proxy": "http://proxy:2", "NO_PROXY": "inside.example"}
    assert proxy_for("http://outside.example/", environment) == "http://proxy:1"
    assert proxy_for("https://outside.example/", environment) == "http://proxy:2"
    assert proxy_for("http://inside.example/", environment) is None
    assert proxy_for("http://localhost:80/", environment) is None
    assert proxy_for("http://127.0.0.9/", environment) is None
    assert proxy_for("http://[::1]:80/", environment) is None
    assert proxy_for("http://outside.example/", {}) is None


def test_a_body_of_the_limit_is_too_long() -> None:
    size = MAX_CONFIG_LENGTH
    too_long = fetch(answering(lambda _: web.Response(body=b"x" * size)))
    assert too_long == "the read limit is reached"
    longest = fetch(answering(lambda _: web.Response(body=b"x" * (size - 1))))
    assert isinstance(longest, UrlAnswer)
    assert len(longest.body) == size - 1


def test_a_silent_server_times_out_on_the_wall_clock() -> None:
    answer = fetch(hang, timeout=20 * MILLISECOND)
    assert answer == 'Get "SERVER/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'


def test_an_endless_body_is_aborted() -> None:
    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"a")
        return await hang(request)

    late = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    answer = with_growing_limits(
        lambda limit_s: fetch(trickle, timeout=round(limit_s * SECOND)), lambda answer: answer == late
    )
    assert answer == late


def test_a_truncated_body() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"only this")
        assert request.transport is not None
        request.transport.close()
        return response

    assert fetch(cut) == "unexpected EOF"


def test_connection_refused() -> None:
    async def scene(clock: LoopClock) -> str:
        with serving(answering(lambda _: web.Response())) as address:
            pass
        with pytest.raises(FetchError) as failed:
            await RealUrl(address, clock).get()
        return str(failed.value).replace(address.removeprefix("http://"), "HOST")

    assert play(scene) == 'Get "http://HOST": dial tcp HOST: connect: connection refused'


def test_an_unknown_host_and_an_invalid_url() -> None:
    async def scene(clock: LoopClock, url: str) -> str:
        with pytest.raises(FetchError) as failed:
            await RealUrl(url, clock).get()
        return str(failed.value)

    assert play(lambda clock: scene(clock, "http://no..host/")).startswith('Get "http://no..host/": ')
    assert play(lambda clock: scene(clock, "http://127.0.0.1:99999/")).startswith('Get "http://127.0.0.1:99999/": ')


# -- TLS ----------------------------------------------------------------------------------------------------------


def server_context(*, ask_for_client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SERVER)
    if ask_for_client:
        context.load_verify_locations(CA)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def fetch_tls(*, ask_for_client: bool = False, **tls: Any) -> UrlAnswer | str:
    context = server_context(ask_for_client=ask_for_client)
    return fetch(answering(lambda _: web.Response(text="hello")), tls=Tls(**tls), context=context)


HELLO = UrlAnswer(200, b"hello", "OK")


def test_a_certificate_is_verified_with_the_given_authority() -> None:
    assert fetch_tls(ca_file=CA) == HELLO
    assert "certificate verify failed" in str(fetch_tls())


def test_verification_can_be_disabled() -> None:
    assert fetch_tls(insecure_skip_verify=True) == HELLO


def test_the_name_in_the_certificate_is_checked() -> None:
    assert fetch_tls(ca_file=CA, server_name="manifests.example") == HELLO
    assert "mismatch" in str(fetch_tls(ca_file=CA, server_name="other.example"))


def test_a_client_certificate() -> None:
    assert fetch_tls(ask_for_client=True, ca_file=CA, cert_file=CLIENT) == HELLO
    assert isinstance(fetch_tls(ask_for_client=True, ca_file=CA), str)


def test_files_without_a_certificate() -> None:
    with pytest.raises(UsageError, match=r"nowhere.pem: no certificates of authorities in it: no such file"):
        tls_context(Tls(ca_file="nowhere.pem"))
    with pytest.raises(UsageError, match=r"ca.pem: no certificate with its key in it"):
        tls_context(Tls(cert_file=CA))


# -- as a source --------------------------------------------------------------------------------------------------


def test_as_a_source_it_is_polled_repeatedly_and_leaves_nothing() -> None:
    descriptors = len(os.listdir("/proc/self/fd"))
    answers = [pod("a"), pod("a"), pods("a", "b"), pods("b")]
    asked: list[int] = []

    async def main() -> list[tuple[str, list[str]]]:
        async with TaskSet() as tasks:
            clock = LoopClock()
            config = ConfigStream(clock, Recorder(clock), ("http",))

            async def handler(_: web.Request) -> web.Response:
                asked.append(clock.elapsed())
                return web.json_response(answers[min(len(asked), len(answers)) - 1])

            with serving(handler) as address:
                source = HttpSource(clock, tasks, Recorder(clock), config, RealUrl(address, clock), "n")
                source.start()
                await clock.sleep(70 * SECOND)
                source.stop()
            reported: list[tuple[str, list[str]]] = []
            while (item := config.updates.try_receive()) is not None:
                reported.append((item[0].op, [pod.metadata.name for pod in item[0].pods]))
            return reported

    assert run_virtual(main) == [("ADD", ["a-n"]), ("ADD", ["b-n"]), ("REMOVE", ["a-n"])]
    assert asked == [0, 20 * SECOND, 40 * SECOND, 60 * SECOND]
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_it_can_be_stopped_during_an_exchange() -> None:
    async def main() -> None:
        async with TaskSet() as tasks:
            clock = LoopClock()
            loop = asyncio.get_running_loop()
            arrived: asyncio.Future[None] = loop.create_future()

            async def handler(request: web.Request) -> web.StreamResponse:
                loop.call_soon_threadsafe(arrived.set_result, None)
                return await hang(request)

            with serving(handler) as address:
                config = ConfigStream(clock, Recorder(clock), ("http",))
                source = HttpSource(clock, tasks, Recorder(clock), config, RealUrl(address, clock), "n")
                source.start()
                await arrived
                source.stop()
                await clock.sleep(SECOND)
                assert len(tasks) == 0

    run_virtual(main)
