"""A scenario with every kind of fault, condition and disturbing step, of which shipped files use only some."""

from __future__ import annotations

from typing import Any

WEIGHT = 10  # among some hundred other files
FAULTS: list[dict[str, Any]] = [
    {"operation": "CreateContainer", "pod": "w*", "results": ["ok", "error", "late", "hang"], "error": "x",
     "latency": "1s"},
    {"operation": "runtime.*", "probability": 0.05, "error": "rpc error: code = Unknown desc = x", "moment": "after"},
    {"operation": "List*", "latency": {"median": "20ms", "sigma": 1}, "times": 5},
    {"operation": "PullImage", "subject": "bus*", "latency": {"mean": "1s", "stddev": "300ms"}},
    {"operation": "cni.ADD", "error": "no address", "code": 11, "times": 1},
    {"operation": "MountVolume", "latency": {"min": "1s", "max": "2s"}, "container": "*"},
    {"operation": "UnmountVolume", "error": "busy", "times": 2, "begin": "8s", "end": "14s"},
    {"operation": "api.*", "probability": 0.1, "error": "conflict", "code": 409},
    {"operation": "api.PatchPodStatus", "hang": True, "times": 1, "node": "node-*"},
    {"operation": "disk.WriteStaticPod", "torn": True},
    {"operation": "StopContainer", "crash": {"what": "kubelet", "downFor": "2s"}, "moment": "after", "times": 1},
    {"operation": "StartContainer", "crash": "runtime", "times": 1, "pod": "other"},
]  # fmt: skip
STEPS: list[dict[str, Any]] = [
    {"when": {"pod": "web", "condition": "Ready"}, "delay": "1s", "by": "14s", "hang": {"pod": "web", "for": "2s"}},
    {"when": {"after": "StartContainer", "pod": "web", "count": 1}, "clockJump": {"by": "-1h"}},
    {"when": {"before": "CreateContainer", "container": "main", "node": "node-1"}, "cut": {"for": "2s"}},
    {"when": {"object": "Node/node-1", "field": "spec.podCIDR", "equals": ""}, "clockJump": "5m"},
    {"when": {"pod": "we*", "event": "Started"}, "kill": {"pod": "web", "process": "sleep", "signal": "TERM"}},
    {"when": {"pod": "web", "gone": True}, "writeFile": {"path": "/etc/a", "text": "b"}},
    {"at": "4s", "hang": {"call": "api.*", "for": "1s"}},
    {"at": "5s", "dependency": {"name": "db", "latency": {"choices": ["1s", "2s"]}, "for": "3s"}},
    {"at": "6s", "dependency": {"name": "db", "down": True}},
    {"at": "7s", "removeFile": {"path": "/etc/hosts"}},
    {"at": "9s", "delete": {"pod": "web"}},
    {"at": "10s", "flush": "rules"},
]
SPEC: dict[str, Any] = {
    "duration": "15s",
    "dependencies": [{"name": "db", "latency": {"mean": "10ms"}}, {"name": "cache", "down": True, "pod": "web"}],
    "behaviours": [{"pod": "other", "needs": ["db", {"name": "cache", "path": "/x*"}], "readyAfter": "1s"}],
    "matrix": {"seeds": "0..1", "profiles": ["v1.36"], "values": {"pod/web spec.containers[0].image": ["a", "b"]}},
    "include": [],
    "faults": FAULTS,
    "steps": STEPS,
}
_PROBE = {"httpGet": {"port": 80}, "periodSeconds": 1}
DISTURBED: list[Any] = [
    {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "disturbed"}, "spec": SPEC},
    *(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "containers": [
                    {"name": "main", "image": "busybox:1", "command": command, "ports": [{"containerPort": 80}],
                     "readinessProbe": _PROBE}
                ]
            },
        }
        for name, command in (("web", ["sh", "-c", "sleep 99 & wait"]), ("other", ["server"]))
    ),
]  # fmt: skip
FILES = [DISTURBED] * WEIGHT
