"""`make bench`: measures the speed of kubesim on one core. Prints figures and checks no limits.

Each measurement runs in its own process, so that the memory of one does not affect another.
"""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

from kubesim.app import Simulation, run_scenario
from kubesim.clock import run_virtual
from kubesim.clock.garbage import collected_rarely
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cni.bench import run_bench
from kubesim.concurrency import TaskSet
from kubesim.conformance.runner import run_corpus
from kubesim.linux.private_node.holder_client import Underlay
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from tests.support.convergence import converge
from tools import bench_apiserver, bench_up
from tools.process_costs import child_seconds

DATA = Path(__file__).parent.parent / "tests" / "conformance" / "data"
SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: bench}}
spec:
  kubeletConfiguration: {{maxPods: 100000}}
  images: [{{name: "*", present: true}}]
  {more}
"""
POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec:
  containers: [{{name: main, image: "nginx:1.27"}}]
"""
DEPLOYMENT = """---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{number}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web-{number}}}}}
  template:
    metadata: {{labels: {{app: web-{number}}}}}
    spec:
      containers: [{{name: main, image: "nginx:1.27"}}]
"""
ROLLOUT_S = 20  # start of the update; the run lasts ten times as long


# pydantic imports submodules lazily; declaring a model imports these.
LIBRARIES = "import asyncio, yaml\nfrom pydantic import BaseModel, Field, BeforeValidator, ValidationError"


def scenario(pods: int, more: str = "") -> Scenario:
    text = SCENARIO.format(more=more) + "".join(POD.format(number=number) for number in range(pods))
    return parse_scenario(text, "bench.yaml")


def line(what: str, figure: str) -> None:
    print(f"{what:<58} {figure:>16}", flush=True)


def lives(count: str, kept: str) -> None:
    """Created, Running for 30 s, deleted, gone. A short run is measured five times; the median counts."""
    run_scenario(scenario(1))  # imports on first use are counted in `--help` and `make demo`, not here
    rates = [life_rate(int(count), kept == "kept") for _ in range(5 if int(count) < 1000 else 1)]
    line(f"whole lives of {count} pods, trace {kept}", f"{median(rates):.0f} pods/s")


def linear(few: str, many: str) -> None:
    """The machine's speed varies by the minute, so the small run is measured right before the large one."""
    run_scenario(scenario(1))
    rates = [life_rate(int(few), False) for _ in range(5)]
    of_many = life_rate(int(many), False)
    gc.collect()
    rates += [life_rate(int(few), False) for _ in range(5)]
    line(f"rate of {many} pods, to that of {few} before and after", f"{of_many / median(rates):.2f}")


def rollouts(few: str, many: str) -> None:
    """A rolling update of ten Deployments on ten nodes: the cost of a pod, with few pods and with many."""
    run_scenario(scenario(1))
    small = [rollout_rate(int(few)) for _ in range(3)]
    large = rollout_rate(int(many))
    small += [rollout_rate(int(few)) for _ in range(3)]
    line(f"rolling update of {many} pods, ten Deployments, ten nodes", f"{large:.0f} pods/s")
    line(f"... to the rate of {few} pods before and after", f"{large / median(small):.2f}")


