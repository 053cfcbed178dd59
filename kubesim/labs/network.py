"""A lab about container networking: real CNI plugins on a private host, recorded as a trace.

`network.yaml` replaces the scenario: a network configuration, the lab's own plugins, and sandboxes that are attached
and detached one after the other. `network_host.py` runs the steps in a process of its own. Here they become records,
one second for each step, so that questions, stepping and walks work as for any run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.errors import UsageError
from kubesim.scenario.language.strict import Strict, as_list
from kubesim.trace.records import CniExec, CriCall, CriReturn, Note, Record

VARIABLE = "KUBESIM_CNI_BIN_DIR"
BIN_DIRS = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
LIMIT_S = 120  # for the whole exercise
_SECOND = 1_000_000
_ADD, _DEL = "RunPodSandbox", "StopPodSandbox"
_BACKWARD = {"DEL": ", from the last to the first"}
_WHY = {
    _ADD: "the runtime sets up the network of the sandbox",
    _DEL: "the runtime tears down the network of the sandbox",
}


class NetworkStep(Strict):
    """One step."""

    add: str = ""  # the sandbox of this pod is attached
    delete: str = ""  # the sandbox of this pod is detached
    replace: dict[str, str] = Field(default_factory=dict)  # new programs for plugins of the lab
    say: str = ""  # for a replacement: its text in the trace

    @model_validator(mode="after")
    def _one_action(self) -> NetworkStep:
        if sum(map(bool, (self.add, self.delete, self.replace))) != 1:
            raise PydanticCustomError("step", "a step does one of add, delete, replace")
        return self


class NetworkExercise(Strict):
    """The whole of `network.yaml`."""

    configuration: dict[str, Any]  # a CNI network configuration list
    needs: Annotated[tuple[str, ...], BeforeValidator(as_list)]  # names of real plugins
    plugins: dict[str, str] = Field(default_factory=dict)  # the lab's own plugins: Python programs
    steps: Annotated[tuple[NetworkStep, ...], BeforeValidator(as_list)] = Field(min_length=1)


def play_network(exercise: NetworkExercise) -> tuple[Record, ...]:
    """Run the exercise. Raises UsageError if the plugins are missing or the machine does not allow a private host."""
    order = {"exercise": exercise.model_dump(by_alias=True), "binDirs": [str(_bin_dir(exercise.needs))]}
    command = [sys.executable, "-m", "kubesim.labs.network_host"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(f"the plugins took longer than {LIMIT_S} s") from None
    if done.returncode:
        problem = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise UsageError(
            f"cannot create a private host for the plugins: {problem[0]}; this lab needs root or user namespaces "
            "(sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)"
        )
    return tuple(to_records(json.loads(done.stdout)))


def _bin_dir(needs: tuple[str, ...]) -> Path:
    given = [entry for entry in os.environ.get(VARIABLE, "").split(":") if entry]
    for directory in given or BIN_DIRS:
        if all((Path(directory) / name).is_file() for name in needs):
            return Path(directory)
    raise UsageError(
        f"this lab runs the CNI plugins {' and '.join(needs)}, which are not in {', '.join(given or BIN_DIRS)}; "
        f"install them (Debian: containernetworking-plugins) or name their directory in {VARIABLE}"
    )


def to_records(seen: list[dict[str, Any]]) -> Iterator[Record]:
    """The records of each step: the call, its plugins, its result, and the reserved addresses after it."""
    records: list[Record] = []

    def put(record: Record, second: int, cause: int | None = None) -> int:
        record.seq, record.t, record.cause = len(records) + 1, second * _SECOND, cause
        records.append(record)
        return record.seq

    for second, step in enumerate(seen):
        if step["do"] == "replace":
            put(Note(text=step["say"]), second)
            continue
        pod, call = f"default/{step['pod']}", _ADD if step["do"] == "add" else _DEL
        args = {"attempt": 0} if call == _ADD else {"id": step["id"]}
        begun = put(CriCall(pod=pod, call=call, args=args, why=_WHY[call]), second)
        for execution in step["executions"]:
            put(_execution(execution, pod), second, begun)
        made = step["id"] if call == _ADD and not step["error"] else None
        put(CriReturn(pod=pod, call=call, result=made, error=step["error"]), second, begun)
        taken = ", ".join(step["reserved"]) or "none"
        put(Note(text=f"{len(step['reserved'])} addresses are reserved: {taken}"), second, begun)
    yield from records


def _execution(execution: dict[str, Any], pod: str) -> CniExec:
    by = f"another plugin runs {execution['plugin']}" if execution["delegated"] else ""
    return CniExec(
        pod=pod,
        plugin=execution["plugin"],
        command=execution["command"],
        result=execution["answer"],
        error=execution["error"],
        why=by or "the plugins of the list run one after the other" + _BACKWARD.get(execution["command"], ""),
    )
