"""Generates the pages of `docs/`: `make docs` writes them, and a test checks that they are current.

It needs no network. The sources are the command line parser, the models of the scenario language and of labs, the trace
records, the test corpora, and runs of kubesim.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kubesim.api.effects.object_rows import OBJECT_ROWS
from kubesim.api.effects.pod_rows import POD_ROWS
from kubesim.api.effects.rows import FieldRow
from kubesim.api.schema.types import parse_type, struct_fields
from kubesim.cli.lab import play
from kubesim.cli.main import make_parser
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.conformance import narrowing
from kubesim.conformance.frame import corpus_name, read_cases
from kubesim.features import DEFAULT_PROFILE, FeatureGates
from kubesim.features.differences import DIFFERENCES
from kubesim.features.differences.gates import GATE_DIFFERENCES
from kubesim.features.table import PROFILES
from kubesim.kubelet.metrics import definitions
from kubesim.kubelet.metrics.exposition import format_value
from kubesim.kubeletconfig.fields import all_fields
from kubesim.labs.language import LabFile, Solution
from kubesim.labs.load import find_labs, labs_directory
from kubesim.labs.network import NetworkExercise
from kubesim.labs.waits import WAITS, wait
from kubesim.labs.walk import pod_creation
from kubesim.scenario.authoring.descriptions import all_types
from kubesim.scenario.invariants.table import MODULES
from kubesim.scenario.language.document import STRICT
from kubesim.scenario.load.objects import has_effect
from kubesim.trace import records
from kubesim.trace.stepping import conditions
from tests.support.corpora import BY_CHANCE, CORPORA, NOT_RUNNABLE, STORIES, WORKLOADS
from tools.incidents_page import incident_lines
from tools.language_tables import cell, described_model, plain_models
from tools.not_simulated import rows as left_out_rows
from tools.programs_page import program_lines
from tools.run_picture import crash_loop
from tools.step_screens import step_picture
from tools.terminal_recording import recording
from tools.walks.page import walk_lines

DOCS = Path(__file__).parent.parent / "docs"
MADE = "<!-- Made by `make docs`. Do not change it here. -->"


# -- commands ---------------------------------------------------------------------------------------------------


def commands() -> str:
    lines = ["# Commands", "", MADE, "", "`kubesim COMMAND --help` prints the same.", ""]
    lines += [
        (
            "Exit codes: 0 success, 1 an expectation, answer or case failed, 2 invalid usage or input, 130 interrupted "
            "(`run` prints its result so far)."
        ),
        "",
    ]
    for name, parser in subparsers(make_parser()):
        lines += _command(f"kubesim {name}", parser)
    return _page(lines)


def subparsers(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _command(name: str, parser: argparse.ArgumentParser, level: int = 2) -> Iterator[str]:
    yield from (f"{'#' * level} `{name}`", "", " ".join((parser.description or "").split()), "")
    options = [a for a in parser._actions if not isinstance(a, argparse._HelpAction | argparse._SubParsersAction)]
    if options:
        yield from ("| | |", "|---|---|")
        for action in options:
            if action.help != argparse.SUPPRESS:  # flags that the kubelet documents
                yield f"| `{cell(_usage(action))}` | {cell(action.help or '')} |"
        yield ""
    for sub, subparser in subparsers(parser):
        yield from _command(f"{name} {sub}", subparser, level + 1)


def _usage(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        several = {"*": f"[{value} ...]", "+": f"{value} ...", "?": f"[{value}]"}
        return several.get(str(action.nargs), value)
    names = ", ".join(action.option_strings)
    return names if action.nargs == 0 else f"{names} {value}"


# -- the language of scenarios and labs -------------------------------------------------------------------------


def programs() -> str:
    return _page(["# Programs and images that are simulated", "", MADE, "", *program_lines()])


def scenarios() -> str:
    lines = ["# The language of scenarios", "", MADE, ""]
    lines += [
        "A file holds YAML documents: plain Kubernetes objects, which are applied at time 0, and at most one of",
        "kind `Scenario`. A file with only objects is a scenario with defaults. Unknown fields are errors.",
        "Durations have the format of Go: `1m30s`, `250ms`. Editors check and complete such files with the",
        "JSON Schema that `kubesim scenario schema` prints; it is made from the same table as this page.",
        "",
        "A run names each field of an object that has no effect here, as a note in the trace and on stderr:",
        "`without effect here: spec.containers[0].securityContext.privileged (pod default/web)`.",
        "[fidelity](fidelity.md#fields-without-effect) lists these fields.",
        "",
    ]
    for model in all_types():
        lines += described_model(model)
    return _page(lines)


def labs() -> str:
    lines = ["# The language of labs", "", MADE, ""]
    lines += [
        "A lab is a folder `NN-name` with `text.md`, `scenario.yaml`, `lab.yaml`, `solution.yaml` and, if it has a",
        "task, `solved.yaml`, the scenario that solves it. A lab with real CNI plugins has `network.yaml` instead of a",
        "scenario. [how-to](how-to.md) explains how to write one.",
        "",
    ]
    for name, model in (("lab.yaml", LabFile), ("solution.yaml", Solution), ("network.yaml", NetworkExercise)):
        lines += [f"# `{name}`", "", *plain_models(model), ""]
    lines += [
        "# Waits",
        "",
        "A time that depends on the seed is a sum of waits (`waits` of a question). Every answer in the sum of their",
        "ranges is right. A duration such as `10s` is a wait, too. `up to 5s` is anything from 0s to 5s.",
        "",
        "| wait | range |",
        "|---|---|",
        *(f"| `{name}` | {span.text} |" for name, span in WAITS.items()),
        *(f"| `back-off {number}` | {wait(f'back-off {number}').text} |" for number in range(1, 5)),
    ]
    return _page(lines)


# -- the trace --------------------------------------------------------------------------------------------------


def trace() -> str:
    lines = ["# Records and conditions", "", MADE, ""]
    lines += [
        "Everything that happens is a record: `seq`, `t` (seconds), `kind`, its subject (`node`, `pod`, `uid`,",
        "`container`), the fields of its kind, `cause` (the `seq` of its cause), `why`, and `ref` (the upstream",
        "function that it mirrors).",
        "",
        "| kind | fields | mirrors | |",
        "|---|---|---|---|",
    ]
    common = set(records.Record.__dataclass_fields__)
    for kind in records.KINDS:
        own = ", ".join(f"`{name}`" for name in kind.__dataclass_fields__ if name not in common)
        reported = (kind.__doc__ or "").split("\n")[0]
        # the generated docstring of a dataclass
        reported = "" if reported.startswith(f"{kind.__name__}(") else reported
        lines.append(f"| `{kind.KIND}` | {own} | {kind.REF} | {cell(reported)} |")
    lines += [
        "",
        "## Metrics",
        "",
        "Measured in the trace for `kubesim run --metrics` and `/metrics`; counters have no buckets.",
        "",
        "| name | label | buckets | |",
        "|---|---|---|---|",
    ]
    for what in sorted(_definitions(), key=lambda what: what.name):
        bounds = f"{len(what.buckets)}, up to {format_value(what.buckets[-1])} s" if what.buckets else ""
        lines.append(f"| `{what.name}` | {what.label and f'`{what.label}`'} | {bounds} | {cell(what.help)} |")
    lines += ["", "## Conditions", "", *inspect.cleandoc(conditions.__doc__ or "").splitlines()]
    return _page(lines)


def _definitions() -> list[definitions.Definition]:
    return [value for value in vars(definitions).values() if isinstance(value, definitions.Definition)]


# -- what is true, and how true ---------------------------------------------------------------------------------


def fidelity() -> str:
    lines = ["# How faithful it is", "", MADE, ""]
    lines += [
        "The reference is kubelet v1.36.4. Its decision functions, and those of libcni, go-cni and containerd's",
        "network code, were run on thousands of inputs, and their answers were recorded. The tests run kubesim on the",
        "same inputs and fail for every difference. Complete pod lifecycles were recorded from the kubelet in",
        f"virtual time, and {len(STORIES)} stories from a real node.",
        "",
        "    $ kubesim conformance tests/conformance/data --only pod_phase --only backoff",
        "",
        "| corpus | cases | decided the same |",
        "|---|---:|---:|",
    ]
    total = same = 0
    for path in CORPORA:
        name, cases = corpus_name(path), sum(1 for _ in read_cases(path))
        passed = cases - NOT_RUNNABLE.get(name, 0)
        total, same = total + cases, same + passed
        lines.append(f"| `{name}` | {cases:,} | {passed:,} |")
    lines += [f"| all | {total:,} | {same:,} |", ""]
    lines += [
        *(
            f"{count} cases of `{name}` need plugins of a newer version than Debian's and are not run."
            for name, count in NOT_RUNNABLE.items()
        ),
        "",
        f"All {len(STORIES)} stories are reproduced, each by one of the first seeds: every status and every Event, in",
        "order.",
        "",
        f"Of {len(WORKLOADS)} stories of the real controllers and scheduler, {len(WORKLOADS) - len(BY_CHANCE)} are",
        "reproduced by one of the seeds 1 to 10: pods, scaling, Events, endpoints and claims, at the same times.",
        "In the following, only the times at which single pods are deleted differ, because they are random:",
        "",
        *(f"* `{name}`: {why}." for name, why in BY_CHANCE.items()),
        "",
        "    $ kubesim conformance tests/conformance/data/workloads/deploy-scale.json.gz",
        "",
        "## Where the comparison is narrowed",
        "",
        *inspect.cleandoc(narrowing.__doc__ or "").splitlines(),
        "",
        "## What is not simulated",
        "",
        "kubesim does not run real processes or images: containers run a small shell in virtual time, and images are",
        "names with a size. Pods communicate over an in-memory network, or over a real one with `--runtime cni`. The",
        "duration of a runtime call is drawn from the seed. [workloads.md](workloads.md) lists what controllers and",
        "scheduler do not simulate, and [containers.md](containers.md) what a container sees. The following parts of",
        "the kubelet and containerd are missing as well ([walk.md](walk.md) shows the parts that exist):",
        "",
        *left_out_rows(),
        "",
        "Every profile has the API server of v1.36, with the probe fields that v1.37 added. Two behaviours follow the",
        "profile: service account tokens (v1.6, v1.12) and the answer to a resize (v1.30). A resize always uses the",
        "subresource `resize`, although clusters of v1.30 used a change of the pod.",
        "",
        *_without_effect(),
    ]
    return _page(lines)


def _without_effect() -> Iterator[str]:
    """The tables of fields without effect."""
    yield from (
        "## Fields without effect",
        "",
        "A run prints each field that is set but has no effect in kubesim, once, on stderr:",
        "",
        "    kubesim: without effect here: spec.containers[0].securityContext.privileged (pod default/web and 2 more)",
        "",
        "The same line is a `note` of the trace, and an element of `withoutEffect` with `-o json`. Values without an",
        "effect in a real cluster, such as `false` or a default of the API server, are not printed. A test runs",
        "objects with every field and records the fields that are read, so the tables are complete.",
        "",
        "| field of a pod | a real cluster | here |",
        "|---|---|---|",
        *_effect_rows(POD_ROWS, ("Pod",)),
        "",
        "Init containers, ephemeral containers and pod templates have the same fields.",
        "",
        "| field of another object | a real cluster | here |",
        "|---|---|---|",
        *_effect_rows(OBJECT_ROWS, _OTHER_KINDS),
        "",
    )
    names = ", ".join(f"`{name}`" for name in _configuration_fields())
    yield f"Fields of the kubelet's configuration without effect: {names}."
    kinds = [kind for kind, one in RESOURCES.items() if not has_effect({"apiVersion": one.api_version, "kind": kind})]
    yield from (
        "",
        f"{', '.join(kinds)} and all kinds that [workloads.md](workloads.md) does not name, such as Ingress,",
        "NetworkPolicy and HorizontalPodAutoscaler, are only stored. A run prints one line for such objects:",
        "`stored, no effect here: Ingress/web`.",
    )


_OTHER_KINDS = ("Service", "EndpointSlice", "PersistentVolumeClaim", "StatefulSet", "Node", "StorageClass",
                "PersistentVolume", "CSIDriver", "ResourceClaim", "DeviceClass", "ResourceSlice")  # fmt: skip


def _effect_rows(rows: Sequence[FieldRow], kinds: Sequence[str]) -> Iterator[str]:
    """One row each. Fields of one struct share a row: `spec.volumes[].iscsi.` `portals`, `fsType`."""
    paths = _paths(kinds)
    for row in rows:
        inside: dict[tuple[str, str], list[str]] = {}
        for name in row.fields.split():
            kind, _, path = paths[name].rpartition(" ")
            before, _, last = path.rpartition(".")
            inside.setdefault((kind, before), []).append(last)
        shown = (_fields_shown(*where, names) for where, names in inside.items())
        yield f"| {'; '.join(shown)} | {cell(row.real)} | {cell(row.here)} |"


def _fields_shown(kind: str, path: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"{kind} `{path}{'.' if path else ''}{names[0]}`".strip()
    return f"{kind} `{path}`: {', '.join(f'`{name}`' for name in names)}".strip()


def _paths(kinds: Sequence[str]) -> dict[str, str]:
    """`Container.tty` -> `spec.containers[].tty`, on the shortest path from the first kind that has it."""
    found: dict[str, str] = {}
    for kind in kinds:
        queue, seen = [(parse_type(kind).struct, "" if kind == "Pod" else f"{kind} ")], set()
        while queue:
            struct, before = queue.pop(0)
            for name, field in struct_fields(struct).items() if struct not in seen else ():
                found.setdefault(f"{struct}.{name}", before + name)
                inner = field.type
                while inner.element is not None:
                    inner = inner.element
                if inner.struct and name not in ("status", "initContainers", "ephemeralContainers"):
                    queue.append((inner.struct, f"{before}{name}{'[]' if field.type.kind == 'list' else ''}."))
            seen.add(struct)
    return found


def _configuration_fields() -> Iterator[str]:
    """Dotted field names; a struct whose fields all have no effect is listed once."""
    inside: dict[str, list[str]] = {}
    for name, field in all_fields():
        inside.setdefault(name.partition(".")[0], []).append("" if field.played else name)
    for outer, names in inside.items():
        yield from [outer] if all(names) else filter(None, names)


def first_packet() -> str:
    title, *rest = pod_creation(play).markdown()
    return _page([title, "", MADE, *rest])


def walk() -> str:
    return _page(["# The code, step by step", "", MADE, "", *walk_lines()])


def lab_index() -> str:
    lines = ["# The labs", "", MADE, "", "    $ kubesim lab list", "    $ kubesim lab start 1", ""]
    for lab in find_labs(labs_directory()):
        effort = f"Level: {lab.file.level}, about {lab.file.minutes} minutes."
        belief = f'Common belief: "{lab.file.belief}"'
        lines += [f"## {lab.number}. {lab.file.title}", "", f"{_sentence(lab.file.about)} {effort} {belief}", ""]
    return _page(lines)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def versions() -> str:
    lines = ["# Versions", "", MADE, ""]
    lines += [
        f"`spec.profile` and `--profile` choose the version of the kubelet: {', '.join(PROFILES)}.",
        f"The default is {DEFAULT_PROFILE}. Each profile has the feature gates of its version",
        "(`kubesim/features/table.py`) and, where no gate distinguishes versions, named rules. Each row below is a",
        "rule and has a scenario that shows it.",
        "",
        "| rule | differs in | what differs | upstream | scenario |",
        "|---|---|---|---|---|",
    ]
    for each in DIFFERENCES:
        values = ", ".join(
            f"{profile}: {_shown_value(each.values[profile])}" for profile in PROFILES if profile in each.values
        )
        scenario = f"[{each.scenario}](../scenarios/{each.scenario})"
        lines.append(f"| `{each.rule}` | {values} | {each.what} | {each.upstream} | {scenario} |")
    lines += ["", "Of the feature gates whose defaults differ, these have a scenario:", ""]
    lines += ["| feature gate | on by default in | what it does | scenario |", "|---|---|---|---|"]
    for gate in GATE_DIFFERENCES:
        on = ", ".join(profile for profile in PROFILES if FeatureGates(profile=profile).enabled(gate.gate))
        lines.append(f"| `{gate.gate}` | {on} | {gate.what} | [{gate.scenario}](../scenarios/{gate.scenario}) |")
    return _page(lines)


def _shown_value(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else f"`{value}`"


# -- invariants -------------------------------------------------------------------------------------------------


STRICT_RULES = [
    "# Strict invariants",
    "",
    "Rules that every engineer expects, and that real kubelets break in known situations. `kubesim explore` checks",
    "them; other runs check those that the scenario adds:",
    "",
    "    spec:",
    "      invariants: {added: [post-start]}",
    "",
]


def invariants() -> str:
    lines = ["# Invariants", "", MADE, ""]
    lines += [
        "Rules that hold in every run. Each is a small checker that watches the API server, the runtimes and probes",
        "and changes nothing. A violation fails the run (exit 1); it names the pod, the time, the observation, and",
        "the earlier records of the pod. A violation is reported once for each pod.",
        "",
        "    spec:",
        "      invariants: off                        # none",
        "      invariants: {disabled: [grace-periods]}  # all but this one",
        "      invariants: {violated: [init-order]}   # the run fails unless this one is violated",
        "",
        "`scenarios/versions/v1.36-reboot-before-start.yaml` shows a violation by a real kubelet. A run with a live",
        "API server as its source has no invariants.",
        "",
    ]
    for module in MODULES:
        if module.INVARIANT.name == STRICT[0]:
            lines += STRICT_RULES
        lines += [f"## `{module.INVARIANT.name}`", "", *inspect.cleandoc(module.__doc__ or "").splitlines(), ""]
    return _page(lines)


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands,
    "crashloop.svg": crash_loop,
    "recording.svg": recording,
    "stepper.svg": step_picture,
    "how-to/programs-and-images.md": programs,
    "scenarios.md": scenarios,
    "labs.md": lab_index,
    "lab-language.md": labs,
    "trace.md": trace,
    "fidelity.md": fidelity,
    "first-packet.md": first_packet,
    "walk.md": walk,
    "versions.md": versions,
    "invariants.md": invariants,
    "incidents.md": lambda: _page(["# Incidents", "", MADE, "", *incident_lines()]),
}


def _page(lines: list[str]) -> str:
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def main() -> None:
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
        print(f"docs/{name}", file=sys.stderr)


if __name__ == "__main__":
    main()
