"""Programs for users: id, whoami."""

from __future__ import annotations

from kubesim.shell.kernel.kernel import Process
from kubesim.shell.programs.registry import ProgramResult, quick


@quick("whoami")
def whoami(process: Process, argv: list[str]) -> ProgramResult:
    uid = process.kernel.user.uid
    return ProgramResult(1, "", f"whoami: unknown uid {uid}\n") if uid else ProgramResult(0, "root\n")


@quick("id")
def identity(process: Process, argv: list[str]) -> ProgramResult:
    """The identity as busybox prints it: own group first, then the others in the kernel's order."""
    user = process.kernel.user
    groups = [user.gid, *sorted(set(user.groups) - {user.gid})]
    options = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
    for option, numbers in (("u", [user.uid]), ("g", [user.gid]), ("G", groups)):
        if option in options:
            return _names(numbers) if "n" in options else ProgramResult(0, f"{' '.join(map(str, numbers))}\n")
    listed = f" groups={','.join(map(_named, groups))}" if len(groups) > 1 or user.uid else ""
    return ProgramResult(0, f"uid={_named(user.uid)} gid={_named(user.gid)}{listed}\n")


def _named(number: int) -> str:
    return str(number) if number else "0(root)"


def _names(numbers: list[int]) -> ProgramResult:
    unknown = "".join(f"id: unknown ID {number}\n" for number in numbers if number)
    return ProgramResult(1 if unknown else 0, f"{' '.join(str(n) if n else 'root' for n in numbers)}\n", unknown)
