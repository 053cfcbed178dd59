"""The short recording as stories that can be replayed, with missing parts reconstructed.

Some requests are not in the recording; they are derived from the responses. Its watches have no times: each becomes its
own story, in which everything happens in the first half second.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.cluster.replay import read_stories

Step = dict[str, Any]

PODS = "/api/v1/namespaces/orc/pods"
MERGE = "application/merge-patch+json"
_SHORT = read_stories("short.jsonl.gz")


def _unrecorded(method: str, path: str, body: Any = None, content_type: str = "application/json") -> Step:
    """A request with an unknown response, which must succeed."""
    request = {"method": method, "path": PODS + path, "body": body, "contentType": content_type}
    return {"step": "unrecorded", "request": request}


def _pod(name: str, labels: dict[str, str] | None = None, **spec: str) -> Step:
    containers = [{"name": "main", "image": "busybox"}]
    metadata = {"name": name} | ({"labels": labels} if labels else {})
    return _unrecorded("POST", "", {"metadata": metadata, "spec": {"containers": containers, **spec}})


def _label(name: str, labels: dict[str, str | None]) -> Step:
    return _unrecorded("PATCH", f"/{name}", {"metadata": {"labels": labels}}, MERGE)


def _lists() -> list[Step]:
    """Five pods, two of them on a node, one of these running."""
    everything = next(step for step in _SHORT["lists"] if step["request"]["path"].endswith("?resourceVersion=0"))
    steps = []
    for item in everything["response"]["body"]["items"]:
        node = item["spec"].get("nodeName")
        steps.append(_pod(item["metadata"]["name"], item["metadata"]["labels"], **({"nodeName": node} if node else {})))
    status = next(item["status"] for item in everything["response"]["body"]["items"] if "podIP" in item["status"])
    steps.append(_unrecorded("PATCH", "/l1/status", {"status": status}, MERGE))
    # One of them is a watch on a server without an up-to-date etcd.
    return steps + [step for step in _SHORT["lists"] if "watch=maybe" not in step["request"]["path"]]


def _apply() -> list[Step]:
    """The first of the two applies of the pod sent image `a`: the recorder changed its copy before writing it."""
    steps: list[Step] = json.loads(json.dumps(_SHORT["apply"]))
    steps[10]["request"]["body"]["spec"]["containers"][0]["image"] = "a"
    return steps


def _others() -> list[Step]:
    """Without two responses about nodes that a controller had changed."""
    return [step for step in _SHORT["others"] if step["step"] not in (9, 10)]


def _watch(number: int, before: list[Step], during: list[Step], lasts: float = 0.0) -> list[Step]:
    step = _SHORT["watch"][number]
    lines = step["response"].get("watch")
    if lines is None:
        return [*before, step]
    bookmark = lasts - 2
    events = [{"t": bookmark if line["type"] == "BOOKMARK" else 0.1, "line": line} for line in lines]
    watch = {**step, "kind": "watch", "t": 0.0, "events": events, "closed_t": lasts}
    return [*before, watch, *({**later, "t": 0.1} for later in during)]


_CHANGES = [
    _pod("w1"),
    _label("w1", {"a": "b"}),
    _unrecorded("DELETE", "/w1"),
    _pod("w2", nodeName="fake-1"),
    _unrecorded("DELETE", "/w2"),
    _unrecorded("DELETE", "/w2?gracePeriodSeconds=0"),
]

# Without watches 2 and 4, whose server had no up-to-date etcd.
SHORT_STORIES: dict[str, list[Step]] = {
    "minimal-pod-defaults": _SHORT["minimal-pod-defaults"],
    "errors-create": _SHORT["errors-create"],
    "update-patch, kubelet-status": _SHORT["update-patch"] + _SHORT["kubelet-status"],
    "delete": _SHORT["delete"],
    "discovery": _SHORT["discovery"],
    "apply": _apply(),
    "others": _others(),
    "lists": _lists(),
    "watch: changes, bookmarks": _watch(0, [], _CHANGES, 3.0),
    "watch: changes": _watch(1, [], _CHANGES, 2.0),
    "watch: a pod leaves the selection": _watch(3, [], [_pod("w4", {"sel": "1"}), _label("w4", {"sel": None})], 3.0),
    "watch: a version that is too old": _watch(5, _CHANGES, []),
    "watch: from the beginning": _watch(6, [_pod("w5")], [], 2.0),
    "watch: options that do not go together": _watch(7, [], []),
    "watch: no version": _watch(8, [], []),
}
BEGINNING = "1111"  # the first version of the recorded watches
