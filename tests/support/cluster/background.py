"""Background objects of a recorded story: namespaces of all stories, and objects written by the recorded server itself.

The recording has no requests for these; they are derived from its responses.
"""

from __future__ import annotations

from typing import Any

from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store

Step = dict[str, Any]
Stories = dict[str, list[Step]]

_FILLED_IN = ("serviceAccountName", "serviceAccount", "priority", "preemptionPolicy", "tolerations")


def _answers(stories: Stories) -> list[dict[str, Any]]:
    return [step["response"]["body"] for steps in stories.values() for step in steps
            if isinstance((step.get("response") or {}).get("body"), dict)]  # fmt: skip


def namespaces_of(stories: Stories) -> tuple[list[str], list[str]]:
    """Namespaces that no story created: active ones, and ones being deleted."""
    bodies = [
        body
        for body in _answers(stories)
        if body.get("kind") in ("NamespaceList", "PartialObjectMetadataList", "Table")
    ]
    shown = [
        [(row.get("object") or row)["metadata"].get("name", "") for row in body.get("items") or body.get("rows") or ()
         if row.get("object", row)]
        for body in bodies
    ]  # fmt: skip
    long = [names for names in shown if "default" in names and len(names) > len(stories)]
    made = {
        (step["request"].get("body") or {}).get("metadata", {}).get("name")
        for steps in stories.values()
        for step in steps
        if (step["request"]["method"] == "POST" and step["request"]["path"].startswith("/api/v1/namespaces?"))
        or step["request"]["path"] == "/api/v1/namespaces"
    }
    everything = {name for names in long for name in names} - made
    active = min(long, key=len, default=[])
    return sorted(everything & set(active)), sorted(everything - set(active))


def identity_leases(stories: Stories) -> list[dict[str, Any]]:
    """The lease with which the recorded server announces itself."""
    lines = [
        event["line"].get("object") or {}
        for steps in stories.values()
        for step in steps
        for event in step.get("events", ())
    ]
    found = {
        line["metadata"]["name"]: line
        for line in lines
        if "apiserver.kubernetes.io/identity" in (line.get("metadata", {}).get("labels") or {})
    }
    return list(found.values())


def add_background(store: Store, stories: Stories) -> list[str]:
    """Create the background objects; returns the names of the namespaces."""
    active, deleted = namespaces_of(stories)
    for name in (*active, *deleted):
        if store.find("Namespace", "", name) is None:
            create(store, Target(RESOURCES["Namespace"]), {"metadata": {"name": name}}, manager="oracle")
    for name in deleted:
        store.delete("Namespace", "", name)
    for lease in identity_leases(stories):
        metadata = {key: lease["metadata"][key] for key in ("name", "labels", "annotations")}
        body = {"metadata": metadata, "spec": lease["spec"]}
        create(store, Target(RESOURCES["Lease"], lease["metadata"]["namespace"]), body, manager="kube-apiserver")
    return [*active, *deleted]


def with_unrecorded_pods(steps: list[Step]) -> list[Step]:
    """The steps of a story, with POSTs added for pods that existed before their first request."""
    found: list[Step] = []
    known: set[str] = set()
    held: list[str] = []
    for step in steps:
        path = step["request"]["path"].partition("?")[0]
        name = path.split("/")[6] if path.count("/") >= 6 and "/pods/" in path else ""
        if name and name not in known and step["response"]["status"] == 200:
            known.add(name)
            request = {
                "method": "POST",
                "path": path.partition(f"/{name}")[0],
                "body": _pod(name, step["response"]["body"]),
            }
            request["headers"] = {"Content-Type": "application/json"}
            found.append({"step": "unrecorded", "t": step["t"], "request": request})
            if "finalizers" in request["body"]["metadata"]:
                held.append(path.removesuffix("/status"))
        if step["request"]["method"] == "DELETE" and path.endswith("/pods") and step is steps[-1]:
            found += [_let_go(path, step["t"]) for path in held]
        found.append(step)
    return found


def _let_go(path: str, t: float) -> Step:
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"metadata": {"finalizers": None}}
    return {
        "step": "unrecorded",
        "t": t,
        "request": {"method": "PATCH", "path": path, "headers": headers, "body": body},
    }


def _pod(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    if answer["kind"] == "Table":  # a Table row has only a few fields
        is_gated = answer["rows"][0]["cells"][2] == "SchedulingGated"
        bound = {"schedulingGates": [{"name": "g/x"}]} if is_gated else {"nodeName": "node-a"}
        spec = {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "busybox:1.36"}],
            **bound,
        }
        return {"metadata": {"name": name}, "spec": spec}
    metadata = {"name": name} | {
        key: answer["metadata"][key] for key in ("labels", "finalizers") if key in answer["metadata"]
    }
    spec = {key: value for key, value in answer["spec"].items() if key not in _FILLED_IN}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
