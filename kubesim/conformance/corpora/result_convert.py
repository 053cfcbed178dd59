"""result_convert: results, errors and versions, decoded, converted and compared; names validated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.gocni_result import create_result
from kubesim.cni.spec.results import (
    AnyResult,
    Result,
    convert,
    create_from_bytes,
    current,
    plain,
    print_result,
    result_of_plugin,
)
from kubesim.cni.spec.validation import validate_container_id, validate_interface_name, validate_network_name
from kubesim.cni.spec.versions import at_least, decode_plugin_info, decode_version, greater_than
from kubesim.conformance.cni_cases import error_json, judge_either
from kubesim.errors import CniError
from kubesim.golang.json import dumps
from kubesim.golang.structs import ANYTHING, Slice, unmarshal

judge = judge_either


def play(case: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = _KINDS[case["kind"]](case)
    return out


def _convert(case: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    try:
        result = create_from_bytes(case["result"].encode("utf-8", "surrogatepass"))
    except CniError as error:
        return {"stage": "parse", "error": error_json(error)}
    out |= {"parsed_version": result.version, "parsed": plain(result.to_json())}
    try:
        converted = convert(result, case["to"])
    except CniError as error:
        return out | {"stage": "convert", "error": error_json(error)}
    return out | {"converted": plain(converted.to_json()), "print": print_result(converted)}


def _exec_result(case: dict[str, Any]) -> dict[str, Any]:
    try:
        version = decode_version(case["conf"].encode())
        result = result_of_plugin(version, case["stdout"].encode("utf-8", "surrogatepass"))
    except CniError as error:
        return {"error": error_json(error)}
    out = {"version": result.version, "result": plain(result.to_json())}
    return out | _current(result)


def _current(result: AnyResult) -> dict[str, Any]:
    try:
        return {"current": plain(current(result).to_json())}
    except CniError as error:
        return {"current_error": error_json(error)}


def _plugin_error(case: dict[str, Any]) -> dict[str, Any]:
    stdout, stderr = (case[key].encode("utf-8", "surrogateescape") for key in ("stdout", "stderr"))
    return {"error": error_json(plugin_failure(f"exit status {case['exit']}", stdout, stderr))}


def _version_decode(case: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"supported": list(decode_plugin_info(case["stdout"].encode()))}
    except CniError as error:
        return {"error": error_json(error)}


_VALIDATE: dict[str, Callable[[str], None]] = {
    "container_id": validate_container_id,
    "network_name": validate_network_name,
    "ifname": validate_interface_name,
}


def _validate(case: dict[str, Any]) -> dict[str, Any]:
    try:
        _VALIDATE[case["what"]](case["value"])
    except CniError as error:
        return {"error": error_json(error)}
    return {"error": None}


def _version_compare(case: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"gte": at_least(case["a"], case["b"]), "gt": greater_than(case["a"], case["b"])}
    except CniError as error:
        return {"error": error_json(error), "gte": False, "gt": False}


def _gocni_result(case: dict[str, Any]) -> dict[str, Any]:
    try:
        results = []
        for entry in unmarshal(Slice(ANYTHING), case["result"].encode()):
            result = create_from_bytes(dumps(entry).encode())
            assert isinstance(result, Result)
            results.append(result)
        return {"result": create_result(results, "eth0").to_json()}
    except CniError as error:
        return {"error": error_json(error)}


_KINDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "convert": _convert,
    "exec_result": _exec_result,
    "plugin_error": _plugin_error,
    "version_decode": _version_decode,
    "validate": _validate,
    "version_compare": _version_compare,
    "gocni_result": _gocni_result,
}
