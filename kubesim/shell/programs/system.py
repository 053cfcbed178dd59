"""Programs for processes, time and the machine: sleep, date, env, kill, ps, timeout, hostname, stress."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.signals import SIGNAL_NAMES, TERM, signal_number
from kubesim.shell.kernel.users import NOT_PERMITTED
from kubesim.shell.programs.options import number, parse_options
from kubesim.shell.programs.registry import PROGRAMS, QUICK, ProgramResult, execute, is_known, program, quick

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)\Z")
_UNITS = {"": 1_000_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_SHORTEST_SLEEP = 1000  # microseconds; a loop around a shorter one would be as costly as a busy loop
_CPUS = 2
_ENDLESS = ("/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")
_SLASHES = str.maketrans("./", "/.")
_LONGEST_SLEEP = 1000 * 365 * 86_400_000_000


def duration(text: str) -> int | None:
    """Microseconds of `5`, `0.5`, `1m`; -1 for infinity; None if invalid."""
    if text in ("infinity", "inf"):
        return -1
    match = _DURATION.match(text)
    if match is None:
        return None
    length = round(float(match[1]) * _UNITS[match[2]])
    return min(max(length, _SHORTEST_SLEEP), _LONGEST_SLEEP) if length else 0


def total_duration(words: list[str]) -> int | None:
    """The sum of `sleep`'s operands; -1 forever; None if one of them is invalid."""
    lengths = [duration(word) for word in words]
    if not lengths or None in lengths:
        return None
    return -1 if -1 in lengths else sum(length or 0 for length in lengths)


