"""Checks of commands in containers."""

from __future__ import annotations

from kubesim.api.timestamps import SECOND
from kubesim.runtime.protocol import DeadlineExceeded
from kubesim.testing.runtime_contract.sandboxes import FOREVER
from kubesim.testing.runtime_contract.subject import Subject, refusal


async def environment(subject: Subject) -> None:
    identifier = await subject.running("environment", FOREVER, env=(("GREETING", "good morning"),))
    result = await subject.runtime.exec_sync(identifier, ("/bin/sh", "-c", 'echo "$GREETING"'), 0)
    assert (result.exit_code, result.stdout) == (0, "good morning\n")


async def outputs(subject: Subject) -> None:
    identifier = await subject.running("outputs", FOREVER)
    command = ("/bin/sh", "-c", "echo fine; echo oh >&2; exit 7")
    result = await subject.runtime.exec_sync(identifier, command, 10 * SECOND)
    assert (result.exit_code, result.stdout, result.stderr) == (7, "fine\n", "oh\n")


async def deadline(subject: Subject) -> None:
    identifier = await subject.running("deadline", FOREVER)
    call = subject.runtime.exec_sync(identifier, ("/bin/sh", "-c", FOREVER), SECOND)
    assert await refusal(call, "a command continues after its deadline", DeadlineExceeded)


async def not_running(subject: Subject) -> None:
    identifier = await subject.running("not-running", "exit 0")
    await subject.exited(identifier)
    call = subject.runtime.exec_sync(identifier, ("true",), 0)
    problem = await refusal(call, "a command runs in a container that has exited")
    assert "not running" in problem or "CONTAINER_EXITED" in problem
