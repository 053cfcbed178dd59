"""An HTTP proxy before a real API server that answers some requests itself: with an error, or by hanging up."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CUT = 0  # a status: hang up without an answer
_PIECE = 1 << 16

# Returns status, headers and message for a request that the proxy answers; None: it forwards the request.
Fault = Callable[[str, str], tuple[int, Mapping[str, str], str] | None]


class FaultyProxy:
    """`fault` may be changed at any time. `faults` has the requests that it answered."""

    def __init__(self, server: str, token: str) -> None:
        self.fault: Fault = lambda method, target: None
        self.faults: list[tuple[str, str]] = []
        self._server = server.removeprefix("https://")
        self._token = token
        self._streams: set[http.client.HTTPSConnection] = set()
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._listener.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._listener.server_address[1]}"

    def kubeconfig(self, path: Path) -> Path:
        value = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": self.address}}],
            "users": [{"name": "u", "user": {"token": "of-the-proxy"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path.write_text(json.dumps(value))
        return path

    def end_watches(self) -> None:
        """Close every watch, as a server does that restarts."""
        for stream in list(self._streams):
            if stream.sock is not None:
                stream.sock.shutdown(2)

    @contextmanager
    def serving(self) -> Iterator[FaultyProxy]:
        thread = threading.Thread(target=self._listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._listener.shutdown()
            self.end_watches()
            self._listener.server_close()
            thread.join()

    def _connection(self) -> http.client.HTTPSConnection:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        host, _, port = self._server.partition(":")
        return http.client.HTTPSConnection(host, int(port), context=context)

    def _handler(proxy) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                found = proxy.fault(self.command, self.path)
                if found is not None:
                    proxy.faults.append((self.command, self.path))
                    self._answer(*found)
                    return
                try:
                    self._forward(body)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            def _answer(self, status: int, headers: Mapping[str, str], message: str) -> None:
                self.close_connection = True
                if status == CUT:
                    return
                reason = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 401: "Unauthorized"}.get(status, "")
                text = json.dumps({"kind": "Status", "code": status, "reason": reason, "message": message}).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Type": "application/json", "Connection": "close"}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def _forward(self, body: bytes) -> None:
                connection = proxy._connection()
                sent = {name: value for name, value in self.headers.items() if name in ("Accept", "Content-Type")}
                connection.request(self.command, self.path, body, {**sent, "Authorization": f"Bearer {proxy._token}"})
                proxy._streams.add(connection)
                self.close_connection = True
                try:
                    answer = connection.getresponse()
                    self.send_response(answer.status)
                    self.send_header("Content-Type", answer.headers["Content-Type"])
                    self.send_header("Connection", "close")
                    self.end_headers()
                    while piece := answer.read1(_PIECE):
                        self.wfile.write(piece)
                finally:
                    proxy._streams.discard(connection)
                    connection.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

        return Handler
