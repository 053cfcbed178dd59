"""`RepeatedRun`: a run played again in another process with another hash seed of Python. Its trace must be the same.

`python -m kubesim.explore.repeated_run` reads the run from standard input and prints the hash of its trace.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from kubesim.explore.run import Run
from kubesim.values import value_object

HASH_SEED = "4711"


@value_object
class RepeatedRun:
    """A task: the hash of the trace of a run, from another process; empty if that failed."""

    run: Run

    def __call__(self) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": HASH_SEED}
        words = [sys.executable, "-m", "kubesim.explore.repeated_run"]
        given = pickle.dumps(self.run)
        done = subprocess.run(words, input=given, capture_output=True, env=environment, check=False)
        return done.stdout.decode().strip() if done.returncode == 0 else f"failed: {done.stderr.decode()[-200:]}"


def main() -> None:
    run: Run = pickle.load(sys.stdin.buffer)
    print(run().trace_hash)


if __name__ == "__main__":
    main()
