"""Real listeners of simulated containers: sockets in their pod's namespace, owned by this process.

Clients are simulated probes, other simulated containers, or any process that reaches the pod. A request is passed to
the simulated listener, which responds as in a simulation.
"""

from __future__ import annotations

import asyncio
import errno
import socket

from kubesim.clock import VirtualLoop, go
from kubesim.linux.private_node.holder_client import PrivateNode
from kubesim.shell import HttpAnswer, HttpRequest, Listener, Ports
from kubesim.shell.kernel.ports import AddressInUse

_MOST_BYTES = 65536
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\n"  # the part of the connection preface with the form of a request head
Address = tuple[str, int]


class Silences:
    """Clients of ours that wait for a response which their server will never send, so that they can stop early.

    They are found by the client's address and port; connections through NAT are not found and wait. They proceed in
    `turn`, one after the other, because otherwise the order would depend on the machine.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._clients: dict[Address, asyncio.Future[None]] = {}

    def expect(self, client: Address) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._clients[client] = future
        return future

    def forget(self, client: Address) -> None:
        self._clients.pop(client, None)

    def no_answer(self, client: Address) -> None:
        future = self._clients.pop(client, None)
        if future is not None and not future.done():
            future.set_result(None)


def plain_address(name: tuple[str, int, int, int] | Address) -> Address:
    """The IPv4 address of an IPv4-mapped IPv6 address; others unchanged."""
    return name[0].removeprefix("::ffff:"), name[1]


class RealPorts(Ports):
    """The listeners of one network namespace; an empty `netns` is the node's own."""

    __slots__ = ("_node", "_silences", "_sockets", "_tasks")

    def __init__(self, node: PrivateNode, silences: Silences) -> None:
        super().__init__()
        self._node = node
        self._silences = silences
        self._sockets: dict[Listener, socket.socket] = {}
        self._tasks: dict[Listener, list[asyncio.Task[None]]] = {}

    def listen(self, listener: Listener) -> Listener:
        super().listen(listener)
        try:
            made = self._open(listener)
        except OSError as error:
            super().close(listener)
            raise AddressInUse(listener.port) from error
        self._sockets[listener] = made
        self._tasks[listener] = []
        loop = asyncio.get_running_loop()
        loop.add_reader(made, self._accept, listener, made)
        if isinstance(loop, VirtualLoop):
            loop.listening += 1
        return listener

    def _open(self, listener: Listener) -> socket.socket:
        host = {"0.0.0.0": "::", "": "::", "localhost": "127.0.0.1"}.get(listener.host, listener.host)
        try:
            return self._node.socket(self.netns, ipv6=":" in host, listen=(host, listener.port))
        except OSError as error:
            if host != "::" or error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
        return self._node.socket(self.netns, listen=("0.0.0.0", listener.port))  # a machine without IPv6

    async def dial(self, port: int) -> socket.socket:
        """Connect inside the namespace, by IPv4 and then IPv6, as containerd does. Raises OSError."""
        problem = OSError(errno.ECONNREFUSED, "")
        for ipv6, host in ((False, "127.0.0.1"), (True, "::1")):
            try:
                made = self._node.socket(self.netns, ipv6=ipv6)
            except OSError:
                continue  # a machine without IPv6
            try:
                await asyncio.get_running_loop().sock_connect(made, (host, port))
            except OSError as error:
                made.close()
                problem = problem if ipv6 else error
            else:
                return made
        raise problem

    def close(self, listener: Listener) -> None:
        made = self._sockets.pop(listener, None)
        if made is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(made)
            made.close()
            if isinstance(loop, VirtualLoop):
                loop.listening -= 1
            for task in self._tasks.pop(listener):
                task.cancel()
        super().close(listener)

    def _accept(self, listener: Listener, made: socket.socket) -> None:
        try:
            connection, peer = made.accept()
        except OSError:  # the client has already disconnected
            return
        connection.setblocking(False)
        task = go(self._serve(listener, connection, plain_address(peer)), f"port {listener.port}")
        tasks = self._tasks[listener]
        tasks.append(task)
        task.add_done_callback(tasks.remove)

    async def _serve(self, listener: Listener, connection: socket.socket, client: Address) -> None:
        """Serve one connection: a request, or only a check whether the port is open."""
        loop = asyncio.get_running_loop()
        with connection:
            try:
                said = await _received_head(connection)
                if listener.health is not None and said.startswith(_HTTP2):
                    await _serve_health(listener, connection, said)
                    return
                request = _request(said)
                if request is None:
                    listener.connect()
                    return
                answer = listener.request(request)
                if answer is not None:
                    await loop.sock_sendall(connection, _response(request, answer))
                    return
                self._silences.no_answer(client)
                while await loop.sock_recv(connection, _MOST_BYTES):
                    pass
            except OSError:
                return


async def _serve_health(listener: Listener, connection: socket.socket, said: bytes) -> None:
    """Serve until the client disconnects or violates the protocol."""
    from kubesim.runtime.network.grpc_health.server import HealthServer  # slow import of h2, needed by few runs

    loop = asyncio.get_running_loop()
    server = HealthServer(listener.check)
    while said:
        await loop.sock_sendall(connection, server.receive(said))
        if server.is_closed:
            return
        said = await loop.sock_recv(connection, _MOST_BYTES)


async def _received_head(connection: socket.socket) -> bytes:
    """Data up to the end of a request's head, or of the stream."""
    loop = asyncio.get_running_loop()
    data = b""
    while b"\r\n\r\n" not in data and b"\n\n" not in data and len(data) < _MOST_BYTES:
        more = await loop.sock_recv(connection, _MOST_BYTES)
        if not more:
            break
        data += more
    return data


def _request(data: bytes) -> HttpRequest | None:
    """The decoded request; None if it is not HTTP, or empty."""
    lines = data.decode("latin-1").splitlines()
    words = lines[0].split() if lines else []
    if len(words) < 2 or words[0] not in _METHODS:
        return None
    headers = [line.partition(":")[::2] for line in lines[1:] if ":" in line]
    return HttpRequest(words[1], words[0], tuple((name.strip(), value.strip()) for name, value in headers))


def _response(request: HttpRequest, answer: HttpAnswer) -> bytes:
    body = answer.body.encode()
    headers = (*answer.headers, ("Content-Length", str(len(body))), ("Connection", "close"))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    text = f"HTTP/1.1 {answer.status} {answer.reason}\r\n{head}\r\n".encode("latin-1", "replace")
    return text if request.method == "HEAD" else text + body
