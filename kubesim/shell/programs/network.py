"""Listeners and clients: httpd, nc, python -m http.server, wget, curl, nslookup."""

from __future__ import annotations

import posixpath
import re

from kubesim.shell.kernel.devices import absolute, open_for_writing
from kubesim.shell.kernel.files import FileFault
from kubesim.shell.kernel.kernel import Process, suspend
from kubesim.shell.kernel.ports import (
    AddressInUse,
    Answer,
    Failure,
    HttpAnswer,
    HttpRequest,
    Listener,
    Remote,
    is_loopback,
    parse_http,
)
from kubesim.shell.programs.options import ParsedOptions, parse_options
from kubesim.shell.programs.registry import ProgramResult, execute, program, quick
from kubesim.shell.programs.system import duration
from kubesim.shell.servers import begin_server, serve_directory
from kubesim.values import value_object

_CONNECT_TIMEOUT = 127 * 1_000_000  # Linux gives up an unanswered connection after six retries


# Listeners.


def _port_of(text: str, default: int) -> tuple[str, int]:
    """The port in `8080` or `127.0.0.1:8080`."""
    host, _, port = text.rpartition(":")
    return host or "0.0.0.0", int(port) if port.isdigit() else default


def _listen(process: Process, port: int, host: str, answer: Answer | None) -> Listener | None:
    try:
        return process.listen(Listener(port, host, answer))
    except AddressInUse:
        return None


@program("httpd")
async def httpd(process: Process, argv: list[str]) -> int:
    """busybox httpd. Without -f it daemonizes, and only its child remains."""
    options = parse_options(argv, "phcrdmu")
    host, port = _port_of(options.get("p", "80"), 80)
    directory = absolute(process, options.get("h", "."))
    if not process.kernel.files.is_directory(directory):
        return await process.complain(
            f"httpd: can't change directory to '{options.get('h')}': No such file or directory"
        )
    if "f" not in options:
        child = process.fork(argv)
        process.kernel.run(child, _serve(child, "httpd", host, port, directory))
        return 0
    return await _serve(process, "httpd", host, port, directory)


async def _serve(process: Process, name: str, host: str, port: int, directory: str, *, listing: bool = False) -> int:
    if _listen(process, port, host, serve_directory(process, directory, listing=listing)) is None:
        return await process.complain(f"{name}: bind: Address in use")
    return await process.sleep_forever()


@program("python", "python3")
async def python(process: Process, argv: list[str]) -> int:
    """Only `-m http.server`; any other Python program is an unknown server."""
    if argv[1:3] not in (["-m", "http.server"], ["-m", "SimpleHTTPServer"]):
        begin_server(process, argv)
        return await process.sleep_forever()
    options = parse_options(argv[2:], "bdp", ("bind", "directory", "protocol"))
    port = int(options.operands[0]) if options.operands and options.operands[0].isdigit() else 8000
    directory = absolute(process, options.get("directory") or options.get("d") or ".")
    host = options.get("bind") or options.get("b") or "0.0.0.0"
    await process.write(f"Serving HTTP on {host} port {port} (http://{host}:{port}/) ...\n")
    return await _serve(process, "OSError: [Errno 98] Address already in use", host, port, directory, listing=True)


@program("nc", "netcat", "ncat")
async def nc(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "pwseiq")
    if "l" in options:
        return await _nc_listen(process, argv, options)
    if len(options.operands) < 2 or not options.operands[1].isdigit():
        return await process.complain("nc: usage: nc [OPTIONS] HOST PORT")
    host, port = options.operands[0], int(options.operands[1])
    connection = await _connect(process, host, port, duration(options.get("w")) or _CONNECT_TIMEOUT)
    if connection.failure:
        reason = (
            f"bad address '{host}'"
            if connection.failure == "unknown"
            else f"{host} ({connection.address}:{port}): {connection.text}"
        )
        return await process.complain(f"nc: {reason}") if "v" in options or "z" not in options else 1
    if "v" in options:
        await process.complain(f"{host} ({connection.address}:{port}) open")
    if "z" in options or process.stream(0).is_idle:
        await connection.touch(process)
        return 0
    words = (await process.read_all(process.stream(0))).split()
    if len(words) < 2 or words[0] not in ("GET", "HEAD", "POST", "PUT"):
        await connection.touch(process)
        return 0
    answer = await connection.request(process, HttpRequest(words[1], words[0]))
    if answer is not None:
        await process.write(f"HTTP/1.1 {answer.status} {answer.reason}\r\n\r\n{answer.body}")
    return 0


