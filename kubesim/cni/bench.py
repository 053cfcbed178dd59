"""Benchmark of the library's overhead on setting up and tearing down pods.

It runs the same plugin executions twice: through this library as containerd does (loopback and a bridge with host-local
addresses, concurrently), and bare: it spawns the binaries with prepared input, reads their output and waits for them,
without parsing. It runs on a private host with namespaces created in advance, and alternates the two kinds.
"""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from kubesim.clock.stopwatch import Stopwatch
from kubesim.cni.conf.network_lists import build_one_config
from kubesim.cni.exec.invoke import Args
from kubesim.cni.exec.plugin_files import find_in_path
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni import CNI, Namespace, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.spec.results import result_of_plugin
from kubesim.errors import KubesimError
from kubesim.golang.json import dumps
from kubesim.linux import namespaces, netns
from kubesim.values import value_object

_CONFLIST = {
    "cniVersion": "1.0.0",
    "name": "bench",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.88.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]},
        }
    ],
}
_STATE_DIR = "/var/lib/cni"


@value_object
class BenchRun:
    """Wall-clock seconds, and CPU seconds of this process alone."""

    wall: float
    cpu: float


@value_object
class Pair:
    bare: BenchRun
    library: BenchRun

    @property
    def ratio(self) -> float:
        return self.library.wall / self.bare.wall


@value_object
class PluginCall:
    """A prepared execution of a plugin."""

    path: str
    environ: dict[str, str]
    stdin: bytes


class Bench:
    """Sets up and tears down pods repeatedly."""

    def __init__(self, bin_dir: str, pods: int, folder: str) -> None:
        with open(os.path.join(folder, "10-bench.conflist"), "w") as file:
            json.dump(_CONFLIST, file)
        self.cni = CNI(NetworkDirectories([bin_dir], folder, min_networks=2, cache_dir=_STATE_DIR), RealExec())
        self.cni.load_now(with_lo_network, with_default_conf)
        self.pods = [self._pod(n) for n in range(pods)]

    def _pod(self, n: int) -> Namespace:
        path = os.path.join(netns.MOUNT_DIR, f"bench-{n}")
        netns.new_netns(path)
        labels = {"IgnoreUnknown": "1", "K8S_POD_NAMESPACE": "default", "K8S_POD_NAME": f"pod-{n}"}
        return Namespace(f"{n:064x}", path, labels)

    def pair(self, parallel: int, bare_first: bool) -> Pair:
        if bare_first:
            bare = self.bare(parallel)
            return Pair(bare, asyncio.run(self.library(parallel)))
        library = asyncio.run(self.library(parallel))
        return Pair(self.bare(parallel), library)

    async def library(self, parallel: int) -> BenchRun:
        watch = Stopwatch()
        await self._for_all(self.cni.setup, parallel)
        await self._for_all(self.cni.remove, parallel)
        return BenchRun(watch.seconds(), watch.cpu_seconds())

    async def _for_all(self, operation: Any, parallel: int) -> None:
        left = iter(self.pods)

        async def work() -> None:
            for pod in left:
                await operation(pod)

        await asyncio.gather(*(work() for _ in range(parallel)))

    def bare(self, parallel: int) -> BenchRun:
        """Time both phases, excluding the preparation of DEL's input."""
        adding = [self._jobs(pod, "ADD", {}) for pod in self.pods]
        watch = Stopwatch()
        outputs = run_bare(adding, parallel)
        wall, cpu = watch.seconds(), watch.cpu_seconds()
        deleting = [self._jobs(pod, "DEL", output) for pod, output in zip(self.pods, outputs, strict=True)]
        watch = Stopwatch()
        run_bare(deleting, parallel)
        return BenchRun(wall + watch.seconds(), cpu + watch.cpu_seconds())

    def _jobs(self, pod: Namespace, command: str, outputs: dict[str, bytes]) -> list[PluginCall]:
        """The executions that the library would start: ADD concurrently, DEL one after the other."""
        jobs = []
        for network in self.cni.networks:
            config, runtime = network.config, pod.runtime_conf(network.ifname)
            plugin = config.plugins[0]
            path = find_in_path(plugin.network.type, self.cni.settings.plugin_dirs)
            prev = None
            if command == "DEL" and config.cni_version != "0.3.1":
                prev = result_of_plugin(config.cni_version, outputs[path]).to_json()
            stdin = build_one_config(config.name, config.cni_version, plugin, prev, None)
            search = ":".join(self.cni.settings.plugin_dirs)
            args = Args(command, runtime.container_id, runtime.netns, runtime.args, runtime.ifname, search)
            jobs.append(PluginCall(path, args.as_env(self.cni.libcni.environ), stdin))
        return jobs


