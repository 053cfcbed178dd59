"""`RepeatedRuns`: runs played again in another process with another hash seed of Python. Their traces must be the same.

`python -m kubesim.explore.repeated_run` reads runs from standard input and prints the hashes of their traces.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from zlib import crc32

from kubesim.explore.run import Run
from kubesim.values import value_object

HASH_SEED = "4711"
SHARE = 100  # one run in this many is played twice


@value_object
class RepeatedRuns:
    """A task: the hashes of the traces of these runs from another process, or why there are none. One process plays
    them all, because it takes as long to start as twenty runs."""

    runs: tuple[Run, ...]

    def __call__(self) -> tuple[str, ...]:
        environment = {**os.environ, "PYTHONHASHSEED": HASH_SEED}
        words = [sys.executable, "-m", "kubesim.explore.repeated_run"]
        done = subprocess.run(words, input=pickle.dumps(self.runs), capture_output=True, env=environment, check=False)
        hashes = done.stdout.decode().split()
        if done.returncode == 0 and len(hashes) == len(self.runs):
            return tuple(hashes)
        return (f"missing: the process {done.stderr.decode(errors='replace')[-200:]}",) * len(self.runs)


def is_repeated(run: Run, trace_hash: str) -> bool:
    """Whether this run is played twice: the same ones on any number of machines."""
    faults = " and ".join(choice.text for choice in run.choices)
    return bool(trace_hash) and crc32(f"{trace_hash} {faults}".encode()) % SHARE == 0


def main() -> None:
    runs: tuple[Run, ...] = pickle.load(sys.stdin.buffer)
    for run in runs:
        print(run().trace_hash)


if __name__ == "__main__":
    main()
