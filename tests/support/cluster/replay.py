"""Replays recorded exchanges with a real API server against the in-memory one, and tells what differs.

Recorded uids, versions, generated names and tokens are other ones here: each is translated when it is sent again, and
must stay the same one wherever it is answered again. Times are compared to the second before and after.
"""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.registry.bootstrap import SYSTEM_NAMESPACES, create_namespace, populate_namespace
from kubesim.cluster.registry.kind_rules import SYSTEM_PRIORITIES
from kubesim.cluster.registry.registry import Target, create
from kubesim.cluster.served.access import RoleAccess
from kubesim.cluster.served.negotiation import JSON
from kubesim.cluster.served.rest import Request, Response, WatchStream, handle
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import HISTORY_LIMIT

DATA = Path(__file__).parents[2] / "cluster" / "data"
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_GENERATED = re.compile(r"kube-api-access-[a-z0-9]{5}")
_FURNITURE = {
    "default",
    "kube-root-ca.crt",
    "node-a",
    "node-b",
    "wk-7",
    "wk-8",
    *SYSTEM_PRIORITIES,
}  # was there before the story
_TIME_FIELDS = {"creationTimestamp", "deletionTimestamp", "lastTransitionTime"}
_USER_AGENT = "oracle/1.0 (linux) story"  # of requests that do not say another
# What our server says in its own words, or about itself.
_OURS = ("description", "gitCommit", "goVersion", "compiler", "serverAddress", "jwks_uri", "extra")
_AGE = re.compile(r"\b(?:\d+[yd](?:\d+[dh])?|\d+h(?:\d+m)?|\d+m(?:\d+s)?|\d+s)\b")
_DIFF = "\n@@ "  # of Go structs that we do not have


def read_stories(name: str) -> dict[str, list[dict[str, Any]]]:
    stories: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(DATA / name, "rt") as lines:
        for line in lines:
            step = json.loads(line)
            stories.setdefault(step["story"], []).append(step)
    return stories


