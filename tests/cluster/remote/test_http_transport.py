"""HTTP connections: clean-up, proxies, credentials, and failures."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kubesim.clock import LoopClock
from kubesim.cluster.remote.access import Access, FixedAccess
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, read_all
from kubesim.cluster.served.http import ClusterServer
from kubesim.concurrency import TaskSet
from kubesim.errors import TransportError
from tests.support.cluster.certificates import Authority
from tests.support.sources.following import Follower, new_pod, new_store

TIMEOUT_S = 30
PODS = Call("list", "/api/v1/pods")
WATCH = Call("watch", "/api/v1/pods", {"watch": "true"}, timeout_s=None)


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(TIMEOUT_S):
            return await main()

    return asyncio.run(bounded())


def transport_to(address: str, **access: Any) -> HttpTransport:
    return HttpTransport(FixedAccess(Access(address, **access)), LoopClock())


async def until(true: Callable[[], bool]) -> None:
    """Let the server run until a condition holds, within the test's timeout."""
    for _ in range(1_000_000):
        if true():
            return
        await asyncio.sleep(0)
    pytest.fail("it does not come about")


class Listener:
    """A server with a configurable response."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.heads: list[bytes] = []

    async def __aenter__(self) -> Listener:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(self._answer)
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("secure", [False, True])
def test_a_stopped_source_leaves_nothing_behind(tmp_path: Path, secure: bool) -> None:
    authority = Authority(tmp_path / "certificates")

    async def main() -> float:
        threads, tasks_before = threading.active_count(), len(asyncio.all_tasks())
        clock = LoopClock()
        store = new_store(clock)
        server = ClusterServer(store, clock, tls=authority.server_context() if secure else None)
        await server.start()
        tls = ssl.create_default_context(cafile=authority.own.cert) if secure else None
        async with TaskSet() as tasks:
            follower = Follower(clock, tasks, transport_to(server.address, tls=tls))
            follower.source.start()
            store.create(new_pod("a"))
            await until(lambda: bool(follower.take()) and server.connections > 0)
            loop = asyncio.get_running_loop()
            started = loop.time()
            follower.source.stop()
            await until(lambda: server.connections == 0 and len(tasks) == 0)
            took = loop.time() - started
            assert threading.active_count() == threads
        await server.close()
        await until(lambda: len(asyncio.all_tasks()) == tasks_before)
        return took

    assert run(main) < 0.1


def test_a_dns_lookup_leaves_no_thread() -> None:
    async def main() -> None:
        threads = threading.active_count()
        clock = LoopClock()
        server = ClusterServer(new_store(clock), clock)
        await server.start()
        transport = transport_to(server.address.replace("127.0.0.1", "localhost"))
        async with transport.open(PODS) as reply:
            assert reply.status == 200
        await transport.close()
        await until(lambda: threading.active_count() == threads)
        await server.close()

    run(main)


def test_an_unknown_host_name() -> None:
    async def main() -> None:
        transport = transport_to("http://no-such-host.invalid:1")
        with pytest.raises(TransportError, match=r"no-such-host\.invalid"):
            async with transport.open(PODS):
                pass
        await transport.close()

    run(main)


def test_connection_refused() -> None:
    async def main() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound, but not listening
            transport = transport_to(f"http://127.0.0.1:{taken.getsockname()[1]}")
            with pytest.raises(TransportError) as refused:
                async with transport.open(PODS):
                    pass
            assert refused.value.refused
            await transport.close()

    run(main)


def test_a_silent_server_times_out() -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()
            over.set()

        silent = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
        transport = transport_to(f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}")
        with pytest.raises(TransportError) as reported:
            async with transport.open(Call("list", "/api/v1/pods", timeout_s=0.05)):
                pass
        assert not reported.value.refused
        await transport.close()
        await over.wait()
        silent.close()

    run(main)


def test_a_truncated_response() -> None:
    async def main() -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        async with Listener(head + b'{"kind"') as listener:
            transport = transport_to(listener.address)
            with pytest.raises(TransportError):
                async with transport.open(PODS) as reply:
                    await read_all(reply)
            await transport.close()

    run(main)


def test_a_token_is_not_sent_to_another_server() -> None:
    async def main() -> None:
        async with Listener(b"") as other:
            moved = f"HTTP/1.1 302 Found\r\nLocation: {other.address}/\r\nContent-Length: 0\r\n\r\n".encode()
            async with Listener(moved) as listener:
                transport = transport_to(listener.address, authorization="Bearer token")
                async with transport.open(PODS) as reply:
                    assert reply.status == 302
                await transport.close()
                assert b"Authorization: Bearer token\r\n" in listener.heads[0]
                assert other.heads == []

    run(main)


def test_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is used for other hosts, never for loopback. A configured proxy is always used."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    async def main() -> None:
        async with Listener(answer) as proxy, Listener(answer) as server:
            monkeypatch.setenv("http_proxy", proxy.address)
            monkeypatch.setenv("no_proxy", "")
            for address in (server.address, "http://api.example"):
                transport = transport_to(address)
                async with transport.open(PODS):
                    pass
                await transport.close()
            monkeypatch.delenv("http_proxy")
            transport = transport_to(server.address, proxy=proxy.address)
            async with transport.open(PODS):
                pass
            await transport.close()
            assert len(server.heads) == 1
            assert [head.split()[1].partition(b"/api/v1")[0] for head in proxy.heads] == [
                b"http://api.example",
                server.address.encode(),
            ]

    run(main)


def test_closing_the_connection_ends_the_reading() -> None:
    async def main() -> None:
        clock = LoopClock()
        server = ClusterServer(new_store(clock), clock)
        await server.start()
        transport = ReadOnlyTransport(transport_to(server.address))
        async with transport.open(WATCH) as reply:
            asyncio.get_running_loop().call_soon(reply.close)
            assert await read_all(reply) == b""
        await transport.close()
        await server.close()

    run(main)


def test_retry_after_is_reported() -> None:
    async def main() -> None:
        async with Listener(b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n") as listener:
            transport = transport_to(listener.address)
            async with transport.open(PODS) as reply:
                assert (reply.status, reply.retry_after_s) == (429, 7.0)
            await transport.close()

    run(main)


class _Renewed:
    """Credentials that change with each load."""

    def __init__(self, server: str, *tokens: str) -> None:
        self._server, self._tokens = server, list(tokens)

    async def load(self) -> Access:
        return Access(self._server, authorization=f"Bearer {self._tokens.pop(0)}")


def test_new_credentials_keep_an_open_watch_of_the_old_ones() -> None:
    async def main() -> None:
        clock = LoopClock()
        store = new_store(clock)
        tokens = {"first"}
        server = ClusterServer(store, clock, tokens=tokens)
        await server.start()
        transport = HttpTransport(_Renewed(server.address, "first", "second"), clock)
        async with transport.open(WATCH) as watch:
            chunks = watch.chunks()
            store.create(new_pod("a"))
            assert b'"a"' in await anext(chunks)
            server.tokens = frozenset({"second"})
            async with transport.open(PODS) as reply:
                assert reply.status == 200
            store.create(new_pod("b"))
            assert b'"b"' in await anext(chunks)
        async with transport.open(PODS) as reply:
            assert reply.status == 200
        await transport.close()
        await until(lambda: server.connections == 0)
        await server.close()

    run(main)


def test_a_compressed_response_is_decompressed() -> None:
    body = b'{"kind":"PodList"}' * 10_000
    packed = gzip.compress(body)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    async def main() -> None:
        async with Listener(head + packed) as listener:
            transport = transport_to(listener.address)
            async with transport.open(PODS) as reply:
                assert await read_all(reply) == body
            await transport.close()
            assert b"Accept-Encoding: gzip\r\n" in listener.heads[0]

    run(main)


def test_the_budget_is_released_after_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesim.cluster.remote.bodies.MAX_BODY", 100)
    monkeypatch.setattr("kubesim.cluster.remote.bodies.MAX_OPEN_BODIES", 150)

    def answer(size: int) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size

    async def main() -> None:
        async with Listener(answer(100)) as listener:
            transport = transport_to(listener.address)
            for _ in range(3):
                async with transport.open(PODS) as reply:
                    assert len(await read_all(reply)) == 100
            async with transport.open(PODS) as reply, transport.open(PODS) as other:
                await read_all(reply)
                with pytest.raises(TransportError, match="at the same time") as reported:
                    await read_all(other)
                assert reported.value.too_large
            await transport.close()
        async with Listener(answer(101)) as listener:
            transport = transport_to(listener.address)
            with pytest.raises(TransportError, match="the answer has more than"):
                async with transport.open(PODS) as reply:
                    await read_all(reply)
            await transport.close()

    run(main)
