"""Redirections: opens their targets, replaces a process's streams, and restores them."""

from __future__ import annotations

from kubesim.shell.kernel.devices import open_for_reading, open_for_writing
from kubesim.shell.kernel.files import NOT_FOUND, FileFault
from kubesim.shell.kernel.kernel import Process
from kubesim.shell.kernel.streams import Stream, TextSource

Saved = list[tuple[int, Stream | None]]  # descriptors and their previous streams, in order


class CannotRedirect(Exception):
    """The target cannot be opened; the message is ash's."""


def redirect(process: Process, descriptor: int, operator: str, target: str, saved: Saved) -> None:
    """Apply one redirection, remembering the replaced stream."""
    try:
        stream = _open(process, operator, target)
    except FileFault as fault:
        reading = operator in ("<", "<>")
        reason = ("no such file" if reading else "nonexistent directory") if str(fault) == NOT_FOUND else str(fault)
        raise CannotRedirect(f"can't {'open' if reading else 'create'} {target}: {reason}") from None
    both = operator.startswith("&>") or (operator == ">&" and not target.isdigit() and target != "-")
    assert process.streams is not None
    for each in (1, 2) if both else (descriptor,):
        saved.append((each, process.streams.get(each)))
        process.streams[each] = stream.hold()


def _open(process: Process, operator: str, target: str) -> Stream:
    if operator == "<<":
        return TextSource(target)
    if operator in ("<&", ">&"):
        if target == "-":
            return process.kernel.null
        if target.isdigit():
            return process.stream(int(target))
    if operator in ("<", "<&"):
        return open_for_reading(process, target)
    return open_for_writing(process, target, append=operator in (">>", "&>>", "<>"))


def set_stream(process: Process, descriptor: int, stream: Stream) -> None:
    """Redirect a descriptor permanently."""
    assert process.streams is not None
    before = process.streams.get(descriptor)
    process.streams[descriptor] = stream.hold()
    if before is not None:
        before.release()


def restore(process: Process, saved: Saved) -> None:
    """Restore the replaced streams; a process that has ended has none."""
    for descriptor, before in reversed(saved):
        streams = process.streams
        if streams is None:
            if before is not None:
                before.release()
            continue
        streams.pop(descriptor).release()
        if before is not None:
            streams[descriptor] = before


def keep(saved: Saved) -> None:
    """Make redirections permanent, for `exec`."""
    for _, before in saved:
        if before is not None:
            before.release()
    saved.clear()
