"""`make bench` of the API server source: events per second, and memory.

A separate process sends the stream, so that only reading, decoding and merging is measured.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness
from kubesim.clock.stopwatch import Stopwatch
from kubesim.cluster.registry.bootstrap import bootstrap
from kubesim.cluster.remote.access import Access, FixedAccess
from kubesim.cluster.remote.http_transport import HttpTransport
from kubesim.cluster.remote.transport import Call
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.store.store import Store
from kubesim.concurrency import TaskSet
from kubesim.sources.apiserver import ApiServerSource
from kubesim.sources.config import ConfigStream
from kubesim.trace import Recorder

PODS = 110
NODE = "node-1"
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def pod_of_3_kb(number: int) -> dict[str, Any]:
    """A running pod of a Deployment as an API server sends it."""
    mount = {"name": "kube-api-access-gvpfg", "readOnly": True, "mountPath": _TOKEN_PATH}
    fields: dict[str, Any] = {
        f"f:{name}": {} for name in ("image", "imagePullPolicy", "name", "resources", "terminationMessagePath")
    }
    condition = {"status": "True", "observedGeneration": 1, "lastProbeTime": None}
    types = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"web-7d4b9c6f5-{number:05}",
            "generateName": "web-7d4b9c6f5-",
            "namespace": "shop",
            "uid": f"00000000-0000-4000-8000-{number:012}",
            "resourceVersion": "@VERSION@",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "pod-template-hash": "7d4b9c6f5"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9c6f5", "uid": "1", "controller": True}
            ],
            "managedFields": [
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, **fields}}}},
                }
            ],
        },
        "spec": {
            "volumes": [
                {
                    "name": "kube-api-access-gvpfg",
                    "projected": {
                        "sources": [
                            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                        ],
                        "defaultMode": 420,
                    },
                }
            ],
            "containers": [
                {
                    "name": "main",
                    "image": "nginx:1.27",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"memory": "128Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
                    "volumeMounts": [mount],
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "nodeName": NODE,
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": type, **condition, "lastTransitionTime": "2026-01-01T00:00:01Z"} for type in types],
            "hostIP": "10.0.0.1",
            "hostIPs": [{"ip": "10.0.0.1"}],
            "podIP": "@ADDRESS@",
            "podIPs": [{"ip": "@ADDRESS@"}],
            "startTime": "2026-01-01T00:00:01Z",
            "containerStatuses": [
                {
                    "name": "main",
                    "state": {"running": {"startedAt": "2026-01-01T00:00:02Z"}},
                    "lastState": {},
                    "ready": True,
                    "restartCount": 0,
                    "image": "nginx:1.27",
                    "imageID": "sha256:fa3e56cba3821bdf94db2b5c10452b1687338de42655fd38ac2674ef0bc2b7c6",
                    "containerID": "containerd://fa3e56cba3821bdf94db2b5c10452b1687338de42655fd38ac2674ef0bc2b7c6",
                    "started": True,
                    "volumeMounts": [{**mount, "recursiveReadOnly": "Disabled"}],
                }
            ],
            "qosClass": "Burstable",
        },
    }


# -- the other end ----------------------------------------------------------------------------------------------------


async def feed(count: int) -> None:
    """Serve one streaming list: the pods, then this many changes of their addresses. Prints its port first."""
    lines = [
        json.dumps({"type": "@TYPE@", "object": pod_of_3_kb(number)}, separators=(",", ":")) for number in range(PODS)
    ]
    templates = [line.split("@") for line in lines]
    over = asyncio.Event()

    def line(type: str, number: int, version: int) -> bytes:
        values = {"TYPE": type, "VERSION": str(version), "ADDRESS": f"10.{version % 250}.0.{number % 250}"}
        return ("".join(values.get(part, part) for part in templates[number]) + "\n").encode()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        end = {"metadata": {"resourceVersion": "1000", "annotations": {"k8s.io/initial-events-end": "true"}}}
        bundle = [line("ADDED", number, number + 1) for number in range(PODS)]
        bundle.append(json.dumps({"type": "BOOKMARK", "object": end}).encode() + b"\n")
        for version in range(1001, 1001 + count):
            bundle.append(line("MODIFIED", version % PODS, version))
            if len(bundle) >= 64:
                await send(writer, b"".join(bundle))
                bundle = []
        await send(writer, b"".join(bundle))
        over.set()

    async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await over.wait()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)  # until the reader disconnects
    server.close()


# -- what is measured -------------------------------------------------------------------------------------------------


def events(count: str, line: Callable[[str, str], None], resident: Callable[[], int]) -> None:
    """Events from the socket to the mux. The first fifth is excluded, while caches fill and memory grows."""
    total, warm = int(count), int(count) // 5
    feeder = subprocess.Popen(
        [sys.executable, "-m", "tools.bench_apiserver", count], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert feeder.stdout is not None
    address = f"http://127.0.0.1:{feeder.stdout.readline().strip()}"

    async def main() -> tuple[float, int]:
        clock = LoopClock()
        async with TaskSet() as tasks:
            recorder = Recorder(clock)
            config = ConfigStream(clock, recorder, ("api",))
            transport = HttpTransport(FixedAccess(Access(address)), clock)
            chance = Randomness(0).stream("reflector")
            source = ApiServerSource(clock, tasks, recorder, config, transport, NODE, chance)
            source.start()
            await taken(config, clock, PODS + warm)
            gc.collect()
            before, watch = resident(), Stopwatch()
            await taken(config, clock, total - warm)
            seconds = watch.cpu_seconds()
            gc.collect()
            return seconds, resident() - before

    seconds, grown = asyncio.run(main())
    feeder.communicate("")
    size = len(json.dumps(pod_of_3_kb(0), separators=(",", ":")))
    line(f"API server source: events of pods of {size} bytes", f"{(total - warm) / seconds:.0f} events/s")
    line(f"... memory after {total - warm} more of them", f"{grown / 1024:+.0f} KiB")


async def taken(config: ConfigStream, clock: LoopClock, count: int) -> None:
    """Consume updates like the sync loop, and discard them."""
    while count > 0:
        update, _ = await config.updates.receive()
        count -= len(update.pods)


def served(count: str, line: Callable[[str, str], None]) -> None:
    """The cluster's HTTP server: changes sent to one client, each encoded once."""
    total = int(count)

    async def main() -> float:
        clock = LoopClock()
        store = Store(clock.now, lambda: "uid")
        bootstrap(store)
        pod = store.create(Pod.from_json(pod_of_3_kb(0)))
        server = ClusterServer(store, clock)
        await server.start()
        transport = HttpTransport(FixedAccess(Access(server.address)), clock)
        call = Call("watch", "/api/v1/pods", {"watch": "true"}, timeout_s=None)
        watch, seen = Stopwatch(), 0
        async with transport.open(call) as reply:
            chunks = reply.chunks()
            for number in range(total):
                labels = {"n": str(number)}
                pod = store.write(pod, pod.changed(metadata=pod.metadata.changed(labels=labels)))
                if number % 100 == 99:
                    while seen < number:
                        seen += (await anext(chunks)).count(b"\n")
        seconds = watch.cpu_seconds()
        await transport.close()
        await server.close()
        return seconds

    line("the cluster over HTTP: changes written, sent and read", f"{total / asyncio.run(main()):.0f} events/s")


if __name__ == "__main__":
    asyncio.run(feed(int(sys.argv[1])))
