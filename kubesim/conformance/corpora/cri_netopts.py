"""cri_netopts: the arguments that the CRI plugin passes to CNI for a pod, and the pod address that it selects."""

from __future__ import annotations

import json
from typing import Any

from kubesim.cni.pod_network import cni_namespace_opts, select_pod_ips
from kubesim.conformance.cni_cases import error_json, judge_either, pod_config
from kubesim.errors import CniError
from kubesim.golang.addresses import ip_from_text
from kubesim.golang.json import dumps

judge = judge_either


def play(case: dict[str, Any]) -> dict[str, Any]:
    if case["kind"] == "select_ips":
        return _select_ips(case)
    try:
        namespace = cni_namespace_opts(case["sandbox_id"], "", pod_config(case["pod"]))
    except CniError as error:
        return {"error": error_json(error), "setup_error": f"get cni namespace options: {error}"}
    raw = dumps(dict(namespace.capability_args))
    return {
        "error": None,
        "args": dict(namespace.args),
        "capability_args": json.loads(raw),
        "capability_args_raw": raw,
    }


def _select_ips(case: dict[str, Any]) -> dict[str, Any]:
    try:
        ip, additional = select_pod_ips([ip_from_text(text) for text in case["ips"]], case["preference"])
    except CniError as error:
        return {"error": error_json(error)}
    return {"ip": ip, "additional_ips": list(additional) or None}
