"""An operator reduced to its decision: which pod a resource of kind Cache asks for."""

from __future__ import annotations

from typing import Any

SERVE = "trap 'sleep {flush}; exit 0' TERM; sleep {warm_up}; touch /tmp/warm; echo warm; sleep 1000000 & wait"


def pod_of(cache: dict[str, Any]) -> dict[str, Any]:
    """The pod of a cache: ready once it is warm, with time to write its data back when it ends."""
    spec = cache["spec"]
    script = SERVE.format(warm_up=spec["warmUpSeconds"], flush=spec["flushSeconds"])
    container = {
        "name": "cache",
        "image": "busybox:1.36",
        "command": ["sh", "-c", script],
        "readinessProbe": {"exec": {"command": ["cat", "/tmp/warm"]}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": cache["metadata"]["name"], "labels": {"app": "cache"}},
        "spec": {"terminationGracePeriodSeconds": spec["flushSeconds"] + 5, "containers": [container]},
    }