async def _nc_listen(process: Process, argv: list[str], options: ParsedOptions) -> int:
    """Sends its stdin to each client. With -k or -e it continues after that, else it exits."""
    ports = [word for word in (options.get("p"), *reversed(options.operands)) if word.isdigit()]
    port = int(ports[0]) if ports else 0
    host = next((operand for operand in options.operands if not operand.isdigit()), "0.0.0.0")
    command = argv[argv.index("-e") + 1 :] if "-e" in argv else []
    stdin = process.stream(0)
    text = "" if command or stdin.is_idle else await process.read_all(stdin)
    listener = _listen(process, port, host, lambda request: parse_http(text))
    if listener is None:
        return await process.complain("nc: bind: Address in use")
    connected = False

    def on_connect() -> None:
        nonlocal connected
        connected = True
        process.wake()

    listener.on_connect = on_connect
    while True:
        while not connected:
            await suspend()
        connected = False
        if command:
            child = process.fork(command)
            process.kernel.run(child, execute(child, command))
        elif "k" not in options:
            return 0


# Clients.


@value_object
class _Connection:
    """The listener that answered, or the error."""

    address: str = ""
    listener: Listener | None = None
    failure: Failure = ""
    remote: Remote | None = None

    async def touch(self, process: Process) -> None:
        """Connect without a request."""
        if self.remote is not None:
            await process.await_real(self.remote.connect())
        elif self.listener is not None:
            self.listener.connect()

    async def request(self, process: Process, request: HttpRequest) -> HttpAnswer | None:
        if self.remote is not None:
            return await process.await_real(self.remote.request(request))
        return None if self.listener is None else self.listener.request(request)

    @property
    def text(self) -> str:
        return "Connection refused" if self.failure == "refused" else "Connection timed out"


async def _connect(process: Process, host: str, port: int, timeout: int) -> _Connection:
    network = process.kernel.network
    address = process.kernel.resolve(host)
    if address is None:
        return _Connection(failure="unknown")
    remote = network.remote(address, port)
    if remote is not None:
        began = process.kernel.clock.now()
        failure = await process.await_real(remote.open(timeout))
        if failure == "timeout":
            await process.sleep(max(0, began + timeout - process.kernel.clock.now()))
        return _Connection(address, failure=failure, remote=remote)
    ports = network.reach(address)
    if ports is None:
        await process.sleep(timeout)
        return _Connection(address, failure="timeout")
    listener = ports.at(port, loopback=is_loopback(address))
    return _Connection(address, listener, "" if listener is not None else "refused")


@value_object
class _Url:
    host: str
    port: int
    path: str


def _parse_url(text: str) -> _Url | None:
    match = re.match(
        r"(?:(?P<scheme>https?)://)?(?:[^/@]*@)?(?P<host>\[[^\]]+\]|[^/:?]+)(?::(?P<port>\d+))?(?P<path>[/?].*)?\Z",
        text,
    )
    if match is None:
        return None
    port = int(match["port"] or (443 if match["scheme"] == "https" else 80))
    return _Url(match["host"].strip("[]"), port, match["path"] or "/")


@program("wget")
async def wget(process: Process, argv: list[str]) -> int:
    options = parse_options(
        argv, "OTtUPo", ("header", "post-data", "timeout", "tries", "output-document", "user-agent")
    )
    url = _parse_url(options.operands[0]) if options.operands else None
    if url is None:
        return await process.complain(
            "wget: missing URL" if not options.operands else f"wget: bad URL: {options.operands[0]}"
        )
    timeout = duration(options.get("T") or options.get("timeout")) or _CONNECT_TIMEOUT
    connection = await _connect(process, url.host, url.port, timeout)
    quiet = "q" in options
    if connection.failure == "unknown":
        return await process.complain(f"wget: bad address '{url.host}'")
    if not quiet:
        await process.complain(f"Connecting to {url.host} ({connection.address}:{url.port})")
    if connection.failure == "timeout":
        return await process.complain("wget: download timed out")
    if connection.failure:
        return await process.complain(f"wget: can't connect to remote host ({connection.address}): Connection refused")
    answer = await connection.request(process, HttpRequest(url.path, "POST" if "post-data" in options else "GET"))
    if answer is None:
        return await process.complain("wget: error getting response")
    if answer.status >= 400:
        return await process.complain(f"wget: server returned error: HTTP/1.1 {answer.status} {answer.reason}")
    if "spider" in options:
        return 0 if quiet else (await process.complain("remote file exists") and 0)
    target = (
        options.get("O")
        or options.get("output-document")
        or posixpath.basename(url.path.partition("?")[0])
        or "index.html"
    )
    return await _save(process, "wget", target, answer.body)


