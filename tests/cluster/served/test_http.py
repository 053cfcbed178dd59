"""The cluster's HTTP server: connections, timeouts, limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.registry.bootstrap import create_namespace, populate_namespace
from kubesim.cluster.served import http
from kubesim.cluster.served.answers.tokens import request_token
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.served.streaming import next_bookmark
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import HISTORY_LIMIT, QUEUE_LIMIT
from kubesim.errors import UsageError
from tests.support.socket_loop import run_with_sockets
from tests.support.sources.following import new_store

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
MAPS = "/api/v1/namespaces/default/configmaps"


class Stage:
    def __init__(self, clock: LoopClock, store: Store, server: ClusterServer, session: aiohttp.ClientSession) -> None:
        self.clock, self.store, self.server, self.session = clock, store, server, session

    def put(self, name: str, text: str = "") -> None:
        metadata = ObjectMeta(name=name, namespace="default")
        self.store.create(ApiObject.from_json({"kind": "ConfigMap", "data": {"k": text}}).changed(metadata=metadata))

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.session.request("GET", self.server.address + path, **options) as response:
            text = await response.text()
            return response.status, json.loads(text) if "json" in response.headers["Content-Type"] else text


def on_stage(play: Callable[[Stage], Awaitable[None]], **options: Any) -> None:
    """Run the server in virtual time."""

    async def main() -> None:
        clock = LoopClock()
        store = new_store(clock)
        server = ClusterServer(store, clock, **options)
        await server.start()
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
                await play(Stage(clock, store, server, session))
        finally:
            await server.close()
        assert server.connections == 0
        assert not any(store._listeners.values())

    run_with_sockets(main)


def test_a_watch_ends_at_its_timeout() -> None:
    async def lasts(stage: Stage, path: str) -> float:
        began = stage.clock.now()
        async with stage.session.get(stage.server.address + path) as response:
            assert await response.read() == b""
        return (stage.clock.now() - began) / SECOND

    async def play(stage: Stage) -> None:
        assert await lasts(stage, f"{MAPS}?watch=1&timeoutSeconds=7") == 7
        assert 1800 <= await lasts(stage, f"{MAPS}?watch=1") < 3600

    on_stage(play)


def test_bookmarks_come_every_minute_and_shortly_before_the_end() -> None:
    assert next_bookmark(0, 1000 * SECOND) == 60 * SECOND
    assert next_bookmark(960 * SECOND, 1000 * SECOND) == 998 * SECOND
    assert next_bookmark(998 * SECOND, 1000 * SECOND) is None
    assert next_bookmark(0, 1 * SECOND) is None


def test_a_client_that_does_not_read_loses_the_watch() -> None:
    async def play(stage: Stage) -> None:
        port = int(stage.server.address.rsplit(":")[-1])
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await stage.clock.sleep(SECOND)
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for number in range(150):  # more than the socket buffers
            stage.put(f"long-{number}", "x" * 100_000)
            await stage.clock.sleep(1000)
        for number in range(QUEUE_LIMIT):
            stage.put(f"short-{number}")
        assert not any(stage.store._listeners.values())
        writer.transport.abort()
        await stage.clock.sleep(SECOND)

    on_stage(play)


def test_a_client_that_fell_behind_must_list_again() -> None:
    async def play(stage: Stage) -> None:
        watched = stage.server.address + MAPS + "?watch=1&resourceVersion="
        stage.put("seen")
        seen = stage.store.resource_version
        for number in range(HISTORY_LIMIT + 1):
            stage.put(f"missed-{number}")
        async with stage.session.get(f"{watched}{seen}") as response:
            line = json.loads(await response.read())
        assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")
        _, listed = await stage.get(MAPS)
        version = listed["metadata"]["resourceVersion"]
        stage.clock.call_at(stage.clock.now() + SECOND, stage.put, "new")
        async with stage.session.get(f"{watched}{version}") as response:
            line = json.loads(await response.content.readline())
        assert (line["type"], line["object"]["metadata"]["name"]) == ("ADDED", "new")

    on_stage(play)


def test_a_slow_client_does_not_delay_the_others() -> None:
    async def play(stage: Stage) -> None:
        port = int(stage.server.address.rsplit(":")[-1])
        _, slow = await asyncio.open_connection("127.0.0.1", port, limit=1)
        slow.write(f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        _, half = await asyncio.open_connection("127.0.0.1", port)
        half.write(f"POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode())
        await stage.clock.sleep(SECOND)
        slow.transport.pause_reading()  # type: ignore[attr-defined]
        async with stage.session.get(f"{stage.server.address}{MAPS}?watch=1") as response:
            for number in range(150):
                stage.put(f"long-{number}", "x" * 100_000)
                line = json.loads(await response.content.readuntil(b"\n"))
                assert line["object"]["metadata"]["name"] == f"long-{number}"
        for writer in (slow, half):
            writer.transport.abort()
        await stage.clock.sleep(SECOND)

    on_stage(play)


def test_watches_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_WATCHES", 2)

    async def play(stage: Stage) -> None:
        watched = f"{stage.server.address}{MAPS}?watch=1"
        async with stage.session.get(watched), stage.session.get(watched) as second:
            async with stage.session.get(watched) as third:
                assert third.status == 429
                assert third.headers["Retry-After"] == "1"
                assert await third.text() == "Too many requests, please try again later.\n"
            assert (await stage.get(MAPS))[0] == 200
            second.close()
            await stage.clock.sleep(SECOND)
            async with stage.session.get(watched) as third:
                assert third.status == 200
        await stage.clock.sleep(SECOND)

    on_stage(play)


def test_headers_are_limited() -> None:
    async def play(stage: Stage) -> None:
        many = {f"X-{number}": "y" for number in range(200)}
        for headers in ({"X-Long": "y" * (http.MAX_HEAD + 1)}, many):
            async with stage.session.get(stage.server.address + MAPS, headers=headers) as response:
                assert response.status == 400
        async with stage.session.get(f"{stage.server.address}{MAPS}?labelSelector={'a' * http.MAX_HEAD}") as response:
            assert response.status == 400
        assert (await stage.get(f"{MAPS}?labelSelector={'a' * 60}"))[0] == 200

    on_stage(play)


def test_a_disconnected_client_is_forgotten() -> None:
    async def play(stage: Stage) -> None:
        async with stage.session.get(f"{stage.server.address}{MAPS}?watch=1"):
            await stage.clock.sleep(SECOND)
            assert any(stage.store._listeners.values())
        await stage.clock.sleep(SECOND)
        assert not any(stage.store._listeners.values())

    on_stage(play)


def test_closing_ends_every_watch() -> None:
    async def play(stage: Stage) -> None:
        async with stage.session.get(f"{stage.server.address}{MAPS}?watch=1") as response:
            await stage.server.close()
            assert await response.read() == b""

    on_stage(play)


def test_a_read_waits_for_a_resource_version_in_the_near_future() -> None:
    async def play(stage: Stage) -> None:
        stage.clock.call_at(stage.clock.now() + SECOND, stage.put, "a")
        began = stage.clock.now()
        status, body = await stage.get(f"{MAPS}?resourceVersion=1")
        assert (status, len(body["items"])) == (200, 1)
        assert stage.clock.now() - began < 2 * SECOND
        began = stage.clock.now()
        status, body = await stage.get(f"{MAPS}?resourceVersion=9")
        assert (status, body["reason"]) == (504, "Timeout")
        assert stage.clock.now() - began == 3 * SECOND

    on_stage(play)


def test_a_body_that_is_too_long_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY", 1000)

    async def play(stage: Stage) -> None:
        async with stage.session.post(stage.server.address + MAPS, data=b"x" * 1001) as response:
            body = await response.json()
        assert (response.status, body["reason"]) == (413, "RequestEntityTooLarge")
        assert body["message"] == "Request entity too large: limit is 1000"

    on_stage(play)


def test_an_unauthenticated_client_is_rejected() -> None:
    async def play(stage: Stage) -> None:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic good"}):
            status, body = await stage.get("/healthz", headers=headers)
            assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")
        assert await stage.get("/healthz", headers={"Authorization": "Bearer good"}) == (200, "ok")

    on_stage(play, tokens=["good"])


def test_a_service_account_is_a_user_with_its_token() -> None:
    async def play(stage: Stage) -> None:
        stage.store.token_key = b"key"
        create_namespace(stage.store, "ns")
        populate_namespace(stage.store, "ns")
        account = stage.store.get("ServiceAccount", "ns", "default")
        forged = str(request_token(stage.store, account, {})["status"]["token"])
        stage.store.token_key = b"other"
        token = str(request_token(stage.store, account, {})["status"]["token"])
        headers = {"Authorization": f"Bearer {token}"}
        async with stage.session.post(stage.server.address + WHO, json={}, headers=headers) as response:
            info = (await response.json())["status"]["userInfo"]
        assert (info["username"], info["uid"]) == ("system:serviceaccount:ns:default", account.metadata.uid)
        assert (await stage.get("/healthz", headers={"Authorization": f"Bearer {forged}"}))[0] == 401
        stage.store.remove("ServiceAccount", "ns", "default")
        assert (await stage.get("/healthz", headers=headers))[0] == 401

    on_stage(play, tokens=["good"])


def test_discovery() -> None:
    async def play(stage: Stage) -> None:
        _, groups = await stage.get("/apis")
        names = [group["name"] for group in groups["groups"]]
        assert names[:3] == ["apiregistration.k8s.io", "apps", "events.k8s.io"]
        assert {"apps", "batch", "discovery.k8s.io", "policy", "storage.k8s.io"} <= {*names}
        _, core = await stage.get("/api/v1/")
        resources = {resource["name"]: resource for resource in core["resources"]}
        assert resources["pods"] == {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
            "shortNames": ["po"],
            "categories": ["all"],
            "storageVersionHash": resources["pods"]["storageVersionHash"],
        }
        assert "deletecollection" not in resources["namespaces"]["verbs"]
        assert resources["bindings"]["verbs"] == ["create"]
        assert resources["pods/eviction"] == {
            "name": "pods/eviction",
            "singularName": "",
            "namespaced": True,
            "group": "policy",
            "version": "v1",
            "kind": "Eviction",
            "verbs": ["create"],
        }
        assert (await stage.get("/apis/node.k8s.io/v1"))[1]["resources"][0]["name"] == "runtimeclasses"
        assert (await stage.get("/version"))[1]["gitVersion"] == "v1.36.4"
        assert await stage.get("/nothing") == (404, "404 page not found\n")

    on_stage(play)


def test_a_port_in_use() -> None:
    async def play(stage: Stage) -> None:
        port = int(stage.server.address.rsplit(":")[-1])
        with pytest.raises(UsageError, match=f"cannot serve on 127.0.0.1:{port}: "):
            await ClusterServer(stage.store, stage.clock).start(port=port)

    on_stage(play)


def test_an_exception_is_answered_and_the_server_keeps_running(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(stage: Stage) -> None:
        with monkeypatch.context() as broken:
            broken.setattr(http, "handle", lambda *_: dict[str, Any]()["Deployment"])
            status, body = await stage.get(MAPS)
        assert (status, body["kind"], body["reason"], body["code"]) == (500, "Status", "InternalError", 500)
        assert body["message"] == "Internal error occurred: KeyError: 'Deployment'"
        assert (await stage.get(MAPS))[0] == 200

    on_stage(play)
    [record] = caplog.records
    assert record.getMessage() == f"GET {MAPS}"
    assert record.exc_info is not None
