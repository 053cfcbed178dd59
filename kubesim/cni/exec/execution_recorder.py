"""Records every execution of a plugin, including plugins that others start (IPAM). A directory of stand-ins replaces
the real directories in CNI_PATH; each stand-in runs the real binary and records its input and output.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence

from kubesim.values import value_object

_MARK = "KUBESIM_STARTED_BY_A_PLUGIN"
_STAND_IN = """#!/bin/sh
# Stands in for {real}.
n=0
while ! mkdir {log}/$n 2>/dev/null; do n=$((n + 1)); [ $n -lt 1000000 ] || exit 70; done
d={log}/$n
echo {name} > $d/plugin
cat /proc/$$/environ > $d/environ
cat > $d/stdin
{mark}=1 {real} < $d/stdin > $d/stdout 2> $d/stderr
code=$?
echo $code > $d/exit
cat $d/stdout
cat $d/stderr >&2
exit $code
"""


@value_object
class Recorded:
    """One execution. `delegated`: another plugin started it."""

    plugin: str
    delegated: bool
    environ: Mapping[str, str]
    stdin: bytes
    stdout: bytes
    stderr: bytes
    exit: int
    seconds: float


class ExecutionRecorder:
    """Creates the stand-ins. `directory` must be dedicated; `path` has the stand-ins."""

    def __init__(self, bin_dirs: Sequence[str], directory: str) -> None:
        self.path = os.path.join(directory, "bin")
        self._log = os.path.join(directory, "log")
        self._taken = 0
        os.makedirs(self.path)
        os.makedirs(self._log)
        for bin_dir in reversed(bin_dirs):  # the first directory wins
            for name in sorted(os.listdir(bin_dir)):
                self._stand_in(name, os.path.join(bin_dir, name))

    def _stand_in(self, name: str, real: str) -> None:
        if not os.path.isfile(real):
            return
        text = _STAND_IN.format(real=shlex.quote(real), name=shlex.quote(name), log=shlex.quote(self._log), mark=_MARK)
        path = os.path.join(self.path, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755 if os.access(real, os.X_OK) else 0o644)

    def take(self) -> list[Recorded]:
        """The executions since the last call, in start order."""
        found = []
        while os.path.exists(os.path.join(self._log, str(self._taken), "exit")):
            found.append(_read(os.path.join(self._log, str(self._taken))))
            self._taken += 1
        return found

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.rmtree(self._log, ignore_errors=True)


def _read(folder: str) -> Recorded:
    content = {}
    for name in ("plugin", "environ", "stdin", "stdout", "stderr", "exit"):
        with open(os.path.join(folder, name), "rb") as file:
            content[name] = file.read()
    pairs = (entry.partition("=") for entry in os.fsdecode(content["environ"]).split("\0") if entry)
    environ = {key: value for key, _, value in pairs}
    began, ended = (os.stat(os.path.join(folder, name)).st_mtime for name in ("stdin", "exit"))
    return Recorded(
        content["plugin"].decode().removesuffix("\n"),
        environ.pop(_MARK, "") != "",
        environ,
        content["stdin"],
        content["stdout"],
        content["stderr"],
        int(content["exit"]),
        max(0.0, ended - began),
    )