async def _save(process: Process, name: str, target: str, body: str) -> int:
    if target == "-":
        await process.write(body)
        return 0
    try:
        open_for_writing(process, target, append=False).poll_write(body)
    except FileFault as fault:
        return await process.complain(f"{name}: can't open '{target}': {fault}")
    return 0


_CURL_LONG = (
    "output",
    "write-out",
    "max-time",
    "connect-timeout",
    "header",
    "data",
    "request",
    "user",
    "retry",
    "retry-delay",
    "url",
    "user-agent",
)


@program("curl")
async def curl(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "omwHdXuAebT", _CURL_LONG)
    text = options.get("url") or (options.operands[0] if options.operands else "")
    url = _parse_url(text)
    if url is None:
        return await process.complain("curl: (2) no URL specified") + 1
    limit = options.get("m") or options.get("max-time") or options.get("connect-timeout")
    timeout = duration(limit) or _CONNECT_TIMEOUT
    connection = await _connect(process, url.host, url.port, timeout)
    answer = None
    if connection.failure == "unknown":
        code, problem = 6, f"Could not resolve host: {url.host}"
    elif connection.failure == "timeout":
        code, problem = 28, f"Connection timed out after {timeout // 1000} milliseconds"
    elif connection.failure:
        code, problem = 7, f"Failed to connect to {url.host} port {url.port} after 0 ms: Couldn't connect to server"
    else:
        method = (
            options.get("X") or options.get("request") or ("POST" if {"d", "data"} & options.values.keys() else "GET")
        )
        answer = await connection.request(process, HttpRequest(url.path, "HEAD" if "I" in options else method))
        code, problem = (0, "") if answer is not None else (52, "Empty reply from server")
    if answer is not None and answer.status >= 400 and ("f" in options or "fail" in options):
        code, problem = 22, f"The requested URL returned error: {answer.status}"
    return await _curl_output(process, options, answer, code, problem)


async def _curl_output(
    process: Process, options: ParsedOptions, answer: HttpAnswer | None, code: int, problem: str
) -> int:
    silent = ("s" in options or "silent" in options) and not ("S" in options or "show-error" in options)
    if answer is not None and code == 0:
        head = (
            f"HTTP/1.1 {answer.status} {answer.reason}\r\n\r\n"
            if {"i", "I", "include", "head"} & options.values.keys()
            else ""
        )
        body = "" if {"I", "head"} & options.values.keys() else answer.body
        code = await _save(process, "curl", options.get("o") or options.get("output") or "-", head + body)
    form = options.get("w") or options.get("write-out")
    if form:
        status = f"{answer.status if answer else 0:03d}"
        await process.write(
            form.replace("%{http_code}", status).replace("%{response_code}", status).replace("\\n", "\n")
        )
    if problem and not silent:
        await process.complain(f"curl: ({code}) {problem}")
    return code


@quick("nslookup", "host", "getent")
def nslookup(process: Process, argv: list[str]) -> ProgramResult:
    names = [word for word in argv[1:] if not word.startswith("-") and word not in ("hosts", "ahosts")]
    if not names:
        return ProgramResult(1, "", f"{argv[0]}: usage: {argv[0]} HOST\n")
    kernel = process.kernel
    address = kernel.resolve(names[0]) if argv[0] == "getent" else kernel.network.resolve(names[0])
    if argv[0] == "getent":
        return ProgramResult(2) if address is None else ProgramResult(0, f"{address}      {names[0]}\n")
    if address is None:
        return ProgramResult(1, "", f"** server can't find {names[0]}: NXDOMAIN\n")
    return ProgramResult(0, f"Name:\t{names[0]}\nAddress: {address}\n")
