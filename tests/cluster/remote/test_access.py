"""Credentials of each kind in a kubeconfig, with a server that requires them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubesim.clock import LoopClock
from kubesim.cluster.remote.access import Access, AccessLoader, FixedAccess
from kubesim.cluster.remote.exec_plugin import read_credential
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.cluster.remote.kubeconfig import InClusterAccess, KubeconfigAccess, find_access
from kubesim.cluster.remote.transport import Call, read_all
from kubesim.cluster.served.http import ClusterServer
from kubesim.errors import TransportError, UsageError
from tests.support.cluster.certificates import Authority, Pair
from tests.support.cluster.kubeconfig import kubeconfig
from tests.support.sources.following import new_store

NODES = Call("list", "/api/v1/nodes")
SECRET = "s3cret-t0ken"
TIMEOUT_S = 120  # in real time, as the machine may be busy


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates") / "good")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files, which must be empty at the end."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    yield directory
    assert list(directory.iterdir()) == []


async def status(transport: HttpTransport, call: Call = NODES) -> int:
    async with transport.open(call) as reply:
        await read_all(reply)
        return reply.status


def with_server(play: Callable[[ClusterServer, LoopClock], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        clock = LoopClock()
        server = ClusterServer(new_store(clock), clock, **options)
        await server.start()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await play(server, clock)
        finally:
            await server.close()

    asyncio.run(main())


def check(make: Callable[[ClusterServer], AccessLoader], expected: int = 200, **options: Any) -> None:
    """One call with these credentials."""

    async def play(server: ClusterServer, clock: LoopClock) -> None:
        transport = HttpTransport(make(server), clock)
        try:
            assert await status(transport) == expected
        finally:
            await transport.close()

    with_server(play, **options)


def test_a_token(tmp_path: Path) -> None:
    path = tmp_path / "config"
    check(lambda server: KubeconfigAccess(kubeconfig(path, server.address, {"token": SECRET})), tokens=[SECRET])
    check(lambda server: KubeconfigAccess(kubeconfig(path, server.address, {"token": "x"})), 401, tokens=[SECRET])
    check(lambda server: KubeconfigAccess(kubeconfig(path, server.address, {})), 401, tokens=[SECRET])


def test_contexts_of_several_files(tmp_path: Path) -> None:
    async def play(server: ClusterServer, clock: LoopClock) -> None:
        first = kubeconfig(tmp_path / "first", "http://127.0.0.1:9", {"token": "x"})
        second = tmp_path / "second"
        second.write_text(
            yaml.safe_dump(
                {
                    "contexts": [{"name": "other", "context": {"cluster": "d", "user": "v"}}],
                    "clusters": [{"name": "d", "cluster": {"server": server.address}}],
                    "users": [{"name": "v", "user": {"token": SECRET}}],
                }
            )
        )
        paths = f"{first}{os.pathsep}{second}"
        assert (await KubeconfigAccess(paths).load()).server == "http://127.0.0.1:9"
        transport = HttpTransport(find_access(context="other", environment={"KUBECONFIG": paths}), clock)
        assert await status(transport) == 200
        await transport.close()

    with_server(play, tokens=[SECRET])


def test_a_client_certificate_inline(tmp_path: Path, scratch: Path, authority: Authority) -> None:
    cert, key = authority.sign("node", "/O=system:nodes/CN=system:node:a").data()
    user = {"client-certificate-data": cert, "client-key-data": key}
    trust = {"certificate-authority-data": authority.data}
    check(
        lambda server: KubeconfigAccess(kubeconfig(tmp_path / "config", server.address, user, **trust)),
        tls=authority.server_context(ask_for_certificates=True),
    )


def test_a_client_certificate_that_rotates(tmp_path: Path, authority: Authority) -> None:
    """File paths are relative to the kubeconfig. The first certificate is invalid; a valid one replaces it later."""
    others = Authority(tmp_path / "bad")
    bad, good = others.sign("node", "/CN=n"), authority.sign("node", "/CN=n")

    def use(pair: Pair) -> None:
        (tmp_path / "node.crt").write_bytes(pair.cert.read_bytes())
        (tmp_path / "node.key").write_bytes(pair.key.read_bytes())

    async def play(server: ClusterServer, clock: LoopClock) -> None:
        use(bad)
        user = {"client-certificate": "node.crt", "client-key": "node.key"}
        trust = {"certificate-authority": str(authority.own.cert)}
        path = kubeconfig(tmp_path / "config", server.address, user, **trust)
        transport = HttpTransport(KubeconfigAccess(path), clock)
        try:
            with pytest.raises(TransportError):
                await status(transport)
            use(good)
            assert await status(transport) == 200
        finally:
            await transport.close()

    with_server(play, tls=authority.server_context(ask_for_certificates=True))


def test_the_identity_of_the_server(tmp_path: Path, authority: Authority) -> None:
    """A known CA must have signed it for this host name, unless verification is disabled."""
    tls = authority.server_context()
    config, trust = tmp_path / "config", {"certificate-authority-data": authority.data}

    def loader(**cluster: Any) -> Callable[[ClusterServer], AccessLoader]:
        return lambda server: KubeconfigAccess(kubeconfig(config, server.address, {"token": SECRET}, **cluster))

    check(loader(**trust), tls=tls)
    check(loader(**trust, **{"tls-server-name": "api.example"}), tls=tls)
    check(loader(**{"insecure-skip-tls-verify": True}), tls=tls)
    with pytest.raises(TransportError, match="certificate"):
        check(loader(**trust, **{"tls-server-name": "other.example"}), tls=tls)
    with pytest.raises(TransportError, match="certificate"):
        check(loader(), tls=tls)


def test_a_pods_service_account(tmp_path: Path, authority: Authority) -> None:
    """Its token is rotated."""
    (tmp_path / "ca.crt").write_bytes(authority.own.cert.read_bytes())
    token = tmp_path / "token"
    token.write_text(f"{SECRET}\n")

    async def play(server: ClusterServer, clock: LoopClock) -> None:
        host, port = server.address.removeprefix("https://").split(":")
        environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
        transport = HttpTransport(InClusterAccess(tmp_path, environment), clock)
        assert await status(transport) == 200
        server.tokens = frozenset({"second"})
        token.write_text("second")
        assert await status(transport) == 200
        token.unlink()
        server.tokens = frozenset({"third"})
        with pytest.raises(TransportError, match=r"no new credentials: .*Service token file does not exist"):
            await status(transport)
        await transport.close()

    with_server(play, tokens=[SECRET], tls=authority.server_context())


# -- plugins ----------------------------------------------------------------------------------------------------------


def plugin(directory: Path, text: str) -> dict[str, Any]:
    """A plugin written in Python, with a path relative to the kubeconfig."""
    path = directory / "plugin"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1", "args": ["a"]}}


def credential(**status: str) -> str:
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(answer)!r})"


def test_a_plugin_returns_a_token(tmp_path: Path) -> None:
    user = plugin(
        tmp_path,
        "import json, os, sys\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert (info['kind'], info['spec'], sys.argv[1], os.environ['X']) == "
        "('ExecCredential', {'interactive': False}, 'a', 'y')\n" + credential(token=SECRET),
    )
    user["exec"]["env"] = [{"name": "X", "value": "y"}]
    config = tmp_path / "config"
    check(lambda server: KubeconfigAccess(kubeconfig(config, server.address, user)), tokens=[SECRET])


def test_a_plugin_returns_a_certificate(tmp_path: Path, scratch: Path, authority: Authority) -> None:
    pair = authority.sign("node", "/CN=n")
    text = credential(clientCertificateData=pair.cert.read_text(), clientKeyData=pair.key.read_text())
    user, trust = plugin(tmp_path, text), {"certificate-authority-data": authority.data}
    check(
        lambda server: KubeconfigAccess(kubeconfig(tmp_path / "config", server.address, user, **trust)),
        tls=authority.server_context(ask_for_certificates=True),
    )


def test_a_plugins_credentials_are_used_until_they_expire_or_are_rejected(tmp_path: Path) -> None:
    """The plugin counts its calls, and returns the number as the token."""
    count = (
        "import pathlib\n"
        f"path = pathlib.Path({str(tmp_path / 'count')!r})\n"
        "n = int(path.read_text()) + 1 if path.exists() else 1\n"
        "path.write_text(str(n))\n"
    )
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "N", "expirationTimestamp": "2300-01-01T00:00:00Z"},
    }
    user = plugin(tmp_path, count + f"print({json.dumps(answer)!r}.replace('\"N\"', f'\"{{n}}\"'))")

    async def play(server: ClusterServer, clock: LoopClock) -> None:
        transport = HttpTransport(KubeconfigAccess(kubeconfig(tmp_path / "config", server.address, user)), clock)
        assert [await status(transport) for _ in range(3)] == [200, 200, 200]
        assert (tmp_path / "count").read_text() == "1"
        server.tokens = frozenset({"2"})
        assert await status(transport) == 200, "refused once, then renewed"
        assert (tmp_path / "count").read_text() == "2"
        access = transport._access
        assert access is not None
        transport._access = Access(access.server, access.tls, access.authorization, expires_at=clock.now() - 1)
        server.tokens = frozenset({"3"})
        assert await status(transport) == 200
        assert (tmp_path / "count").read_text() == "3"
        await transport.close()

    with_server(play, tokens=["1"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import sys\nsys.exit('no\\nlogin')", "exited with 1: no login"),
        ("print('hello')", "did not print an ExecCredential with a status"),
        (credential(), "printed neither a token nor a certificate with its key"),
        (credential(clientCertificateData="x"), "printed neither a token nor a certificate with its key"),
        (credential(token="x").replace("k8s.io/v1", "k8s.io/v1beta1"), "printed .*, but the kubeconfig asks for"),
    ],
)
def test_a_failing_plugin_is_an_error(tmp_path: Path, text: str, problem: str) -> None:
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:9", plugin(tmp_path, text))
    with pytest.raises(UsageError, match=f"exec: .*/plugin {problem}"):
        asyncio.run(KubeconfigAccess(path).load())


def test_a_missing_plugin_is_an_error(tmp_path: Path) -> None:
    user = {"exec": {"command": "no-such-plugin", "apiVersion": "v1", "installHint": "get it\n"}}
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:9", user)
    with pytest.raises(UsageError, match="exec: no-such-plugin: No such file or directory; get it"):
        asyncio.run(KubeconfigAccess(path).load())


def ends(pid: int) -> bool:
    """A killed process may need a moment to end."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(process):
        return bool(select.select([process], [], [], TIMEOUT_S)[0])


