"""Recorded stories as a stream of observations, as a watcher of that API server would get them.

A recording has seconds since its start; its statuses have the time of day in whole seconds. The start is chosen so that
the kubelet's first status reports nothing from the future.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from kubesim.api.event import Event
from kubesim.api.pod import Pod
from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.timestamps import SECOND, format_micro_time, format_time, parse_time, seconds
from kubesim.cluster.patches.strategic_merge import strategic_merge_patch
from kubesim.conformance.stories.story_files import read_story
from kubesim.values import value_object

TRACES = Path(__file__).parents[2] / "conformance" / "data" / "traces"
STORIES = sorted(path.name.removesuffix(".json.gz") for path in TRACES.glob("*.json.gz"))
NODE = "real-0"

Json = dict[str, Any]


@value_object
class Observed:
    kind: Literal["pod", "removed", "event"]
    now: int
    object: Pod | Event


def story(name: str) -> Json:
    return read_story(TRACES / f"{name}.json.gz")


def stream(reported: Mapping[str, Any]) -> Iterator[Observed]:
    """The watch events of a story, in order."""
    begin = beginning(reported)
    specs: dict[str, Json] = {}
    entries = [(entry["t"], 0, entry) for entry in reported["statuses"]] + [(e["t"], 1, e) for e in reported["events"]]
    for t, is_event, entry in sorted(entries, key=lambda one: (one[0], one[1])):
        now = begin + seconds(t)
        if is_event:
            yield Observed("event", now, _event(entry, now))
            continue
        pod = _pod(reported, entry, specs, begin)
        yield Observed("removed" if entry["type"] == "DELETED" else "pod", now, pod)


def beginning(reported: Mapping[str, Any]) -> int:
    """The time of t=0: the kubelet's first status has a timestamp in seconds, and was written within milliseconds."""
    for entry in reported["statuses"]:
        if "startTime" in entry["status"]:
            return parse_time(entry["status"]["startTime"]) + SECOND - seconds(entry["t"])
    return parse_time("2026-11-15T00:00:00Z")


def _pod(reported: Mapping[str, Any], entry: Json, specs: dict[str, Json], begin: int) -> Pod:
    uid = entry["uid"]
    if uid not in specs:
        specs[uid] = {**_manifest(reported, entry, len(specs)), "created": entry["t"]}
    manifest = specs[uid]
    _patch(reported, entry, manifest)
    metadata = {
        **manifest["metadata"],
        "name": entry["pod"],
        "uid": uid,
        "generation": entry["generation"],
        "creationTimestamp": format_time(begin + seconds(manifest["created"])),
    }
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if name in entry:
            metadata[name] = entry[name]
    spec = dict(manifest["spec"])
    conditions = {c["type"]: c["status"] for c in entry["status"].get("conditions", ())}
    if not spec.get("nodeName") and entry["type"] != "ADDED" and conditions.get("PodScheduled") != "False":
        spec["nodeName"] = NODE
    value = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "status": entry["status"]}
    return Pod.from_json(value)


def _manifest(reported: Mapping[str, Any], entry: Json, number: int) -> Json:
    """The pod's manifest. Mirror pods are created in the order of the files."""
    manifests = [m for m in reported["manifests"] if m.get("kind") == "Pod"]
    named = [m for m in manifests if m["metadata"]["name"] == entry["pod"]]
    static = not named
    chosen: Json = copy.deepcopy(named[0] if named else manifests[min(number, len(manifests) - 1)])
    set_pod_defaults(chosen)
    if static:
        annotations = chosen["metadata"].setdefault("annotations", {})
        annotations |= {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.source": "file"}
        chosen["spec"]["nodeName"] = NODE
    return chosen


def _patch(reported: Mapping[str, Any], entry: Json, manifest: Json) -> None:
    """An external change. If accepted, it appears as a new generation (for labels, only as the change itself)."""
    done: list[int] = manifest.setdefault("patched", [])
    grown = entry["generation"] > manifest.get("generation", 1) and "deletionTimestamp" not in entry
    manifest["generation"] = entry["generation"]
    for number, action in enumerate(reported["actions"]):
        if action["do"] != "patch" or number in done or entry["t"] < action["at"]:
            continue
        if grown or "spec" not in action["patch"]:
            done.append(number)
            manifest.update(strategic_merge_patch("Pod", {"kind": "Pod", **manifest}, action["patch"]))


def _event(entry: Json, now: int) -> Event:
    about = {"kind": "Pod", "namespace": "trace", "name": entry["pod"], "fieldPath": entry.get("fieldPath") or ""}
    return Event.from_json(
        {
            "kind": "Event",
            "involvedObject": about,
            "type": entry["type"],
            "reason": entry["reason"],
            "message": entry["message"],
            "count": entry.get("count") or 1,
            "lastTimestamp": format_micro_time(now),
            "source": {"component": entry.get("component") or ""},
        }
    )


__all__ = ["NODE", "SECOND", "STORIES", "Observed", "beginning", "story", "stream"]