def rollout_rate(pods: int) -> float:
    """Pods created per second: the initial ones and their replacements."""
    update = '{spec: {template: {metadata: {labels: {version: "2"}}}}}'
    steps = "".join(
        f"    - {{at: {ROLLOUT_S}s, patch: {{object: Deployment/web-{number}, patch: {update}}}}}\n"
        for number in range(10)
    )
    nodes = ", ".join(f"{{name: node-{number}, capacity: {{pods: {pods}}}}}" for number in range(10))
    more = f"nodes: [{nodes}]\n  duration: {10 * ROLLOUT_S}s\n  steps:\n{steps}"
    text = SCENARIO.format(more=more) + "".join(
        DEPLOYMENT.format(number=number, replicas=pods // 10) for number in range(10)
    )
    parsed = parse_scenario(text, "bench.yaml")
    with collected_rarely():
        watch = Stopwatch()
        result = run_scenario(parsed)
        seconds = watch.cpu_seconds()
    assert len(result.phases) == 2 * pods
    return 2 * pods / seconds


def life_rate(count: int, kept: bool) -> float:
    pods, trace = scenario(count), MemorySink()
    with collected_rarely():  # as `kubesim run` does it
        watch = Stopwatch()
        result = run_scenario(pods, sinks=(trace,) if kept else ())
        seconds = watch.cpu_seconds()
    assert set(result.phases.values()) == {"Succeeded"}
    return count / seconds


def memory(count: str) -> None:
    """Memory of a running pod when everything is idle."""
    pods = scenario(int(count), "duration: 60s")

    async def main() -> int:
        async with TaskSet() as tasks:
            simulation = Simulation(pods, 0, tasks)
            gc.collect()
            before = resident()
            await tasks.run_until(simulation.run())
            gc.collect()
            return resident() - before

    line(f"memory of a running pod ({count} of them)", f"{run_virtual(main) / int(count) / 1024:.0f} KiB")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def idle_day(count: str) -> None:
    pods = scenario(int(count), "duration: 24h")
    watch = Stopwatch()
    run_scenario(pods)
    line(f"an idle day of a node with {count} pods", f"{watch.cpu_seconds():.2f} s CPU")


def converging(count: str) -> None:
    """All pods at once, a third each from the API server, files and a url; the runtime fails and hangs."""
    watch = Stopwatch()
    found = converge(int(count), failing=0.1, hanging=0.05)
    minutes = f"{found.took / 60_000_000:.0f} min on the node"
    line(f"{count} pods, 3 sources, 10 % of calls fail, 5 % hang: all ready", minutes)
    line(
        f"... with {found.calls} runtime calls ({found.failed} failed, {found.hung} hung)",
        f"{watch.cpu_seconds():.1f} s CPU",
    )


def recorded_lives() -> None:
    """All recorded cases, three times; the median counts."""
    taken = []
    for _ in range(3):
        watch = Stopwatch()
        result = run_corpus(DATA / "lifecycle_trace.jsonl.gz")
        taken.append(1000 * watch.cpu_seconds() / result.cases)
    line("one life of lifecycle_trace (the real kubelet: 43 ms)", f"{median(taken):.1f} ms CPU")


def api_events(count: str) -> None:
    bench_apiserver.events(count, line, resident)


def api_served(count: str) -> None:
    bench_apiserver.served(count, line)


def up_served() -> None:
    bench_up.served(line)


def up_nodes() -> None:
    compileall.compile_dir("kubesim", quiet=1)  # as in an installed package, regardless of the environment
    bench_up.pods_on_nodes(line)


def explored() -> None:
    from tools import bench_explore  # with the packages that it needs

    bench_explore.explored(line)


def cri() -> None:
    from tools import bench_cri

    bench_cri.calls(line)
    bench_cri.lives(line)


def start_up() -> None:
    watch = Stopwatch()
    for _ in range(5):
        subprocess.run([sys.executable, "-m", "kubesim", "--help"], stdout=subprocess.DEVNULL, check=True)
    line("kubesim --help", f"{1000 * watch.seconds() / 5:.0f} ms")
    run, libraries = (
        [sys.executable, "-m", "kubesim", "run", "scenarios/hello-pod.yaml"],
        [sys.executable, "-c", LIBRARIES],
    )
    compileall.compile_dir("kubesim", quiet=1)  # as in an installed package, regardless of the environment
    times = [(child_seconds(run), child_seconds(libraries)) for _ in range(15)]
    ratio = median(own for own, _ in times) / median(theirs for _, theirs in times)
    line("run of one pod, to importing its libraries (at most 2.2)", f"{ratio:.2f}")
    if shutil.which("valgrind"):
        counted = instructions(run) / instructions(libraries)
        line("... in instructions, whatever else the machine does", f"{counted:.2f}")


def instructions(command: list[str]) -> int:
    """The number of CPU instructions of a process, with a fixed hash seed."""
    counted = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(counted, env=environment, capture_output=True, text=True, check=True)
    return int(done.stderr.rpartition(":")[2].replace(",", ""))


def cni() -> None:
    """Pod networks set up and torn down by real plugins, compared with executing the plugins alone."""
    run_bench("/usr/lib/cni", pods=100, pairs=10, parallel=(1, 8, 32), out=sys.stdout, progress=sys.stderr)


def real_networks(count: str) -> None:
    """Pods on a private node, from creation to Running, in real time."""
    watch = Stopwatch()
    underlay = Underlay()
    node = underlay.new_node()
    line("a private node, from nothing", f"{1000 * watch.seconds():.0f} ms")
    took = []
    for number in range(50):
        watch = Stopwatch()
        node.new_netns(f"/var/run/netns/{number}")
        took.append(watch.seconds())
    line("a network namespace in it, median", f"{1000 * sorted(took)[25]:.2f} ms")
    node.close()
    underlay.close()
    pods = scenario(int(count), "runtime: cni\n  duration: 20s")
    watch = Stopwatch()
    result = run_scenario(pods)
    assert set(result.phases.values()) == {"Running"}
    line(f"{count} pods with real networks, to Running (real kubelet: 3.4 s)", f"{watch.seconds():.1f} s")


def attached() -> None:
    """Observing a node with 5,000 pods over HTTP."""
    from tools.bench_attach import PODS, figures

    start, slowest, megabytes = figures()
    line(f"attached to {PODS} pods: until all of them are explained", f"{start:.1f} s")
    line("... until a change is explained, 99th percentile", f"{slowest * 1000:.0f} ms")
    line("... memory", f"{megabytes:.0f} MB")


def following() -> None:
    """Following a node with crash loops as in `deploy/`, also with the agent."""
    from tools.bench_following import CRASHING, PODS, figures

    restarts, (follower, agent) = figures(["-o", "jsonl"], ["--agent"])
    line(
        f"following {PODS} pods, {CRASHING} crash ({restarts:.1f} restarts/s; at most 2 %)", f"{follower.percent:.1f} %"
    )
    line("... memory (at most 150 MB)", f"{follower.megabytes:.0f} MB")
    line("... with the agent (at most 5 %)", f"{agent.percent:.1f} %")
    line("... memory with the agent", f"{agent.megabytes:.0f} MB")


def reported(count: str) -> None:
    """The report of many pods in a browser."""
    from tools.bench_report import figures

    found = figures(int(count))
    line(f"report of {count} pods for an hour, {found.records} records (at most 15 MB)", f"{found.megabytes:.1f} MB")
    line("... until it is open (at most 3 s), and CPU time", f"{found.opens[0]:.1f}, {found.opens[1]:.1f} s")
    for tab, (middle, busy) in found.steps.items():
        line(f"... a step with the tab {tab} (at most 50 ms), and CPU time", f"{middle:.0f}, {busy:.0f} ms")


MEASUREMENTS: dict[str, Callable[..., None]] = {
    "lives": lives,
    "linear": linear,
    "rollouts": rollouts,
    "memory": memory,
    "idle_day": idle_day,
    "converging": converging,
    "recorded_lives": recorded_lives,
    "api_events": api_events,
    "api_served": api_served,
    "up_served": up_served,
    "up_nodes": up_nodes,
    "explored": explored,
    "cri": cri,
    "start_up": start_up,
    "cni": cni,
    "real_networks": real_networks,
    "attached": attached,
    "following": following,
    "reported": reported,
}
PROGRAMME = [
    ["start_up"],
    ["recorded_lives"],
    ["api_events", "250000"],
    ["api_served", "20000"],
    ["up_served"],
    ["up_nodes"],
    ["explored"],
    ["cri"],
    *(["lives", count, kept] for count in ("110", "1000", "10000") for kept in ("not kept", "kept")),
    ["linear", "110", "10000"],
    ["rollouts", "100", "1000"],
    ["memory", "2000"],
    ["idle_day", "110"],
    ["converging", "500"],
    ["cni"],
    ["real_networks", "20"],
    ["attached"],
    ["following"],
    ["reported", "500"],
]


def main(arguments: list[str]) -> None:
    if arguments:
        MEASUREMENTS[arguments[0]](*arguments[1:])
        return
    for measurement in PROGRAMME:
        subprocess.run([sys.executable, "-m", "tools.bench", *measurement], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
