"""`kubesim explain FILE|-`: where a pod is in its life, which rule holds it there, what comes next and when."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from kubesim.cli import options
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.attach.statement import Statement

HELP = "say in plain words where a pod is in its life, what holds it there and what the kubelet does next"
DESCRIPTION = """Explain pods as kubectl prints them: a Pod, a PodList or a List in JSON or YAML, from a file or, with
-, from standard input. Events make it better: --events FILE, or `kubectl get pods,events,nodes -o json` in one go.
Nothing is written anywhere, and no cluster is asked."""

FORMATS = ("text", "json", "jsonl")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FILE", help="pods as kubectl get -o json or yaml prints them; - is stdin")
    parser.add_argument("pod", nargs="?", metavar="POD", help="only this pod of them: NAME or NAMESPACE/NAME")
    parser.add_argument("--events", metavar="FILE", help="what `kubectl get events -o json` printed")
    parser.add_argument("--node", metavar="FILE", help="what `kubectl get node NAME -o json` printed")
    parser.add_argument("--at", type=_time, metavar="TIME", help="as of this time (2026-01-31T12:00:00Z); default: now")
    parser.add_argument("-o", "--output", type=_format, metavar="|".join(FORMATS), help="a page, or for machines")


def _format(text: str) -> str:
    if text not in FORMATS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(FORMATS)}, not {text!r}")
    return text


def _time(text: str) -> int:
    from kubesim.api.timestamps import parse_time

    try:
        return parse_time(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def execute(args: argparse.Namespace) -> int:
    from kubesim.attach.explain import explain
    from kubesim.attach.read import STANDARD_INPUT, Objects, read_file
    from kubesim.clock.wall import wall_now

    files = [args.source, *(file for file in (args.events, args.node) if file)]
    if files.count(STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once: give only one - of FILE, --events and --node")
    found = sum((read_file(file) for file in files), Objects())
    now = wall_now() if args.at is None else args.at
    seen = [one for one in found.observations(now) if _is_meant(one.pod.metadata, args.pod)]
    if not seen:
        wanted = f"pod {args.pod}" if args.pod else "Pod"
        raise UsageError(f"{args.source}: no {wanted} in it; give what `kubectl get pod NAME -o json` prints")
    output = options.chosen(args.output, "KUBESIM_OUTPUT", _format) or "text"
    _print([explain(one) for one in seen], output)
    return 0


def _is_meant(meta: object, wanted: str | None) -> bool:
    if wanted is None:
        return True
    namespace, _, name = wanted.rpartition("/")
    return getattr(meta, "name", "") == name and namespace in ("", getattr(meta, "namespace", ""))


def _print(statements: list[Statement], output: str) -> None:
    from kubesim.attach.page import as_json, page

    if output == "jsonl":
        for statement in statements:
            print(json.dumps(as_json(statement), ensure_ascii=False))
    elif output == "json":
        told = [as_json(statement) for statement in statements]
        print(json.dumps(told[0] if len(told) == 1 else told, ensure_ascii=False, indent=2))
    else:
        sys.stdout.write("\n".join(page(statement) for statement in statements))
