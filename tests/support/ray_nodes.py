"""A Ray cluster of two nodes on the loopback interface, for tests.

`python -m tests.support.ray_nodes` starts it and prints its address. The line `kill` on standard input kills the second
node; the end of standard input ends all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
NODE: dict[str, Any] = {
    "num_cpus": 1,
    "node_ip_address": "127.0.0.1",
    "object_store_memory": 80_000_000,
    "include_dashboard": False,
}


class RayNodes:
    """The handle of a test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.address = self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("kubesim: "):
                return line.removeprefix("kubesim: ").strip()
        raise AssertionError(f"the Ray cluster has ended with {self._process.wait()}")

    def kill_second(self) -> None:
        """Kill the second node with all its processes; returns when they are gone."""
        assert self._process.stdin is not None
        self._process.stdin.write("kill\n")
        self._process.stdin.flush()
        assert self._read() == "killed"


@contextmanager
def ray_nodes() -> Iterator[RayNodes]:
    words = [sys.executable, "-m", "tests.support.ray_nodes"]
    environment = {**os.environ, **ON_LOOPBACK}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            yield RayNodes(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def main() -> None:
    from kubesim.linux.private_node.private import die_with_parent

    die_with_parent(os.getppid())
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args=NODE)
    try:
        second = cluster.add_node(**NODE)
        print(f"kubesim: {cluster.address}", flush=True)
        for _ in sys.stdin:
            cluster.remove_node(second, allow_graceful=False)
            print("kubesim: killed", flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main()
