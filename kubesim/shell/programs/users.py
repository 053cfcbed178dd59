"""Programs for users: id, whoami. They read names from /etc/passwd and /etc/group if those files exist."""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.programs.registry import ProgramResult, quick

_PASSWD, _GROUP = "/etc/passwd", "/etc/group"


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