def run_bare(pods: Sequence[Sequence[PluginCall]], parallel: int) -> list[dict[str, bytes]]:
    """Execute the jobs of these pods concurrently; returns the output of each binary."""
    outputs: list[dict[str, bytes]] = [{} for _ in pods]
    waiting = iter(enumerate(pods))
    with selectors.EpollSelector() as selector:
        for n, jobs in _first(waiting, parallel):
            _begin(selector, n, list(jobs))
        while selector.get_map():
            for key, _ in selector.select():
                n, job, pid, pieces, others = key.data
                piece = os.read(key.fd, 65536)
                if piece:
                    pieces.append(piece)
                    continue
                selector.unregister(key.fd)
                os.close(key.fd)
                _, status = os.waitpid(pid, 0)
                outputs[n][job.path] = b"".join(pieces)
                if status:
                    raise KubesimError(f"{job.path} failed: {outputs[n][job.path].decode()}")
                others.remove(job)
                if others and job.environ["CNI_COMMAND"] == "DEL":
                    _spawn(selector, n, others[0], others)
                if not others:
                    for following, jobs in _first(waiting, 1):
                        _begin(selector, following, list(jobs))
    return outputs


def _first(
    waiting: Iterator[tuple[int, Sequence[PluginCall]]], count: int
) -> Iterator[tuple[int, Sequence[PluginCall]]]:
    for _ in range(count):
        entry = next(waiting, None)
        if entry is None:
            return
        yield entry


def _begin(selector: selectors.BaseSelector, n: int, jobs: list[PluginCall]) -> None:
    """ADD of all networks concurrently, DEL one after the other, as in go-cni."""
    for job in jobs[:1] if jobs[0].environ["CNI_COMMAND"] == "DEL" else list(jobs):
        _spawn(selector, n, job, jobs)


def _spawn(selector: selectors.BaseSelector, n: int, job: PluginCall, others: list[PluginCall]) -> None:
    given = os.memfd_create("stdin")
    os.write(given, job.stdin)
    os.lseek(given, 0, os.SEEK_SET)
    out, end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, given, 0), (os.POSIX_SPAWN_DUP2, end, 1)]
    pid = os.posix_spawn(job.path, [job.path], job.environ, file_actions=actions)
    os.close(given)
    os.close(end)
    selector.register(out, selectors.EVENT_READ, (n, job, pid, [], others))


def run_bench(bin_dir: str, pods: int, pairs: int, parallel: Sequence[int], out: TextIO, progress: TextIO) -> None:
    """Measure in a separate process, and print a line per number of concurrent pods. After the first pair of runs it
    prints the expected duration to `progress`; on a terminal it updates it after each pair.
    """
    question = {"bin_dir": bin_dir, "pods": pods, "pairs": pairs, "parallel": list(parallel)}
    command = [sys.executable, "-m", "kubesim.cni.bench"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as measuring:
        assert measuring.stdin is not None
        assert measuring.stdout is not None
        measuring.stdin.write(json.dumps(question))
        measuring.stdin.close()
        for line in measuring.stdout:
            answer = json.loads(line)
            if "error" in answer:
                raise KubesimError(f"cni bench: {answer['error']}")
            if "done" in answer:
                _show(time_left(**answer), progress, is_first=answer["done"] == 1)
            else:
                _show("", progress)
                print(_line(pods, answer), file=out, flush=True)


def time_left(done: int, of: int, seconds: float) -> str:
    """The remaining time, if a pair takes as long as the earlier ones on average."""
    return f"cni bench: {done} of {of} pairs of runs, about {round(seconds / done * (of - done))} s left"


def _show(text: str, progress: TextIO, *, is_first: bool = False) -> None:
    if progress.isatty():
        print(f"\r\x1b[K{text}", end="", file=progress, flush=True)
    elif is_first:
        print(text, file=progress, flush=True)


def _line(pods: int, answer: dict[str, Any]) -> str:
    pairs = [Pair(BenchRun(*pair["bare"]), BenchRun(*pair["library"])) for pair in answer["pairs"]]
    ratios = sorted(pair.ratio for pair in pairs)
    bare, library = (
        statistics.median(getattr(pair, kind).wall for pair in pairs) * 1000 / pods for kind in ("bare", "library")
    )
    own = statistics.median(pair.library.cpu for pair in pairs) * 1000 / pods
    own_bare = statistics.median(pair.bare.cpu for pair in pairs) * 1000 / pods
    return (
        f"{answer['parallel']:>3} at a time: {statistics.median(ratios):.3f}x bare execution"
        f" ({len(pairs)} pairs, {ratios[0]:.3f} to {ratios[-1]:.3f});"
        f" {library:.1f} ms a pod, bare {bare:.1f} ms; own CPU {own:.1f} ms a pod, bare {own_bare:.1f} ms"
    )


def main() -> None:
    question = json.load(sys.stdin)
    try:
        namespaces.become_private_host(_STATE_DIR, netns.MOUNT_DIR)
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(question["bin_dir"], question["pods"], folder)
            of, watch, done = len(question["parallel"]) * (question["pairs"] + 1), Stopwatch(), 0
            for parallel in question["parallel"]:
                pairs = []
                for n in range(question["pairs"] + 1):
                    pairs.append(bench.pair(parallel, n % 2 == 0))
                    done += 1
                    print(json.dumps({"done": done, "of": of, "seconds": watch.seconds()}), flush=True)
                del pairs[0]  # a warm-up run, not counted
                reported = [
                    {"bare": [pair.bare.wall, pair.bare.cpu], "library": [pair.library.wall, pair.library.cpu]}
                    for pair in pairs
                ]
                print(json.dumps({"parallel": parallel, "pairs": reported}), flush=True)
    except (KubesimError, OSError) as error:
        print(dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    main()
