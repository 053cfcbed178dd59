"""Server programs: well-known ones with their ports, and all unknown programs.

A server is a process without code: it has signal dispositions and ports. Unknown programs are assumed to exit with 0 on
their stop signal, as a well-behaved server does; interpreters have no handler.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial

from kubesim.shell.agnhost import agnhost
from kubesim.shell.kernel.files import FileFault, VirtualFiles
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.ports import AddressInUse, Answer, HttpAnswer, HttpRequest, Listener
from kubesim.shell.kernel.signals import INT, NO_HANDLERS, QUIT, TERM, Dispositions
from kubesim.values import value_object

GRACEFUL: Dispositions = {TERM: 0, INT: 0, QUIT: 0}
_JAVA: Dispositions = {TERM: 143, INT: 130}
_GO: Dispositions = {
    TERM: 2,
    INT: 2,
    QUIT: 2,
}  # without a handler, a Go program exits with 2 if the signal cannot kill it

AnswerOf = Callable[[Process], Answer]
_NGINX_SITES = "/etc/nginx/conf.d/*.conf"
_LISTEN = re.compile(r"^\s*listen\s+(?:\S+:)?(\d{1,5})\b", re.MULTILINE)


def directory_answer(files: VirtualFiles, directory: str, listing: bool, request: HttpRequest) -> HttpAnswer:
    """The response of a file server: the file, a directory index, or 404."""
    path = f"{directory.rstrip('/')}/{request.path.partition('?')[0].lstrip('/')}".rstrip("/") or "/"
    if files.is_directory(path):
        index = files.file(f"{path}/index.html")
        if index is None:
            return HttpAnswer(200, "\n".join(files.names(path))) if listing else HttpAnswer(404, "404 Not Found")
        return HttpAnswer(200, index.text)
    file = files.file(path)
    return HttpAnswer(404, "404 Not Found") if file is None else HttpAnswer(200, file.text)


def serve_directory(process: Process, directory: str, *, listing: bool = False) -> Answer:
    return partial(directory_answer, process.kernel.files, directory, listing)


def _always(body: str) -> AnswerOf:
    return lambda process: lambda request: HttpAnswer(200, body)


def _nginx(process: Process) -> Answer:
    def answer(request: HttpRequest) -> HttpAnswer:
        found = directory_answer(process.kernel.files, "/usr/share/nginx/html", False, request)
        if found.status == 404 and request.path in ("/", "/index.html"):
            return HttpAnswer(200, "<h1>Welcome to nginx!</h1>\n")
        return found

    return answer


def _nginx_ports(files: VirtualFiles) -> tuple[int, ...]:
    """Those of the `listen` directives in its configuration; 80 if it has none."""
    if not files.has_own("/etc/nginx"):
        return (80,)
    found = [file.text for path in files.glob(_NGINX_SITES) if (file := files.file(path)) is not None]
    return tuple(dict.fromkeys(int(port) for text in found for port in _LISTEN.findall(text))) or (80,)


def _httpd_started(process: Process) -> str:
    moment = datetime.fromtimestamp(process.kernel.clock.now() // 1_000_000, UTC)
    head = f"[{moment:%a %b %d %H:%M:%S.%f %Y}]"
    thread = f"[pid {process.pid}:tid {process.pid}]"
    return (
        f"{head} [mpm_event:notice] {thread} AH00489: Apache/2.4 (Unix) configured -- resuming normal operations\n"
        f"{head} [core:notice] {thread} AH00094: Command line: 'httpd -D FOREGROUND'\n"
    )


@value_object
class Server:
    """A well-known server program. `started` is its first output, on stderr; `pid_file` the file with its pid."""

    ports: tuple[int, ...]
    answer: AnswerOf | None
    dispositions: Dispositions
    started: Callable[[Process], str] | None = None
    pid_file: str = ""


SERVERS: dict[str, Server] = {
    "nginx": Server((80,), _nginx, GRACEFUL, pid_file="/var/run/nginx.pid"),
    "httpd-foreground": Server(
        (80,), _always("<html><body><h1>It works!</h1></body></html>\n"), GRACEFUL, _httpd_started
    ),
    "apache2-foreground": Server((80,), _always(""), GRACEFUL),
    "redis-server": Server((6379,), None, GRACEFUL),
    "memcached": Server((11211,), None, GRACEFUL),
    "postgres": Server((5432,), None, GRACEFUL),
    "mysqld": Server((3306,), None, GRACEFUL),
    "mongod": Server((27017,), None, GRACEFUL),
    "java": Server((), None, _JAVA),
    "pause": Server((), None, GRACEFUL),
    "/pause": Server((), None, GRACEFUL),
}
_AGNHOST = ("agnhost", "/agnhost")
SERVERS.update(dict.fromkeys(_AGNHOST, Server((), None, _GO)))
# Interpreters run arbitrary code and do not handle TERM themselves, so as PID 1 they ignore it.
_INTERPRETERS = frozenset({"python", "python3", "node", "ruby", "perl"})
# Wrappers that images use to start their server, which is the last word.
_ENTRYPOINTS = (
    "docker-entrypoint.sh",
    "/docker-entrypoint.sh",
    "/entrypoint.sh",
    "/usr/local/bin/docker-entrypoint.sh",
)
# Not simulated, and certainly not servers.
TOOLS = frozenset(
    """
    apk apt apt-get awk bunzip2 bzip2 chgrp dd df dmesg dnf du find free git gunzip gzip ip iptables md5sum mount
    openssl pip pip3 sha256sum stat umount unzip update-ca-certificates uptime yum zip
    """.split()  # noqa: SIM905
)
_PATH = frozenset({"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"})


@lru_cache(maxsize=1024)
def program_name(command: str) -> str:
    """`/bin/sh` is `sh`; a path outside the usual directories is unchanged."""
    directory, name = posixpath.split(command)
    return name if not directory or directory in _PATH else command


def is_known_server(name: str) -> bool:
    return name in SERVERS


def is_tool(name: str) -> bool:
    return name in TOOLS


def send_nginx_signal(process: Process, argv: list[str]) -> int:
    """`nginx -s quit` and similar: signals the running nginx."""
    masters = [
        other
        for other in process.kernel.processes.values()
        if program_name(other.argv[0]) == "nginx" and other is not process
    ]
    if masters and argv[-1] in ("quit", "stop"):
        process.kernel.deliver(masters[0], QUIT if argv[-1] == "quit" else TERM)
        process.check_alive()
    return 0 if masters else 1


def begin_server(process: Process, argv: list[str]) -> str:
    """Turn a process into the server of this command line, without code.

    Returns the error if the server cannot start (and exits with 1), else an empty text.
    """
    if argv[0] in _ENTRYPOINTS and len(argv) > 1:
        argv = argv[1:]
    process.argv = argv
    name = program_name(argv[0])
    server = SERVERS.get(name)
    if server is None:
        process.dispositions = NO_HANDLERS if name in _INTERPRETERS else GRACEFUL
        process.kernel.note(f"{argv[0]} is not simulated: it runs as a server until it is stopped")
        return ""
    ports = _nginx_ports(process.kernel.files) if name == "nginx" else server.ports
    listeners = [Listener(port, answer=server.answer(process) if server.answer else None) for port in ports]
    if name in _AGNHOST:
        listeners = agnhost(process.kernel, argv)
    for listener in listeners:
        try:
            process.listen(listener)
        except AddressInUse:
            return f"{name}: [emerg] bind() to 0.0.0.0:{listener.port} failed (98: Address in use)"
    process.dispositions = server.dispositions
    _report_start(process, server)
    return ""


def _report_start(process: Process, server: Server) -> None:
    kernel = process.kernel
    if server.started is not None:
        kernel.log.write("stderr", server.started(process))
    if server.pid_file:
        with suppress(FileFault):  # of a read-only root
            kernel.files.create(server.pid_file, kernel.clock.now(), truncate=True).append(
                f"{process.pid}\n", kernel.clock.now()
            )