def test_a_plugin_ends_with_its_caller(tmp_path: Path) -> None:
    """Its child processes end too."""
    text = (
        "import os, pathlib, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'pids')!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        f"open({str(tmp_path / 'ready')!r}, 'w').close()\nchild.wait()\n"
    )
    os.mkfifo(tmp_path / "ready")
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:9", plugin(tmp_path, text))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(KubeconfigAccess(path).load())
        await loop.run_in_executor(None, (tmp_path / "ready").read_text)  # returns when the other end is open
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(asyncio.wait_for(main(), TIMEOUT_S))
    for pid in (tmp_path / "pids").read_text().split():
        assert ends(int(pid))


# -- mistakes ---------------------------------------------------------------------------------------------------------


def test_errors_are_one_line_without_secrets(tmp_path: Path) -> None:
    good = kubeconfig(tmp_path / "good", "http://127.0.0.1:9", {"token": SECRET})
    content = yaml.safe_load(Path(good).read_text())

    def broken(**changes: Any) -> str:
        path = tmp_path / f"broken-{len(list(tmp_path.iterdir()))}"
        path.write_text(yaml.safe_dump({**content, **changes}))
        return str(path)

    garbage = tmp_path / "garbage"
    garbage.write_text(f"token: {SECRET}\n  - [")
    wrong = {"name": "u", "user": {"token": SECRET, "auth-provider": {"name": "oidc", "config": 7}}}
    for path, context in (
        (str(tmp_path / "none"), ""),
        (good, "nowhere"),
        (str(garbage), ""),
        (broken(users=[]), ""),
        (broken(users=[wrong]), ""),
        (broken(clusters=[{"name": "c"}]), ""),
        (broken(contexts=7), ""),
    ):
        with pytest.raises(UsageError) as reported:
            asyncio.run(KubeconfigAccess(path, context).load())
        text = str(reported.value)
        assert text.startswith(path)
        assert len(text) > len(path) + 10
        assert "\n" not in text
        assert SECRET not in text


