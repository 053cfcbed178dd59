"""Credential plugins: a program named in a kubeconfig prints a token or a certificate, and its expiry.

Mirrors: client-go/plugin/pkg/client/auth/exec exec.go; tools/clientcmd (a relative command is relative to the file)
"""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from kubesim.api.timestamps import parse_time
from kubesim.errors import UsageError
from kubesim.values import value_object

MAX_WORDS = 300  # of the plugin's stderr


_TEXTS = ("token", "clientCertificateData", "clientKeyData")


@value_object
class Credential:
    """A credential; `fields` are user fields of a kubeconfig."""

    fields: Mapping[str, str] = field(repr=False)
    expires_at: int | None = None


async def run_plugin(config: Mapping[str, Any], base: Path) -> Credential:
    """Run the plugin of a kubeconfig in directory `base`. It is killed when the caller is cancelled."""
    command, version = str(config.get("command") or ""), str(config.get("apiVersion") or "")
    if not command or not version:
        raise UsageError("exec: the plugin needs a command and an apiVersion")
    if "/" in command:
        command = str(base / command)
    information = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, "KUBERNETES_EXEC_INFO": json.dumps(information)}
    environment |= {str(item["name"]): str(item["value"]) for item in config.get("env") or ()}
    try:
        process = await anyio.open_process(
            [command, *map(str, config.get("args") or ())],
            env=environment,
            stdin=DEVNULL,
            start_new_session=True,  # so that its child processes are killed too
        )
    except OSError as error:
        hint = str(config.get("installHint") or "").strip()
        raise UsageError(f"exec: {command}: {error.strerror}" + (f"; {hint}" if hint else "")) from error
    output, words = await _outputs(process)
    if process.returncode:
        said = " ".join(words.decode(errors="replace").split())[:MAX_WORDS]
        raise UsageError(f"exec: {command} exited with {process.returncode}" + (f": {said}" if said else ""))
    return read_credential(output, command, version)


async def _outputs(process: Process) -> tuple[bytes, bytes]:
    """The complete output of a process."""
    output, words = bytearray(), bytearray()
    async with process:
        try:
            async with anyio.create_task_group() as readers:
                readers.start_soon(_collect, process.stdout, output)
                readers.start_soon(_collect, process.stderr, words)
                await process.wait()
        except anyio.get_cancelled_exc_class():
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return bytes(output), bytes(words)


async def _collect(stream: ByteReceiveStream | None, into: bytearray) -> None:
    assert stream is not None
    async for chunk in stream:
        into += chunk


def read_credential(output: bytes, command: str, version: str) -> Credential:
    """Parse the plugin's output."""
    try:
        answer = json.loads(output)
        status, found = answer["status"], answer["apiVersion"]
        texts = [status.get(name) or "" for name in _TEXTS]
        expires = parse_time(status["expirationTimestamp"]) if status.get("expirationTimestamp") else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"exec: {command} did not print an ExecCredential with a status") from None
    if not all(isinstance(text, str) for text in texts):
        raise UsageError(f"exec: {command} printed an ExecCredential in which {', '.join(_TEXTS)} are not all strings")
    if found != version:
        raise UsageError(f"exec: {command} printed {found}, but the kubeconfig asks for {version}")
    fields = {}
    if status.get("token"):
        fields["token"] = status["token"]
    if status.get("clientCertificateData") and status.get("clientKeyData"):
        for name, key in (("client-certificate-data", "clientCertificateData"), ("client-key-data", "clientKeyData")):
            fields[name] = base64.b64encode(status[key].encode()).decode()
    if not fields:
        raise UsageError(f"exec: {command} printed neither a token nor a certificate with its key")
    return Credential(fields, expires)
