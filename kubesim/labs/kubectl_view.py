"""The output of `kubectl get` at one time of a lab's run: `get pods`, `get endpointslices -o custom-columns=...`."""

from __future__ import annotations

import shlex

from kubesim.cluster.kubectl.arguments import KubectlError, targets
from kubesim.cluster.kubectl.printing import TableStyle, custom_columns, table
from kubesim.cluster.saved.history import RunHistory
from kubesim.cluster.saved.moment import ClusterMoment, ObjectSelection
from kubesim.errors import UsageError

_COLUMNS = "custom-columns="


def kubectl_lines(history: RunHistory, command: str, t: int) -> list[str]:
    """The output at a time of the run, in microseconds. Raises UsageError for a command that cannot be shown."""
    words, columns, everywhere = _arguments(command)
    moment = ClusterMoment(history, t)
    namespace = None if everywhere else "default"
    try:
        resources = [target.resource for target in targets(words, moment.custom_resources())]
        found = [
            (resource, objects)
            for resource in resources
            if (objects := moment.list(resource, ObjectSelection(namespace if resource.namespaced else None)))
        ]
        if columns:
            printed = [custom_columns(columns, [obj for _, objects in found for obj in objects])] if found else []
        else:
            styles = [TableStyle(with_namespace=everywhere and resource.namespaced) for resource, _ in found]
            printed = [
                table(resource, objects, moment.now, style)
                for (resource, objects), style in zip(found, styles, strict=True)
            ]
    except KubectlError as error:
        raise UsageError(f"kubectl {command}: {str(error).removeprefix('error: ')}") from None
    return "\n".join(printed).rstrip("\n").splitlines() or ["No resources found"]


def _arguments(command: str) -> tuple[list[str], str, bool]:
    """The types, the columns of `-o custom-columns=`, and whether `-A` is set."""
    try:
        verb, *rest = shlex.split(command)
    except ValueError:
        verb, rest = "", []
    everywhere = "-A" in rest
    rest = [word for word in rest if word != "-A"]
    columns = ""
    if "-o" in rest[:-1]:
        at = rest.index("-o")
        columns = rest[at + 1].removeprefix(_COLUMNS)
        rest = rest[:at] + rest[at + 2 :]
    if verb != "get" or len(rest) != 1 or rest[0].startswith("-"):
        raise UsageError(f"kubectl {command}: only `get TYPE`, with -A or -o custom-columns=..., can be shown in a lab")
    return rest, columns, everywhere