def test_no_cluster_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match=re.escape("no cluster is configured: there is no ~/.kube/config")):
        find_access(environment={})
    in_pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert isinstance(find_access(environment=in_pod), InClusterAccess)
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").touch()
    assert isinstance(find_access(environment=in_pod), KubeconfigAccess)


def test_credentials_are_not_shown() -> None:
    access = Access("https://api", authorization=f"Bearer {SECRET}", proxy=f"http://me:{SECRET}@proxy")
    assert SECRET not in repr(access)
    assert SECRET not in repr(FixedAccess(access))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"contexts": 7}, "contexts: must be a list"),
        ({"clusters": [{"name": "c", "cluster": True}]}, "clusters[0].cluster: must be an object"),
        ({"users": [None]}, "users[0]: must be an object with a name and a user"),
        ({"clusters": [{"name": "c", "cluster": {"server": 7}}]}, "clusters[0].cluster.server: must be a string"),
        (
            {"clusters": [{"name": "c", "cluster": {"proxy-url": ["x"]}}]},
            "clusters[0].cluster.proxy-url: must be a string",
        ),
        ({"current-context": ["main"]}, "current-context: must be a string"),
        ({"current-context": {}}, "current-context: must be a string"),
        ({"clusters": [{"name": "c", "cluster": []}]}, "clusters[0].cluster: must be an object"),
    ],
)
def test_an_error_names_a_field_of_the_wrong_type(changes: dict[str, Any], problem: str, tmp_path: Path) -> None:
    path = Path(kubeconfig(tmp_path / "config", "http://127.0.0.1:9", {"token": SECRET}))
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))
    with pytest.raises(UsageError) as reported:
        asyncio.run(KubeconfigAccess(str(path)).load())
    assert str(reported.value) == f"{path}: {problem}"


@pytest.mark.parametrize("printed", [b"[" * 100_000, b'{"status": [], "apiVersion": "v1"}', b'{"status": 7}', b"\xff"])
def test_an_exec_plugin_with_invalid_output(printed: bytes) -> None:
    with pytest.raises(UsageError, match="did not print an ExecCredential with a status"):
        read_credential(printed, "plugin", "v1")
