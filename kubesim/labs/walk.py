"""A walk through the creation of a pod, from its manifest to the first packet, in the order of the code path.

Each stop shows a record of a real run and the state of the node at that record. `kubesim lab walk` prints it in the
terminal; `docs/first-packet.md` is the same text as a page.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from kubesim.labs.explain import WIDTH, shown, stop_record
from kubesim.labs.language import StopItem, WalkFile
from kubesim.labs.load import read_yaml
from kubesim.labs.playing import Play
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace.records import CriCall, Record
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.panes import node_lines
from kubesim.values import value_object

FILE = Path(str(files("kubesim.labs") / "pod_creation.yaml"))


@value_object
class WalkStop:
    """One stop: its text, its record, the node, and optional further lines."""

    title: str
    say: str
    record: tuple[str, ...]
    node: tuple[str, ...]
    extra: tuple[str, ...] = ()


@value_object
class Walk:
    title: str
    intro: str
    manifest: str
    stops: tuple[WalkStop, ...]

    def lines(self) -> list[str]:
        """The stop as text for a terminal."""
        lines = [self.title, "", *textwrap.wrap(" ".join(self.intro.split()), WIDTH), ""]
        for number, stop in enumerate(self.stops, start=1):
            lines += [f"{number}. {stop.title}"]
            lines += textwrap.wrap(stop.say, WIDTH, initial_indent="   ", subsequent_indent="   ")
            lines += ["", *(f"     {line}" for line in stop.record)]
            for block in (stop.extra, stop.node):
                if block:
                    lines += ["", *(f"     {line}" for line in block)]
            lines += [""]
        return lines

    def markdown(self) -> list[str]:
        """The stop as Markdown."""
        lines = [
            f"# {self.title}",
            "",
            *textwrap.wrap(self.intro, 120),
            "",
            "    $ kubesim lab walk",
            "",
            "The scenario:",
            "",
        ]
        lines += [f"    {line}" for line in self.manifest.splitlines()]
        for number, stop in enumerate(self.stops, start=1):
            lines += ["", f"## {number}. {stop.title}", "", *textwrap.wrap(stop.say, 120), ""]
            for block in (stop.record, stop.extra, stop.node):
                if block:
                    lines += [*(f"    {line}" for line in block), ""]
            lines.pop()
        return [line.rstrip() for line in lines]


def pod_creation(play: Play) -> Walk:
    """Run the scenario and collect the stops."""
    file = read_yaml(FILE, WalkFile)
    records = play(parse_scenario(file.scenario, str(FILE))).records
    return Walk(file.title, file.intro, file.scenario, tuple(_stops(records, file.stops)))


def _stops(records: Sequence[Record], items: Sequence[StopItem]) -> Iterator[WalkStop]:
    stepper = Stepper(records)
    for item in items:
        record = stop_record(records, item, str(FILE))
        stepper.go_to(record.seq)
        node = tuple(line.rstrip() for line in node_lines(stepper.picture, WIDTH, record))
        extra = tuple(cni_request(stepper, str(getattr(record, "result", "")))) if "CNI" in item.title else ()
        yield WalkStop(item.title, item.say, tuple(shown(records, record)), node, extra)


def cni_request(stepper: Stepper, sandbox_id: str) -> Iterator[str]:
    """The environment and the standard input of the first plugin for a sandbox.

    Mirrors: containerd internal/cri/server/sandbox_run.go setupPodNetwork, go-cni, libcni/api.go addNetwork
    """
    call = stepper.records[(stepper.here.cause or 1) - 1]
    assert isinstance(call, CriCall)
    namespace, _, name = call.pod.partition("/")
    arguments = {
        "IgnoreUnknown": "1",
        "K8S_POD_NAMESPACE": namespace,
        "K8S_POD_NAME": name,
        "K8S_POD_INFRA_CONTAINER_ID": sandbox_id,
        "K8S_POD_UID": call.args["uid"],
    }
    yield from (
        "CNI_COMMAND=ADD",
        f"CNI_CONTAINERID={sandbox_id}",
        "CNI_NETNS=/var/run/netns/cni-...",
        "CNI_IFNAME=eth0",
        "CNI_PATH=/opt/cni/bin",
    )
    head = "CNI_ARGS="
    for key, value in arguments.items():
        yield f"{head}{key}={value};"
        head = " " * len(head)
    yield f"stdin: {json.dumps(_plugin_configuration())}"


def _plugin_configuration() -> dict[str, Any]:
    """The configuration that a plugin gets: its part of the list, plus the name and the version of the list."""
    return {"cniVersion": "1.0.0", "name": "pods", "type": "bridge", "ipam": {"type": "host-local"}}
