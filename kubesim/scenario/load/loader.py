"""A file -> a `Scenario`, or one line that says what is wrong, on which line, in which field.

A file holds YAML documents: at most one of kind Scenario, and any number of plain Kubernetes objects (also in a List),
which are applied at time 0 after the scenario's own. A file with only objects is a scenario with defaults.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from kubesim.errors import InputError, UsageError
from kubesim.features import FeatureGates
from kubesim.scenario.language.document import API_VERSION, Scenario
from kubesim.scenario.load import overlay
from kubesim.scenario.load.manifests import LISTS, field_name, find_problem
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.load.text_files import STANDARD_INPUT, read_text
from kubesim.scenario.load.yaml_source import Marked, Path, read_documents

CONFIGURATION = ("spec", "kubeletConfiguration")
_MESSAGES = {
    "missing": "is needed",
    "string_type": "must be text (put it in quotes)",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of fields",
}


def load_scenario(
    path: str, feature_gates: Mapping[str, bool] | None = None, around: Overlay | None = None
) -> Scenario:
    """Read a scenario or plain manifests from a file; "-" is standard input. Raises InputError.

    The feature gates go before those of the scenario; GateError if a kubelet would not start with them. `around` is
    what else the command line says about the kubelet.
    """
    source = "standard input" if path == STANDARD_INPUT else path
    around = around or Overlay(gates=feature_gates or {})
    if path != STANDARD_INPUT:
        around = replace(around, directory=os.path.dirname(path))
    return parse_scenario(read_text(path, source), source, feature_gates, around)


def parse_scenario(
    text: str, source: str, feature_gates: Mapping[str, bool] | None = None, around: Overlay | None = None
) -> Scenario:
    """The scenario in a text; `source` names it in errors and, without a Scenario document, names the scenario."""
    settings = feature_gates or {}
    around = around or Overlay(gates=settings)
    documents = read_documents(text, source)
    scenario: Scenario | None = None
    manifests: list[tuple[Marked, Path]] = []
    for document in documents:
        if not isinstance(document.value, dict):
            problem = "a document must be a mapping with apiVersion and kind"
            raise InputError(source, problem, line=document.line)
        if _is_scenario(document.value):
            if scenario is not None:
                raise InputError(source, "a second Scenario; a file has one", line=document.line)
            scenario = _scenario(document, source, settings, around)
        else:
            manifests.extend(_objects(document))
    if scenario is None and not manifests:
        raise InputError(source, "nothing in it: no Scenario and no Kubernetes objects")
    if scenario is None:
        scenario = _validated(Marked({"metadata": {"name": _name(source)}}, 1), source, around)
        scenario = scenario.with_feature_gates(settings)
    gates = scenario.gates
    for document, path in manifests:
        _check(document, path, source, gates)
    return scenario.with_objects(tuple(_at(document.value, path) for document, path in manifests))


def _name(source: str) -> str:
    return os.path.basename(source).rpartition(".")[0] or os.path.basename(source) or "scenario"


def _is_scenario(document: dict[str, Any]) -> bool:
    return document.get("kind") == "Scenario" or str(document.get("apiVersion", "")).startswith("kubesim.dev/")


def _objects(document: Marked) -> Iterator[tuple[Marked, Path]]:
    """The object of a document, or those in its list: the document, and the path in it."""
    if document.value.get("kind") in LISTS and isinstance(document.value.get("items"), list):
        for n in range(len(document.value["items"])):
            yield document, ("items", n)
    else:
        yield document, ()


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _validated(document: Marked, source: str, around: Overlay) -> Scenario:
    try:
        return Scenario.model_validate({"spec": {}, **document.value}, context=around.context)
    except ValidationError as error:
        raise _invalid(error, document, source, around) from None


def _scenario(document: Marked, source: str, settings: Mapping[str, bool], around: Overlay) -> Scenario:
    value = document.value
    if value.get("kind") != "Scenario":
        raise InputError(source, f"{API_VERSION} has the kind Scenario", line=document.line_of(("kind",)), field="kind")
    scenario = _validated(document, source, around).with_feature_gates(settings)
    gates = scenario.gates
    for n in range(len(scenario.spec.objects)):
        _check(document, ("spec", "objects", n), source, gates)
    for n, step in enumerate(scenario.spec.steps):
        if step.apply is not None:
            _check(document, ("spec", "steps", n, "apply"), source, gates)
        if step.write_static_pod is not None and isinstance(step.write_static_pod.manifest, dict):
            _check(document, ("spec", "steps", n, "writeStaticPod", "manifest"), source, gates)
        if step.serve_manifest is not None:
            _check_answer(document, ("spec", "steps", n, "serveManifest"), source, gates)
    for name, manifest in scenario.spec.sources.file.manifests.items():
        if isinstance(manifest, dict):
            _check(document, ("spec", "sources", "file", "manifests", name), source, gates)
    if scenario.spec.sources.http is not None:
        _check_answer(document, ("spec", "sources", "http"), source, gates)
    return scenario


def _check_answer(document: Marked, path: Path, source: str, gates: FeatureGates) -> None:
    """The pods that a url answers with, one by itself or in a list; what is given as text may be wrong."""
    answer = _at(document.value, path)
    for n in range(len(answer.get("manifests", ()))):
        _check(document, (*path, "manifests", n), source, gates)
    manifest = answer.get("manifest")
    if isinstance(manifest, dict):
        items = manifest.get("items") if manifest.get("kind") in LISTS else None
        inner: list[Path] = [()] if not isinstance(items, list) else [("items", n) for n in range(len(items))]
        for more in inner:
            _check(document, (*path, "manifest", *more), source, gates)


def _invalid(error: ValidationError, document: Marked, source: str, around: Overlay) -> UsageError:
    """The first mistake, in words."""
    details = error.errors(include_url=False)[0]
    path = tuple(step for step in details["loc"] if isinstance(step, str | int))
    context: dict[str, Any] = details.get("ctx", {})
    if details["type"] == overlay.ERROR:
        return _invalid_configuration(tuple(context["path"]), details["msg"], document, source, around)
    if details["type"] == "unknown_field":
        path = (*path, context["field"])
    path = _shown(path, document)
    text = _MESSAGES.get(details["type"], details["msg"][:1].lower() + details["msg"][1:])
    if details["type"] == "literal_error":
        text = f"must be {context['expected']}, not {details['input']!r}"
    return InputError(source, text, line=document.line_of(path), field=field_name(path))


def _invalid_configuration(inner: Path, text: str, document: Marked, source: str, around: Overlay) -> UsageError:
    """Of the kubelet configuration; told of the scenario, the file or the flag that says it."""
    path = (*CONFIGURATION, *inner)
    blamed = around.blame(inner, text)
    if blamed is not None and not _is_in(document, path[: len(CONFIGURATION) + 1]):
        return blamed
    return InputError(source, text, line=document.line_of(path), field=field_name(path))


def _is_in(document: Marked, path: Path) -> bool:
    value = document.value
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _shown(path: Path, document: Marked) -> Path:
    """Short forms and unions put steps into a path that nobody wrote."""
    shown: list[str | int] = []
    node: Marked | None = document
    for position, step in enumerate(path):
        inside = node.items if node is not None else None
        if inside is not None and step in inside:
            shown.append(step)
            node = inside[step]
        elif inside is not None and position == len(path) - 1:
            shown.append(step)
        else:
            break
    return tuple(shown)


def _check(document: Marked, path: Path, source: str, gates: FeatureGates) -> None:
    problem = find_problem(_at(document.value, path), gates)
    if problem is not None:
        whole = (*path, *problem.path)
        raise InputError(source, problem.text, line=document.line_of(whole), field=field_name(whole))
