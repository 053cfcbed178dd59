"""Reads the configuration of a node's kubelet from a file, or from the kubelet's `/configz`.

One GET through the API server's node proxy reaches `/configz`. Only the fields in `USED` are decoded, so that kubelets
of other versions, with other fields, can be read too. The answer is never printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.attach.explain.periods import KubeletPeriods, configured_periods
from kubesim.cluster.remote.answers import decode_json
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, Transport, configz_path, read_all
from kubesim.errors import GateError, ReadOnlyError, TransportError, UsageError
from kubesim.features import FeatureGates, configured_gates, known_gates
from kubesim.kubeletconfig.decode import ConfigurationProblem, read_configuration
from kubesim.kubeletconfig.rules import check_configuration
from kubesim.scenario.load.overlay import make_overlay

USED = ("syncFrequency", "nodeLeaseDurationSeconds", "crashLoopBackOff", "featureGates")
TIMEOUT_S = 10.0
_RIGHT = "verb get on resource nodes/proxy"


def periods_from_file(path: str) -> KubeletPeriods:
    """The periods of a KubeletConfiguration in a file. Raises UsageError with the file, line and field."""
    overlay = make_overlay(path)
    try:
        return _periods(overlay.base)
    except ConfigurationProblem as problem:
        raise overlay.blame(problem.path, problem.text) or UsageError(f"{path}: {problem}") from None


async def periods_from_node(transport: Transport, node: str) -> KubeletPeriods:
    """The periods of this node's running kubelet. Raises UsageError with the server's answer."""
    call = Call("get", configz_path(node), timeout_s=TIMEOUT_S)
    try:
        async with ReadOnlyTransport(transport).open(call) as reply:
            body = await read_all(reply)
    except (TransportError, ReadOnlyError) as error:
        raise UsageError(f"--configz: {error}") from None
    if reply.status == 403:
        raise UsageError(
            f"--configz: the API server refuses GET {call.path}: it needs the {_RIGHT}; "
            "`kubesim attach --print-rbac --configz` prints it"
        )
    if reply.status == 404:
        raise UsageError(f"--configz: the cluster has no node {node}, or its kubelet does not serve /configz")
    if reply.status != 200:
        raise UsageError(f"--configz: the kubelet of node {node} cannot be reached: answer {reply.status}")
    try:
        given = decode_json(body)["kubeletconfig"]
        return _periods(given)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"--configz: the answer of node {node} is not a kubelet's /configz") from None
    except ConfigurationProblem as problem:
        raise UsageError(f"--configz: node {node}: {problem}") from None


def _periods(given: Mapping[str, Any]) -> KubeletPeriods:
    values = read_configuration({name: given[name] for name in USED if given.get(name) is not None})
    gates = _gates(values["featureGates"] or {})
    for problem in check_configuration(values, gates):
        raise problem
    return configured_periods(values, gates)


def _gates(settings: Mapping[str, bool]) -> FeatureGates:
    """The gates that these rules know. A kubelet of another version has other gates, and locks other ones."""
    known = known_gates()
    kept = {name: on for name, on in settings.items() if name in known and not known[name].locked}
    try:
        return configured_gates(kept)
    except GateError as error:
        raise ConfigurationProblem(("featureGates",), str(error)) from None