@program("sleep", "usleep")
async def sleep(process: Process, argv: list[str]) -> int:
    length = total_duration([word for word in argv[1:] if word != "--"])
    if length is None:
        bad = next((word for word in argv[1:] if duration(word) is None), None)
        return await process.complain("sleep: missing operand" if bad is None else f"sleep: invalid number '{bad}'")
    if length < 0:
        return await process.sleep_forever()
    await process.sleep(length // 1_000_000 if argv[0].endswith("usleep") else length)
    return 0


@quick("true", ":")
def true(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult()


@quick("false")
def false(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult(1)


@quick("date")
def date(process: Process, argv: list[str]) -> ProgramResult:
    options = parse_options(argv, "dsI" if any(word.startswith("-I") and len(word) > 2 for word in argv) else "ds")
    now = process.kernel.clock.now()
    if options.get("d").startswith("@") and options.get("d")[1:].isdigit():
        now = int(options.get("d")[1:]) * 1_000_000
    moment = datetime.fromtimestamp(now // 1_000_000, UTC)
    form = next((operand[1:] for operand in options.operands if operand.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    if "I" in options:
        form = {"": "%Y-%m-%d", "seconds": "%Y-%m-%dT%H:%M:%S+00:00", "s": "%Y-%m-%dT%H:%M:%S+00:00"}.get(
            options.get("I"), "%Y-%m-%d"
        )
    elif "R" in options:
        form = "%a, %d %b %Y %H:%M:%S +0000"
    ready = {"%s": str(now // 1_000_000), "%N": f"{now % 1_000_000 * 1000:09d}", "%Z": "UTC", "%z": "+0000", "%%": "%%"}
    return ProgramResult(0, moment.strftime(re.sub(r"%[sNZz%]", lambda match: ready[match[0]], form)) + "\n")


@program("env", "printenv")
async def env(process: Process, argv: list[str]) -> int:
    environment = dict(process.environment)
    words = argv[1:]
    if argv[0].endswith("printenv") and words:
        values = [environment[word] for word in words if word in environment]
        await process.write("".join(value + "\n" for value in values))
        return 0 if len(values) == len(words) else 1
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if word in ("-i", "-"):
            environment.clear()
        elif word == "-u" and words:
            environment.pop(words.pop(0), None)
        elif "=" in word:
            name, _, value = word.partition("=")
            environment[name] = value
    if words:
        process.environment = environment
        return await execute(process, words)
    await process.write("".join(f"{name}={value}\n" for name, value in environment.items()))
    return 0


@quick("kill")
def kill(process: Process, argv: list[str]) -> ProgramResult:
    words = argv[1:]
    signal: int | None = TERM
    if words and words[0] == "-l":
        return ProgramResult(0, " ".join(SIGNAL_NAMES.values()) + "\n")
    if words and words[0] in ("-s", "-n") and len(words) > 1:
        name, words = words[1], words[2:]
        signal = signal_number(name)
    elif words and words[0].startswith("-") and words[0] != "--" and len(words[0]) > 1:
        name, words = words[0][1:], words[1:]
        signal = signal_number(name)
    if signal is None:
        return ProgramResult(1, "", f"sh: kill: bad signal name '{name}'\n")
    err = ""
    for word in words[1:] if words[:1] == ["--"] else words:
        target = word.lstrip("-")
        if not target.isdigit():
            err += f"sh: kill: invalid number '{word}'\n"
            continue
        victims = list(process.kernel.visible().values())
        if word != "-1":  # process groups are not modelled: a negative number means the process itself
            victims = [victim for victim in victims if victim.pid == (int(target) or process.pid)]
            if not victims:
                err += f"sh: can't kill pid {word}: No such process\n"
        else:
            victims = [victim for victim in victims if victim.pid != 1 and victim is not process]
        for victim in victims:
            victim.kernel.deliver(victim, signal)
        process.check_alive()
    return ProgramResult(1 if err else 0, "", err)


def _named(process: Process, name: str, anywhere: bool) -> list[Process]:
    others = (other for other in process.kernel.visible().values() if other is not process)
    if anywhere:
        return [other for other in others if name in " ".join(other.argv)]
    return [other for other in others if other.argv and other.argv[0].rpartition("/")[2] == name]


@quick("killall", "pkill")
def killall(process: Process, argv: list[str]) -> ProgramResult:
    signal = TERM
    found: list[Process] = []
    for word in argv[1:]:
        if word.startswith("-") and signal_number(word[1:]) is not None:
            signal = signal_number(word[1:]) or 0
        elif not word.startswith("-"):
            found += _named(process, word, anywhere="-f" in argv)
    for victim in found:
        victim.kernel.deliver(victim, signal)
    process.check_alive()
    return (
        ProgramResult(0)
        if found
        else ProgramResult(1, "", "" if argv[0] == "pkill" else f"{argv[0]}: {argv[-1]}: no process killed\n")
    )


@quick("pidof", "pgrep")
def pidof(process: Process, argv: list[str]) -> ProgramResult:
    words = [word for word in argv[1:] if not word.startswith("-")]
    found = [
        str(other.pid)
        for word in words
        for other in _named(process, word, anywhere=argv[0] == "pgrep" and "-f" in argv)
    ]
    separator = " " if argv[0] == "pidof" else "\n"
    return ProgramResult(0, separator.join(found) + "\n") if found else ProgramResult(1)


@quick("ps")
def ps(process: Process, argv: list[str]) -> ProgramResult:
    processes = sorted(process.kernel.visible().items())
    rows = [f"{pid:5d} {other.user:<9} 0:00 {' '.join(other.argv)}\n" for pid, other in processes]
    return ProgramResult(0, "PID   USER     TIME  COMMAND\n" + "".join(rows))


@program("timeout")
async def timeout(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "sk", mixed=False)
    length = duration(options.operands[0]) if options.operands else None
    signal = signal_number(options.get("s", "TERM"))
    command = options.operands[1:]
    if length is None or signal is None or not command:
        return await process.complain("timeout: usage: timeout [-s SIG] [-k KILL_SECS] SECS PROG ARGS")
    kernel = process.kernel
    child = process.fork(command)
    kernel.run(child, execute(child, command))
    timer = kernel.clock.call_at(kernel.clock.now() + length, kernel.deliver, child, signal) if length > 0 else None
    try:
        return (await process.wait_for(child)).code
    finally:
        if timer is not None:
            timer.cancel()


@program("nohup", "nice", "setsid", "time", "su-exec", "gosu")
async def wrapper(process: Process, argv: list[str]) -> int:
    """Programs that run another one; their changes to it are not modelled."""
    words = argv[2:] if argv[0] in ("su-exec", "gosu") else argv[1:]
    return await execute(process, words) if words else 0


@program("xargs")
async def xargs(process: Process, argv: list[str]) -> int:
    options = parse_options(argv, "nIP", mixed=False)
    words = (await process.read_all(process.stream(0))).split()
    command = options.operands or ["echo"]
    size = (
        (number(options.get("n", "")) or 1 if "I" not in options else 1)
        if {"n", "I"} & options.values.keys()
        else len(words)
    )
    code = 0
    for start in range(0, len(words), max(1, size)):
        batch = words[start : start + size]
        mark = options.get("I")
        line = [word.replace(mark, batch[0]) for word in command] if mark else [*command, *batch]
        child = process.fork(line)
        process.kernel.run(child, execute(child, line))
        if (await process.wait_for(child)).code:
            code = 123
    return code


@program("stress", "stress-ng")
async def stress(process: Process, argv: list[str]) -> int:
    """Allocates memory. Exceeding the container's limit ends it."""
    names = ("vm", "vm-bytes", "vm-hang", "cpu", "io", "timeout", "hdd")
    options = parse_options(argv, "mcidt", names)
    wanted = (number(options.get("vm-bytes")) or 256 << 20) * (number(options.get("vm") or options.get("m", "0")) or 0)
    if process.kernel.memory_limit is not None and wanted > process.kernel.memory_limit:
        process.kernel.kill_out_of_memory()
    length = duration(options.get("timeout") or options.get("t"))
    if length is None or length < 0:
        return await process.sleep_forever()
    await process.sleep(length)
    return 0


@program("dd")
async def dd(process: Process, argv: list[str]) -> int:
    """Simulates only the cost of a copy: a block in memory, and an endless copy until it is stopped."""
    operands = dict(word.split("=", 1) for word in argv[1:] if "=" in word)
    block = number(operands.get("bs") or operands.get("ibs") or "512")
    if block is None:
        return await process.complain(f"dd: invalid number '{operands.get('bs', '')}'")
    process.hold(block)
    source, is_counted = operands.get("if", ""), "count" in operands
    if source in _ENDLESS and operands.get("of", "").startswith("/dev/") and not is_counted:
        return await process.sleep_forever()
    process.kernel.note(f"{argv[0]} is not simulated: it exits with 0 at once")
    return 0


@quick("hostname")
def hostname(process: Process, argv: list[str]) -> ProgramResult:
    kernel, name = process.kernel, process.kernel.network.hostname
    if "-i" in argv:
        return ProgramResult(0, (kernel.resolve(name) or "127.0.0.1") + "\n")
    if "-s" in argv:
        return ProgramResult(0, name.partition(".")[0] + "\n")
    if "-f" in argv or "-d" in argv:  # the first name in /etc/hosts is the fully qualified one
        full = (*kernel.hosts_entry(name)[1:2], name)[0]
        return ProgramResult(0, (full if "-f" in argv else full.partition(".")[2]) + "\n")
    if argv[1:] and not argv[1].startswith("-"):
        if not kernel.permissions.allow("SYS_ADMIN", "sethostname"):
            return ProgramResult(1, "", f"hostname: sethostname: {NOT_PERMITTED}\n")
        kernel.network.hostname = argv[1]
        return ProgramResult()
    return ProgramResult(0, name + "\n")


@quick("sysctl")
def sysctl(process: Process, argv: list[str]) -> ProgramResult:
    """Reads the kernel parameters that the pod's sandbox sets; writes are assumed to succeed."""
    out = err = ""
    for name in (word for word in argv[1:] if not word.startswith("-")):
        if "=" in name:
            out += "{} = {}\n".format(*name.split("=", 1))
            continue
        path = "/proc/sys/" + name.translate(_SLASHES)
        file = process.kernel.files.file(path)
        if file is None:
            err += f"sysctl: error: '{name}' is an unknown key\n"
        else:
            out += file.text if "-n" in argv else f"{name} = {file.text}"
    return ProgramResult(1 if err else 0, out, err)


@quick("nproc")
def nproc(process: Process, argv: list[str]) -> ProgramResult:
    cpuset = process.kernel.files.file("/sys/fs/cgroup/cpuset.cpus.effective")
    return ProgramResult(0, f"{_CPUS if cpuset is None else _count_cpus(cpuset.text)}\n")


def _count_cpus(cpuset: str) -> int:
    """The number of CPUs in `0-3,7`."""
    ranges = [part.partition("-") for part in cpuset.strip().split(",")]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ranges)


@quick("uname")
def uname(process: Process, argv: list[str]) -> ProgramResult:
    if "-a" in argv:
        return ProgramResult(0, f"Linux {process.kernel.network.hostname} 6.1.0 #1 SMP x86_64 GNU/Linux\n")
    known = {"-n": process.kernel.network.hostname, "-r": "6.1.0", "-m": "x86_64"}
    return ProgramResult(0, known.get(argv[1] if len(argv) > 1 else "-s", "Linux") + "\n")


@quick("which")
def which(process: Process, argv: list[str]) -> ProgramResult:
    found = [name for name in argv[1:] if is_known(name, process.kernel.files, process.directory)]
    return ProgramResult(
        0 if len(found) == len(argv) - 1 else 1,
        "".join(f"/bin/{name}\n" if "/" not in name else f"{name}\n" for name in found),
    )


@quick("sync", "clear", "reset")
def nothing(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult()


@quick("busybox")
def busybox(process: Process, argv: list[str]) -> ProgramResult:
    return ProgramResult(
        0,
        "BusyBox multi-call binary.\nCurrently defined functions:\n\t" + ", ".join(sorted({*QUICK, *PROGRAMS})) + "\n",
    )
