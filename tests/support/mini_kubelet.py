"""As much of an API server and a kubelet as kubectl's streams need: the stream of a client is connected to the URL that
the runtime gives, byte for byte, as a kubelet does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubesim.values import part
from tests.support.cri_node import CriClient
from tools.kubectl import kubectl

TIMEOUT_S = 60
_VERBS = ["create", "get", "list"]
_DISCOVERY: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "pods",
                "singularName": "pod",
                "namespaced": True,
                "kind": "Pod",
                "verbs": _VERBS,
                "shortNames": ["po"],
            },
        ],
    },
}


@part
class MiniKubelet:
    """One pod, `web`, with a container. `directory` is for the files of kubectl."""

    client: CriClient
    sandbox: str
    container: str
    directory: Path
    stdin: bool = False
    address: str = ""
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    def _pod(self) -> dict[str, Any]:
        main = {"name": "main", "image": "busybox", "stdin": self.stdin}
        return {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"},
            "spec": {"nodeName": "n", "containers": [main]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "main", "state": {"running": {}}}]},
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                line, _, headers = head.partition(b"\r\n")
                method, target, _ = line.decode().split(" ")
                if target.endswith(("/exec", "/attach", "/portforward")) or "/pods/web/" in target:
                    await self._stream(method, target, headers, reader, writer)
                    return
                self._answer(urlsplit(target).path, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self._serving.discard(task)

    async def close(self) -> None:
        """End the connections, and let them be closed."""
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await asyncio.sleep(0)

    def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        found = self._pod() if path.endswith("/pods/web") else _DISCOVERY.get(path)
        body = json.dumps(found or {"kind": "Status", "status": "Failure", "code": 404}).encode()
        status = "200 OK" if found else "404 Not Found"
        head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)

    async def _url(self, target: str) -> str:
        parts = urlsplit(target)
        query = parse_qs(parts.query)
        if parts.path.endswith("/portforward"):
            return str((await self.client.call("PortForward", pod_sandbox_id=self.sandbox)).url)
        flags = {name: query.get(name, ["false"])[0] in ("true", "1") for name in ("stdin", "stdout", "stderr", "tty")}
        if parts.path.endswith("/attach"):
            return str((await self.client.call("Attach", container_id=self.container, **flags)).url)
        return str((await self.client.call("Exec", container_id=self.container, cmd=query["command"], **flags)).url)

    async def _stream(
        self, method: str, target: str, headers: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        url = urlsplit(await self._url(target))
        there, out = await asyncio.open_connection(url.hostname, url.port)
        out.write(f"{method} {url.path} HTTP/1.1\r\n".encode() + headers)
        try:
            await asyncio.gather(_pipe(reader, out), _pipe(there, writer))
        finally:
            out.close()

    async def kubectl(self, *words: str, version: str, input: str = "") -> tuple[int, str, str]:
        process = await self.start(*words, version=version)
        async with asyncio.timeout(TIMEOUT_S):
            out, error = await process.communicate(input.encode())
        assert process.returncode is not None
        return process.returncode, out.decode(), error.decode()

    async def start(self, *words: str, version: str) -> asyncio.subprocess.Process:
        kubeconfig = self.directory / "kubeconfig"
        cluster = {"name": "c", "cluster": {"server": self.address}}
        context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
        config = {
            "clusters": [cluster],
            "contexts": [context],
            "current-context": "x",
            "users": [{"name": "u", "user": {}}],
        }
        kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **config}))
        flags = ("--kubeconfig", str(kubeconfig), "--cache-dir", str(self.directory / "cache"))
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(
            str(kubectl(version)), *flags, *words, stdin=pipe, stdout=pipe, stderr=pipe
        )


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (ConnectionError, OSError):
        writer.close()


@asynccontextmanager
async def mini_kubelet(kubelet: MiniKubelet) -> AsyncIterator[MiniKubelet]:
    server = await asyncio.start_server(kubelet.serve, "127.0.0.1", 0)
    kubelet.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield kubelet
    finally:
        server.close()
        await kubelet.close()
