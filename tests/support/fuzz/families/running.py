"""`kubesim run`: scenarios, plain manifests and kubelet configurations."""

from __future__ import annotations

import functools
from pathlib import Path
from random import Random
from typing import Any

import yaml

from tests.support.fuzz.damage import yaml_bytes
from tests.support.fuzz.disturbed import FILES
from tests.support.fuzz.families import ROOT, Invocation
from tests.support.fuzz.mutations import Mutator

QUESTIONS_WEIGHT = 10  # of the file with all expectations among some hundred others
REAL_NETWORKS = "runtime: cni"  # they take a second each, and have other tests
_SHOWN: tuple[list[str], ...] = (
    [], [], ["-q"], ["-v"], ["-o", "json"], ["-o", "jsonl"], ["--logs"], ["--log", "log"],
    ["--log", "log", "--log-format", "json", "--log-verbosity", "9"], ["-q", "--strict"],
)  # fmt: skip
_UNTIL = ("15s", "15s", "40s", "2m")
_CONFIGURATION: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 50, "podPidsLimit": -1,
    "syncFrequency": "1m0s", "fileCheckFrequency": "20s", "nodeStatusUpdateFrequency": "10s",
    "nodeLeaseDurationSeconds": 40,
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "evictionSoft": {"memory.available": "200Mi"},
    "evictionSoftGracePeriod": {"memory.available": "1m30s"}, "evictionMaxPodGracePeriod": 60,
    "kubeReserved": {"cpu": "100m", "memory": "128Mi"},
    "systemReserved": {"cpu": "0.1"}, "enforceNodeAllocatable": ["pods"], "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
    "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}, "topologyManagerPolicy": "best-effort",
    "topologyManagerScope": "container",
    "memoryManagerPolicy": "None", "reservedMemory": [{"numaNode": 0, "limits": {"memory": "228Mi"}}],
    "featureGates": {"InPlacePodVerticalScaling": True},
    "clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.local", "resolvConf": "/etc/resolv.conf",
    "cgroupDriver": "systemd",
    "serializeImagePulls": False, "maxParallelImagePulls": 3, "registryPullQPS": 5, "registryBurst": 10,
    "eventRecordQPS": 50, "eventBurst": 100,
    "imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80, "imageMinimumGCAge": "2m0s",
    "imageMaximumGCAge": "0s",
    "shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s", "containerLogMaxSize": "10Mi",
    "containerLogMaxFiles": 5,
    "crashLoopBackOff": {"maxContainerRestartPeriod": "5m0s"}, "staticPodPath": "/etc/kubernetes/manifests",
    "allowedUnsafeSysctls": ["net.core.*"],
    "memorySwap": {"swapBehavior": "LimitedSwap"}, "failSwapOn": False, "userNamespaces": {"idsPerPod": 65536},
    "runtimeRequestTimeout": "2m0s",
    "logging": {"format": "text", "verbosity": 2}, "tlsMinVersion": "VersionTLS12",
    "authentication": {"anonymous": {"enabled": False}},
    "registerWithTaints": [{"key": "a", "effect": "NoSchedule"}], "registerNode": True, "jitter": "off",
}  # fmt: skip
# Every form of an expectation; shipped scenarios use only some.
_EXPECTATIONS: list[dict[str, Any]] = [
    {"pod": "web", "condition": "Ready", "within": "10s", "of": "create"},
    {"pod": "web", "event": "Killing", "container": "main", "within": "1s", "of": "delete"},
    {"pod": "web", "gone": True, "within": "1s", "of": {"event": "Killing", "message": {"matches": "^Stop"}}},
    {"pod": "web", "order": [{"event": "Pulled"}, {"phase": "Running"}, {"pod": "web", "gone": True}], "by": "14s"},
    {"pod": "web", "log": {"equals": "hello"}, "count": {"atMost": 3}, "between": ["1s", "10s"]},
    {"pod": "web", "call": "RunPodSandbox", "count": 1, "at": "5s"},
    {"call": "api patch pods/status", "count": {"atLeast": 1, "atMost": 90}, "eventually": True},
    {"node": "node-1", "condition": "Ready", "always": True, "by": "9s"},
    {"pod": "w*", "exists": True, "count": 1, "always": True, "between": ["5s", "9s"]},
    {"pod": "web", "exitCode": 137, "never": True},
    {"pod": "web", "state": "terminated", "reason": "OOMKilled", "exitCode": 137, "never": True},
    {"pod": "web", "restartCount": {"atLeast": 1}, "container": "main", "never": True},
    {"object": "Service/kubernetes", "endpoints": {"atMost": 2}},
    {"object": "Deployment/none", "ready": 1, "custom": True, "never": True},
    {"pod": "web", "field": "status.podIP", "matches": "^10[.]"},
    {"pod": "web", "field": "status.conditions[type=Ready].observedGeneration", "atLeast": 0, "atMost": 9},
]  # fmt: skip
_QUESTIONS: list[Any] = [
    {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "questions"},
        "spec": {
            "duration": "15s",
            "steps": [
                {"at": "5s", "exec": {"pod": "web", "command": ["false"], "exitCode": 1}},
                {"at": "11s", "delete": {"pod": "web"}},
            ],
            "expect": _EXPECTATIONS,
        },
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {
            "containers": [{"name": "main", "image": "busybox:1", "command": ["sh", "-c", "echo hello; sleep 99"]}]
        },
    },
]


