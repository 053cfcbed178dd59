"""`kubesim explore FILE --print-job`: prints the Job that explores FILE on a cluster, for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from kubesim.cli.output.terminal import warn
from kubesim.errors import UsageError

COMPLETIONS = 10
_NO_NAME = re.compile(r"[^a-z0-9]+")


def print_job(args: argparse.Namespace) -> int:
    from kubesim.cli.explore.search import settings_of, subject_of
    from kubesim.cluster.kubectl.yaml_writer import to_yaml
    from kubesim.explore.job import MOST_TEXT, JobSettings, job_objects
    from kubesim.explore.removal import text_of

    for flag, value in (("shard", args.shard), ("jobs", args.jobs), ("output", args.output)):
        if value is not None:
            raise UsageError(f"--{flag} has no effect with --print-job: each pod of the Job has its own")
    if args.show_missing:
        raise UsageError("--show-missing has no effect with --print-job: give it to kubesim explore merge")
    subject = subject_of(args, args.files[0])
    settings_of(args)  # refuses wrong flags here, not in a hundred pods
    documents = subject.documents()
    text = text_of(documents) if "include" in (documents[0].get("spec") or {}) else subject.text
    if len(text.encode()) > MOST_TEXT:
        raise UsageError(f"{args.files[0]} is larger than 1 MiB, the limit of a ConfigMap")
    completions = args.completions or COMPLETIONS
    parallelism = args.parallelism or completions
    flags = tuple(_flags(args))
    settings = JobSettings(completions, parallelism, args.image or "", args.claim or "", flags)
    name = _NO_NAME.sub("-", subject.name.lower()).strip("-") or "scenario"
    print("---\n".join(to_yaml(each, in_order=True) for each in job_objects(name, text, settings)), end="")
    if sys.stdout.isatty():
        warn("this is for kubectl: repeat the command with | kubectl apply -f -")
    return 0


def _flags(args: argparse.Namespace) -> Iterator[str]:
    """The flags of the search, as the pods get them."""
    from kubesim.cli.flags import options

    runs, seconds = args.budget or (None, None)
    gates = options.feature_gates(args) or {}
    values = {
        "budget": str(runs) if runs is not None else f"{seconds:g}s" if seconds is not None else None,
        "faults": ",".join(args.faults) if args.faults else None,
        "invariants": ",".join(args.invariants) if args.invariants else None,
        "profile": options.profile(args),
        "seed": options.seed(args),
        "feature-gates": ",".join(f"{name}={str(value).lower()}" for name, value in gates.items()) or None,
    }
    for name, value in values.items():
        if value is not None:
            yield from (f"--{name}", str(value))
