"""Opening a connection to a real API server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.clock import LoopClock
from kubesim.cluster.remote.connect import connect
from kubesim.cluster.remote.transport import Call
from kubesim.cluster.served.http import ClusterServer
from kubesim.errors import ReadOnlyError, UsageError
from tests.support.cluster.kubeconfig import kubeconfig
from tests.support.sources.following import new_store

NODES = "/api/v1/nodes"


def test_it_is_read_only_by_default(tmp_path: Path) -> None:
    async def main() -> None:
        clock = LoopClock()
        server = ClusterServer(new_store(clock), clock)
        await server.start()
        path = kubeconfig(tmp_path / "config", server.address, {"token": "t"})
        create = Call("create", NODES, body=b'{"metadata":{"name":"a"}}', content_type="application/json")
        reader = connect(clock, path)
        async with reader.open(Call("list", NODES)) as reply:
            assert reply.status == 200
        with pytest.raises(ReadOnlyError):
            reader.open(create)
        assert server.requests == 1
        await reader.close()
        writer = connect(clock, path, may_write=True)
        async with writer.open(create) as reply:
            assert reply.status == 201
        await writer.close()
        await server.close()

    asyncio.run(main())


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubesim.cluster.remote.connect.find_spec", lambda name: None)

    async def main() -> None:
        with pytest.raises(UsageError, match="aiohttp is missing: run `make demo` in a clone, or pip install aiohttp"):
            connect(LoopClock())

    asyncio.run(main())


def test_heavy_packages_are_imported_on_use() -> None:
    """Importing the modules loads neither the HTTP library nor the Kubernetes package."""
    code = (
        "import sys; import kubesim.cli.main, kubesim.sources.apiserver, kubesim.cluster.remote.connect\n"
        "print([name for name in ('aiohttp', 'kubernetes') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