class Replay:
    """One story. `problems` are the differences, one line each."""

    def __init__(
        self,
        namespace: str,
        nodes: tuple[str, ...],
        start: int = 0,
        now: Callable[[], int] | None = None,
        history_limit: int = HISTORY_LIMIT,
    ) -> None:
        self.moment = start
        self._timed = bool(start)  # the short recording does not say when it began
        uids = iter(range(1, 1_000_000))
        self.store = Store(
            now or (lambda: self.moment),
            lambda: f"00000000-0000-0000-0000-{next(uids):012d}",
            history_limit=history_limit,
        )
        self.store.resource_version = 1000  # so that no version is also another number
        for name in (*SYSTEM_NAMESPACES, namespace):
            create_namespace(self.store, name)
        self.namespace = namespace
        self.background = {namespace, *SYSTEM_NAMESPACES}
        populate_namespace(self.store, namespace)
        for name, value in SYSTEM_PRIORITIES.items():
            create(self.store, Target(RESOURCES["PriorityClass"]), {"metadata": {"name": name}, "value": value})
        for name in nodes:
            status = {
                "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": 9}},  # which nobody answers
            }
            create(self.store, Target(RESOURCES["Node"]), {"metadata": {"name": name}, "status": status})
        self.problems: list[str] = []
        self.access: RoleAccess | None = None
        self.user_agent = _USER_AGENT
        self._generated: str | None = None
        self.names: dict[str, str] = {}  # recorded -> ours: uids, generated names, tokens
        self.versions: dict[str, str] = {}
        self._seen: dict[str, tuple[Any, Any]] = {}
        self._watches: list[tuple[dict[str, Any], WatchStream]] = []

    def play(self, steps: list[dict[str, Any]]) -> None:
        begin = self.moment
        for step in steps:
            number = step["step"]
            self.moment = begin + round(step.get("t", 0) * SECOND)
            self._close_watches(step.get("t", 0))
            response = self.send(step["request"])
            if step.get("kind") == "watch" and response.stream is not None:
                self._watches.append((step, response.stream))
            else:
                self.compare(f"step {number}", recorded_answer(step), response)
        self._close_watches(None)

    def send(self, request: dict[str, Any]) -> Response:
        return handle(self.store, self.request(request), self.access)

    def request(self, request: dict[str, Any]) -> Request:
        """A recorded request as it has to be sent here."""
        headers = {"user-agent": self.user_agent} if self.user_agent else {}
        headers |= {name.lower(): value for name, value in (request.get("headers") or {}).items()}
        if request.get("contentType"):
            headers["content-type"] = request["contentType"]
        if request.get("accept"):
            headers["accept"] = request["accept"]
        self._generated = (
            ((request.get("body") or {}).get("metadata") or {}).get("generateName")
            if isinstance(request.get("body"), dict)
            else None
        )
        body = request.get("body_text", request.get("text"))
        if body is None:
            body = json.dumps(self._translated(request["body"])) if request.get("body") is not None else ""
        return Request(request["method"], self._path(request["path"]), headers, self._ours(body))

    def _path(self, path: str) -> str:
        def version(found: re.Match[str]) -> str:
            return f"resourceVersion={self.versions.get(found[1], found[1])}"

        return self._ours(re.sub(r"resourceVersion=(\d+)", version, path))

    def _translated(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if value.get("path") == "/metadata/resourceVersion":
                return {**value, "value": self.versions.get(value["value"], value["value"])}
            return {name: self._translated(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._translated(item) for item in value]
        return self.versions.get(value, value) if key == "resourceVersion" else value

    def _ours(self, text: str) -> str:
        for recorded, ours in self.names.items():
            text = text.replace(recorded, ours)
        return text

    # -- comparing ----------------------------------------------------------------------------------------------

    def compare(self, where: str, recorded: dict[str, Any] | None, response: Response) -> None:
        if recorded is None:
            if response.status not in (200, 201):
                self.problems.append(f"{where}: {response.status} {response.body}")
            return
        self._learn_generated(recorded["body"], response.body)
        if recorded["status"] != response.status:
            self.problems.append(f"{where}: status {recorded['status']}, ours {response.status} {response.body}")
            return
        if recorded.get("warnings") != list(response.warnings):
            self.problems.append(f"{where}: warnings {recorded.get('warnings')}, ours {list(response.warnings)}")
        if recorded["body"] is not None:
            is_json = response.headers.get("Content-Type") == JSON and isinstance(recorded["body"], dict)
            ours = response.body if response.text == "" else json.loads(response.text) if is_json else response.text
            self.compare_bodies(where, *_as_data(recorded["body"], ours))

    def _learn_generated(self, recorded: Any, ours: Any) -> None:
        """The name that was made for an object that was refused."""
        if self._generated and isinstance(recorded, dict) and isinstance(ours, dict):
            names = [(each.get("details") or {}).get("name", "") for each in (recorded, ours)]
            if all(name.startswith(self._generated) for name in names):
                self.names.setdefault(*names)

    def compare_bodies(self, where: str, recorded: Any, ours: Any, key: str = "") -> None:
        if isinstance(recorded, dict) and isinstance(ours, dict):
            if self._is_of_the_background(recorded):
                self.compare_bodies(where, recorded["metadata"]["name"], (ours.get("metadata") or {}).get("name"))
                return
            if "cells" in recorded and self._is_of_the_background(recorded.get("object") or {}):
                self.compare_bodies(where, recorded["cells"][0], ours["cells"][0])
                return
            if recorded.get("generateName") and recorded["name"][:-5] == ours.get("name", "")[:-5]:
                self.names.setdefault(recorded["name"], ours["name"])
            if "uid" in recorded and "resourceVersion" in recorded:
                self._check_write(where, recorded, ours)
            for name in {**recorded, **ours}:
                if name in _OURS:
                    continue
                if name not in recorded or name not in ours:
                    self.problems.append(f"{where}.{name}: {recorded.get(name, '-')!r}, ours {ours.get(name, '-')!r}")
                else:
                    self.compare_bodies(f"{where}.{name}", recorded[name], ours[name], name)
        elif isinstance(recorded, list) and isinstance(ours, list):
            if key in ("items", "rows"):
                recorded, ours = self._own(recorded), self._in_order(recorded, self._own(ours))
            if len(recorded) != len(ours):
                self.problems.append(f"{where}: {len(recorded)} items, ours {len(ours)}: {ours}")
            for n, (left, right) in enumerate(zip(recorded, ours, strict=False)):
                self.compare_bodies(f"{where}[{n}]", left, right, key)
        elif not self._same(where, recorded, ours, key):
            self.problems.append(f"{where}: {recorded!r}, ours {ours!r}")

    def _same(self, where: str, recorded: Any, ours: Any, key: str) -> bool:
        if recorded == ours and key != "resourceVersion":
            return True
        if key in _OURS:
            return True
        if not isinstance(recorded, str) or not isinstance(ours, str):
            return False
        if key == "resourceVersion":
            return self.versions.setdefault(recorded, ours) == ours and self._keeps_order()
        if key in ("uid", "name", "continue") and self._is_random(recorded, key):
            return self.names.setdefault(recorded, ours) == ours
        if key in _TIME_FIELDS or (key == "time" and ".managedFields" in where):
            return not self._timed or abs(parse_time(recorded) - parse_time(ours)) <= SECOND
        if key == "cells":
            return _without_ages(recorded) == _without_ages(self._ours(ours))
        if key == "message":
            return _comparable(self._ours(recorded)) == _comparable(ours)
        return self._ours(recorded) == ours

    def _is_of_the_background(self, recorded: dict[str, Any]) -> bool:
        metadata = recorded.get("metadata") or {}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if name in _FURNITURE:
            return True
        others = name in self.background or str(name).startswith("apiserver-")
        return others and namespace in (None, "kube-system")

    def _own(self, items: list[Any]) -> list[Any]:
        """Without what other stories left behind."""
        return [item for item in items if self._is_own((item.get("object") or item).get("metadata") or {})]

    def _in_order(self, recorded: list[Any], ours: list[Any]) -> list[Any]:
        """Generated names stand elsewhere among the others: in the order of the recorded ones."""
        wanted = [self.names.get(name, name) for name in map(_name, recorded)]
        found = {_name(item): item for item in ours}
        return [found[name] for name in wanted] if sorted(wanted) == sorted(found) else ours

    def _is_own(self, metadata: dict[str, Any]) -> bool:
        namespace = metadata.get("namespace")
        return not (namespace and namespace != self.namespace and re.match(r"(st|ho|kt)-", namespace))

    def _is_random(self, text: str, key: str) -> bool:
        if key == "continue":
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).startswith(b'{"v"')
        return bool(_UID.fullmatch(text) or _GENERATED.fullmatch(text))

    def _keeps_order(self) -> bool:
        ordered = sorted(self.versions.items(), key=lambda pair: int(pair[0]))
        return all(int(a[1]) <= int(b[1]) for a, b in itertools.pairwise(ordered))

    def _check_write(self, where: str, recorded: dict[str, Any], ours: dict[str, Any]) -> None:
        """Where there was a write of an object, there must be one here. (The version of a list may be anybody's.)"""
        last = self._seen.get(recorded["uid"])
        self._seen[recorded["uid"]] = recorded.get("resourceVersion"), ours.get("resourceVersion")
        if last is not None and (last[0] == recorded.get("resourceVersion")) != (
            last[1] == ours.get("resourceVersion")
        ):
            self.problems.append(f"{where}: written once more there than here, or here than there")

    # -- watches ------------------------------------------------------------------------------------------------

    def _close_watches(self, until: float | None) -> None:
        """End the watches that had ended by then; the others stay open."""
        still_open = []
        for step, stream in self._watches:
            closed_at = step.get("closed_t")
            if until is not None and (closed_at is None or closed_at > until):
                still_open.append((step, stream))
                continue
            self.compare_bodies(f"watch {step['step']}", self.lines_of(step), self.own_lines(stream.lines()))
            stream.close()
        self._watches = still_open

    def lines_of(self, step: dict[str, Any]) -> list[dict[str, Any]]:
        lines = [event["line"] for event in step["events"] if not is_timed_bookmark(event["line"])]
        return self.own_lines(lines)

    def own_lines(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Without the lease that a server keeps for itself."""
        return [line for line in lines if not str(_name(line["object"])).startswith("apiserver-")]


def _name(item: dict[str, Any]) -> str:
    return str(((item.get("object") or item).get("metadata") or {}).get("name", ""))


def is_timed_bookmark(line: dict[str, Any]) -> bool:
    shown = line["object"]
    if shown.get("kind") == "Table":
        shown = shown["rows"][0]["object"]
    return line["type"] == "BOOKMARK" and "annotations" not in shown["metadata"]


def recorded_answer(step: dict[str, Any]) -> dict[str, Any] | None:
    """None if nobody knows it."""
    response = step.get("response")
    if response is None:
        return None
    body = response.get("body", response.get("body_text", response.get("text"))) or None
    if body is None and step.get("events"):  # a watch that was none
        body = step["events"][0]["line"]
    warnings = (response.get("headers") or {}).get("Warning") or response.get("warnings") or []
    return {"status": response["status"], "body": body, "warnings": warnings}


def _as_data(recorded: Any, ours: Any) -> tuple[Any, Any]:
    """YAML and other texts of JSON as what they stand for; hashes of documents are ours."""
    if isinstance(recorded, str) and isinstance(ours, str) and recorded[:1] not in ("[", "4", "o"):
        texts = (re.sub(r"\?hash=[0-9A-F]+", "", text) for text in (recorded, ours))
        recorded, ours = (yaml.load(text, _PlainLoader) for text in texts)
    return recorded, ours


class _PlainLoader(yaml.SafeLoader):
    """Times stay texts."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _without_ages(cell: str) -> str:
    return _AGE.sub("AGE", cell)


def _comparable(message: str) -> str:
    """Without the versions in it, without a diff of Go structs, and without a quoted object."""
    message = message.partition(_DIFF)[0].partition("\n-")[0].rstrip("\n")
    message = re.sub(r'Invalid value: "\{.*\}"', "Invalid value: OBJECT", message, flags=re.DOTALL)
    message = re.sub(r"(current: |ResourceVersion in (?:record|the precondition) \()\d+", r"\1N", message)
    return re.sub(r"too old resource version: (\d+) \(\d+\)", r"too old resource version: \1 (N)", message)
