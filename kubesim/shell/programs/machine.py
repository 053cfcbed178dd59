"""Programs that ask the kernel for more than files: id, whoami, ping, brctl, netstat, ipcs, and the set-user-ID program
of an image for tests. They read names from /etc/passwd and /etc/group if those files exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.users import NOT_PERMITTED
from kubesim.shell.programs.options import number, parse_options
from kubesim.shell.programs.registry import ProgramResult, program, quick
from kubesim.shell.programs.system import duration

_SECOND = 1_000_000
_PAYLOAD = 56  # bytes
_LISTEN = "0A"  # the state of a listening socket in /proc/net/tcp
_TCP = ("/proc/net/tcp", "/proc/net/tcp6")
_PASSWD, _GROUP = "/etc/passwd", "/etc/group"
_SHARED_MEMORY = "/proc/sysvipc/shm"


@program("ping", "ping6")
async def ping(process: Process, argv: list[str]) -> int:
    """Every packet that is answered takes no time."""
    kernel, options = process.kernel, parse_options(argv, "cisWwIt")
    host = options.operands[0] if options.operands else ""
    address = kernel.resolve(host) if host else None
    if address is None:
        return await process.complain(f"ping: bad address '{host}'")
    await process.write(f"PING {host} ({address}): {_PAYLOAD} data bytes\n")
    if not kernel.permissions.allow("NET_RAW", "socket"):
        return await process.complain("ping: permission denied (are you root?)")
    count, interval = number(options.get("c")), duration(options.get("i")) or _SECOND
    limit = duration(options.get("w")) if "w" in options else None
    end = None if not limit or limit < 0 else kernel.clock.now() + limit
    sent = received = 0
    while (count is None or sent < count) and (end is None or kernel.clock.now() < end):
        if sent:
            await process.sleep(interval)
        if kernel.network.reach(address) is not None:
            received += 1
            if "q" not in options:
                await process.write(f"{_PAYLOAD + 8} bytes from {address}: seq={sent} ttl=64 time=0.050 ms\n")
        sent += 1
    lost = 100 * (sent - received) // max(sent, 1)
    await process.write(
        f"\n--- {host} ping statistics ---\n"
        f"{sent} packets transmitted, {received} packets received, {lost}% packet loss\n"
    )
    return 0 if received else 1


@quick("brctl")
def brctl(process: Process, argv: list[str]) -> ProgramResult:
    """Bridges are not modelled: only the permission to create one."""
    if argv[1:2] in (["addbr"], ["delbr"]) and not process.kernel.permissions.allow("NET_ADMIN"):
        return ProgramResult(1, "", f"brctl: bridge {''.join(argv[2:3])}: {NOT_PERMITTED}\n")
    return ProgramResult(0, "bridge name\tbridge id\t\tSTP enabled\tinterfaces\n" if argv[1:2] == ["show"] else "")


@quick("netstat")
def netstat(process: Process, argv: list[str]) -> ProgramResult:
    """The listening TCP ports: those of the pod, and those of the host if its table is visible."""
    rows = [f"0.0.0.0:{port}" for port in process.kernel.network.ports.numbers()]
    for path in _TCP:
        file = process.kernel.files.file(path)
        rows += () if file is None else _listening(file.text)
    lines = [f"tcp   {0:>7} {0:>6} {row:<23} {'0.0.0.0:*':<23} LISTEN      \n" for row in dict.fromkeys(rows)]
    title = "Active Internet connections (only servers)\n"
    head = "Proto Recv-Q Send-Q Local Address           Foreign Address         State       \n"
    return ProgramResult(0, title + head + "".join(lines))


def _listening(table: str) -> Iterator[str]:
    for line in table.splitlines()[1:]:
        words = line.split()
        if len(words) > 3 and words[3] == _LISTEN:
            host, _, port = words[1].partition(":")
            yield f"{_address(host)}:{int(port, 16)}"


def _address(text: str) -> str:
    if len(text) > 8:
        return "::" if not text.strip("0") else ":::"
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(text)))


@quick("ipcs")
def ipcs(process: Process, argv: list[str]) -> ProgramResult:
    """The shared memory segments of the IPC namespace."""
    file = process.kernel.files.file(_SHARED_MEMORY)
    rows = [] if file is None else [line.split() for line in file.text.splitlines()[1:]]
    lines = [
        f"0x{int(row[0]) & 0xFFFFFFFF:08x} {row[1]:<10} {row[7]:<10} {row[2]:<10} {row[3]:<10} {row[6]:<10}\n"
        for row in rows
        if len(row) > 7
    ]
    head = (
        "\n------ Shared Memory Segments --------\nkey        shmid      owner      perms      bytes      nattch     \n"
    )
    return ProgramResult(0, f"{head}{''.join(lines)}\n")


@quick("/nnp")
def no_new_privileges(process: Process, argv: list[str]) -> ProgramResult:
    """The program of the image `nonewprivs`: root owns it, and it has the set-user-ID bit."""
    kernel = process.kernel
    return ProgramResult(0, f"Effective uid: {kernel.user.uid if kernel.permissions.no_new_privileges else 0}\n")


# Users.


@quick("whoami")
def whoami(process: Process, argv: list[str]) -> ProgramResult:
    uid = process.kernel.user.uid
    name = _known_names(process, _PASSWD).get(uid)
    return ProgramResult(1, "", f"whoami: unknown uid {uid}\n") if name is None else ProgramResult(0, f"{name}\n")


@quick("id")
def identity(process: Process, argv: list[str]) -> ProgramResult:
    """The identity as busybox prints it: own group first, then the others in the kernel's order."""
    user = process.kernel.user
    groups = [user.gid, *sorted(set(user.groups) - {user.gid})]
    options = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
    users, names = _known_names(process, _PASSWD), _known_names(process, _GROUP)
    chosen = (("u", [user.uid], users), ("g", [user.gid], names), ("G", groups, names))
    for option, numbers, known in chosen:
        if option in options:
            return _names(numbers, known) if "n" in options else ProgramResult(0, f"{' '.join(map(str, numbers))}\n")
    listed = f" groups={','.join(_named(each, names) for each in groups)}" if len(groups) > 1 or user.uid else ""
    return ProgramResult(0, f"uid={_named(user.uid, users)} gid={_named(user.gid, names)}{listed}\n")


def _known_names(process: Process, path: str) -> dict[int, str]:
    """By number; root has a name everywhere."""
    file = process.kernel.files.file(path)
    names = {0: "root"}
    for line in () if file is None else file.text.splitlines():
        name, _, rest = line.partition(":")
        number = rest.partition(":")[2].partition(":")[0]
        if number.isdecimal():
            names.setdefault(int(number), name)
    return names


def _named(number: int, known: Mapping[int, str]) -> str:
    return f"{number}({known[number]})" if number in known else str(number)


def _names(numbers: list[int], known: Mapping[int, str]) -> ProgramResult:
    unknown = "".join(f"id: unknown ID {number}\n" for number in numbers if number not in known)
    shown = " ".join(known.get(number, str(number)) for number in numbers)
    return ProgramResult(1 if unknown else 0, f"{shown}\n", unknown)