@functools.cache
def _files() -> list[list[Any]]:
    """The documents of each scenario file, files with one document first."""
    paths = [*(ROOT / "scenarios").rglob("*.yaml"), *(ROOT / "labs").glob("*/scenario.yaml")]
    texts = [path.read_text() for path in sorted(paths) if path.parent.name != "net.d"]
    shipped = [list(yaml.safe_load_all(text)) for text in texts if REAL_NETWORKS not in text]
    return [*shipped, *[_QUESTIONS] * QUESTIONS_WEIGHT, *FILES]


@functools.cache
def _scenarios() -> Mutator:
    return Mutator(_files())


@functools.cache
def _objects() -> Mutator:
    """The objects of all scenarios, as lists."""
    found = []
    for documents in _files():
        plain = [document for document in documents if document.get("kind") != "Scenario"]
        inner = [
            item for document in documents if document not in plain for item in document["spec"].get("objects", ())
        ]
        if plain or inner:
            found.append([*plain, *inner])
    return Mutator(found)


@functools.cache
def _configurations() -> Mutator:
    head = {"apiVersion": _CONFIGURATION["apiVersion"], "kind": _CONFIGURATION["kind"]}
    parts = list(_CONFIGURATION.items())[2:]
    cuts = [dict(parts[start : start + 6]) for start in range(0, len(parts), 6)]
    given = [document["spec"]["kubeletConfiguration"] for file in _files() for document in file
             if "kubeletConfiguration" in document.get("spec", {})]  # fmt: skip
    return Mutator([{**head, **part} for part in (*cuts, *given)])


def scenario(rng: Random, folder: Path) -> Invocation:
    documents = _scenarios().mutated(rng)
    return _run(rng, folder, documents if isinstance(documents, list) else [documents])


def manifests(rng: Random, folder: Path) -> Invocation:
    objects = _objects().mutated(rng)
    objects = objects if isinstance(objects, list) else [objects]
    how = rng.choice(("file", "-f", "List", "stdin", "directory"))
    if how == "List":
        objects = [{"apiVersion": "v1", "kind": "List", "items": objects}]
    if how == "stdin":
        return Invocation(["run", "-", *_flags(rng, folder)], yaml_bytes(objects, rng))
    if how == "directory":
        for number, one in enumerate(objects[:5]):
            (folder / f"{number}.yaml").write_bytes(yaml_bytes([one], rng))
        return Invocation(["run", "-f", str(folder), *_flags(rng, folder)])
    return _run(rng, folder, objects, *(["-f"] if how == "-f" else []))


def kubelet_configuration(rng: Random, folder: Path) -> Invocation:
    file = folder / "kubelet.yaml"
    file.write_bytes(yaml_bytes([_configurations().mutated(rng)], rng))
    if rng.random() < 0.2:
        pods = ROOT / "tests" / "attach" / "crashloop.json"
        return Invocation(["explain", str(pods), "--config", str(file)])
    played = rng.choice(("hello-pod", "crashloop", "memory-pressure", "static-pod", "node-shutdown", "resize"))
    return Invocation(["run", str(ROOT / "scenarios" / f"{played}.yaml"), "--config", str(file), *_flags(rng, folder)])


def _run(rng: Random, folder: Path, documents: list[Any], *before: str) -> Invocation:
    file = folder / rng.choice(("s.yaml", "s.yaml", "s.json"))
    file.write_bytes(yaml_bytes(documents, rng))
    return Invocation(["run", *before, str(file), *_flags(rng, folder)])


def _flags(rng: Random, folder: Path) -> list[str]:
    shown = [str(folder.parent / "log") if word == "log" else word for word in rng.choice(_SHOWN)]
    return ["--until", rng.choice(_UNTIL), *shown]
