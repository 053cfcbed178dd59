"""static_pod: manifests, and the static pods or errors of a file or url source."""

from __future__ import annotations

import re
from typing import Any

from kubesim.api.pod import Pod
from kubesim.conformance.frame import differences
from kubesim.conformance.narrowing import same_error, without_generated_uids
from kubesim.sources.manifests.static_pod import Manifest, StaticPods, manifest_text, read_manifest


def play(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    text = manifest_text(given["manifest"].encode(errors="surrogateescape"))
    result = read_manifest(Manifest(given["source"], given["path"], given["nodeName"], text))
    if result.error:
        output = {"parsed": result.parsed, "error": result.error}
        return {**output, "singleError": result.single_error} if result.single_error else output
    return _pods(result)


def _pods(result: StaticPods) -> dict[str, Any]:
    output: dict[str, Any] = {"parsed": result.parsed, "pods": [_pod(pod) for pod in result.pods]}
    return {**output, "list": True} if result.is_list else output


def _pod(pod: Pod) -> dict[str, Any]:
    whole = pod.to_json()
    fields = {
        "name": pod.metadata.name,
        "namespace": pod.metadata.namespace,
        "uid": pod.metadata.uid,
        "annotations": pod.metadata.annotations,
        "nodeName": pod.spec.node_name,
        "phase": pod.status.phase,
        "tolerations": whole["spec"].get("tolerations"),
        "pod": whole,
    }
    return {name: value for name, value in fields.items() if value}


def judge(case: dict[str, Any], expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """Equality, except for generated uids and parser messages as in `narrowing`."""
    if "error" in expected:
        return _judge_error(expected, actual)
    given = re.search(r'\buid"?: *"?([^\s",}]+)', case["input"]["manifest"])
    marked = [
        {**output, "pods": [without_generated_uids(pod, given[1] if given else "") for pod in output.get("pods", ())]}
        for output in (expected, actual)
    ]
    marked[0].pop("uidHashDump", None)
    return list(differences(marked[0], marked[1]))


def _judge_error(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    found = list(differences({"parsed": expected["parsed"]}, {"parsed": actual["parsed"]}))
    truncated = expected.get("errorTruncated", False)
    for name in ("error", "singleError"):
        if name in expected and not same_error(expected[name], actual.get(name, ""), truncated=truncated):
            found += differences({name: expected[name]}, {name: actual.get(name, "")})
    return found
