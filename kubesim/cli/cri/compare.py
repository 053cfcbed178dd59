"""`kubesim cri compare`: the calls of kubelets to their runtimes, pod by pod, and the first differences."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kubesim.cli.output.terminal import say
from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.runtime.cri.record.calls_of_pods import Ask

HELP = "compare two recordings of kubesim cri record, pod by pod"
DESCRIPTION = """Compare the calls of two kubelets to their runtimes, in order and per pod. With one recording, list the
calls. Exit code 1: there is a difference."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("left", metavar="A.jsonl", help="a recording")
    parser.add_argument("right", metavar="B.jsonl", nargs="?", help="another one; without it, the calls are listed")
    parser.add_argument("--pod", metavar="NAMESPACE/NAME", help="only this pod")
    parser.add_argument("--requests", action="store_true", help="compare whole messages, not only the calls")
    parser.add_argument(
        "--all",
        dest="all_calls",
        action="store_true",
        help="also calls that change nothing, and commands in containers",
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="text, or one JSON object")


def execute(args: argparse.Namespace) -> int:
    from kubesim.runtime.cri.record.comparison import compare_calls

    left = _load(args, args.left)
    if args.right is None:
        _list(args, left)
        return 0
    right = _load(args, args.right)
    differences = compare_calls(left, right, requests=args.requests)
    if args.output == "json":
        from kubesim.golang.json import printable_json

        found = [
            {
                "pod": each.pod, "call": each.number, "left": each.left, "right": each.right,
                "fields": list(each.fields),
            }
            for each in differences
        ]  # fmt: skip
        print(printable_json({"pods": len({*left, *right}), "differences": found}))
        return 1 if differences else 0
    for each in differences:
        say(
            f"{each.pod or 'the node'}: first difference at call {each.number}",
            f"  A: {each.left}",
            f"  B: {each.right}",
        )
        if each.fields:
            say(*(f"     {line}" for line in each.fields))
    same = {*left, *right} - {each.pod for each in differences}
    say(f"{len(same)} of {len({*left, *right})} pods: the same calls in the same order")
    return 1 if differences else 0


def _load(args: argparse.Namespace, path: str) -> dict[str, list[Ask]]:
    from kubesim.runtime.cri.record.calls_of_pods import asks_by_pod
    from kubesim.runtime.cri.record.recording import read_recording

    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            calls = read_recording(file, path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    found = asks_by_pod(calls, all_calls=args.all_calls)
    return {pod: asks for pod, asks in found.items() if args.pod in (None, pod)}


def _list(args: argparse.Namespace, pods: dict[str, list[Ask]]) -> None:
    if args.output == "json":
        from kubesim.golang.json import printable_json

        print(printable_json({pod: [ask.text for ask in asks] for pod, asks in pods.items()}))
        return
    if not pods:
        say("no calls about pods")
    for pod, asks in pods.items():
        say(f"{pod or 'the node'}:", *(f"  {number:3d} {ask.text}" for number, ask in enumerate(asks, 1)))
