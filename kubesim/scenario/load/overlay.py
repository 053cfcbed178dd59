"""Kubelet configuration from the command line: `--config` is overridden by the scenario, which flags override.

The types in the file of `--config` are checked separately, with its lines. Values with which a kubelet would not start
are found in the combined configuration, and reported for the layer that set them.

Mirrors: cmd/kubelet/app/server.go loadConfigFile, kubeletConfigFlagPrecedence; configfiles.go resolveRelativePaths
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from kubesim.errors import InputError, UsageError
from kubesim.kubeletconfig.decode import ConfigurationProblem, Path, dotted, read_configuration
from kubesim.kubeletconfig.flags import configuration_from_flags, flag_of
from kubesim.kubeletconfig.table import API_VERSION, KIND
from kubesim.scenario.load.kubelet_configuration import JITTER, KubeletConfiguration
from kubesim.scenario.load.text_files import read_text
from kubesim.scenario.load.yaml_source import Marked, read_documents
from kubesim.values import value_object

JsonObject = dict[str, Any]

CONTEXT = "overlay"
ERROR = "kubelet_configuration"
STATIC_POD_PATH = "staticPodPath"


@value_object
class Overlay:
    """Settings of the command line. `base` is the content of the file of `--config`, `document` the same with lines;
    `gates` are feature gates.

    Paths are relative to `directory`, that of the scenario. A scenario may use fields that access this machine if
    `allow_host`, or if a flag overrides the field (`from_flags`: paths below `spec`).
    """

    base: JsonObject = field(default_factory=dict)
    flags: JsonObject = field(default_factory=dict)
    gates: Mapping[str, bool] = field(default_factory=dict)
    source: str = ""
    document: Marked | None = None
    directory: str = ""
    allow_host: bool = False
    from_flags: frozenset[Path] = frozenset()
    profile: str | None = None  # of the command line; overrides that of the scenario

    @staticmethod
    def of(info: ValidationInfo) -> Overlay:
        """The overlay that validation was started with."""
        found = (info.context or {}).get(CONTEXT)
        return found if isinstance(found, Overlay) else Overlay()

    @property
    def context(self) -> dict[str, Overlay]:
        return {CONTEXT: self}

    def applied_to(self, own: KubeletConfiguration) -> KubeletConfiguration:
        laid = own.over(self.base) if self.base else own
        return laid.under(self.flags) if self.flags else laid

    def local(self, path: str) -> str:
        return os.path.join(self.directory, path) if path else ""

    def with_local_path(self, own: KubeletConfiguration) -> KubeletConfiguration:
        path = own.given.get(STATIC_POD_PATH)
        return own.under({STATIC_POD_PATH: self.local(path)}) if path else own

    def blame(self, problem: Path, text: str) -> UsageError | None:
        """The error for a value that a flag or the file set; None if neither did."""
        if _holds(self.flags, problem):
            flag = flag_of(problem)
            return UsageError(f"{flag or dotted(problem)}: {text.removesuffix(f' ({flag})')}")
        if _holds(self.base, problem) and self.document is not None:
            return InputError(self.source, text, line=self.document.line_of(problem), field=dotted(problem))
        return None


def _holds(given: JsonObject, path: Path) -> bool:
    """Whether the layer sets the top-level field of the path."""
    return bool(path) and path[0] in given


def read_in_scenario(value: Any) -> KubeletConfiguration:
    """The kubelet configuration of a scenario: fields of the real type, and `jitter`. Raises ConfigurationProblem."""
    if not isinstance(value, dict):
        raise ConfigurationProblem((), "must be a mapping of fields")
    given = dict(value)
    jitter = given.pop(JITTER, True)
    if not isinstance(jitter, bool):
        raise ConfigurationProblem((JITTER,), f"must be true or false, not {jitter!r}")
    return KubeletConfiguration(given, jitter)


def configuration_error(problem: ConfigurationProblem) -> PydanticCustomError:
    """The problem as a validation error; `loader.py` adds the line."""
    return PydanticCustomError(ERROR, "{problem}", {"problem": problem.text, "path": problem.path})


def make_overlay(
    path: str | None, flags: Mapping[str, list[str]] | None = None, gates: Mapping[str, bool] | None = None
) -> Overlay:
    """The overlay for the file of `--config` and the values of kubelet flags. Raises UsageError."""
    given = configuration_from_flags(flags or {})
    try:
        read_configuration(given)
    except ConfigurationProblem as problem:
        raise UsageError(f"{flag_of(problem.path) or dotted(problem.path)}: {problem.text}") from None
    _resolve_path(given, os.getcwd())
    if path is None:
        return Overlay(flags=given, gates=gates or {})
    document = _read_file(path)
    base = dict(document.value)
    _resolve_path(base, os.path.dirname(os.path.abspath(path)))
    return Overlay(base, given, gates or {}, path, document)


def _read_file(path: str) -> Marked:
    documents = read_documents(read_text(path, path), path)
    if not documents:
        raise InputError(path, f"it is empty; give a {KIND}")
    if len(documents) > 1:
        raise InputError(path, f"a second document; a file has one {KIND}", line=documents[1].line)
    [document] = documents
    value = document.value
    for name, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if not isinstance(value, dict) or value.get(name) != expected:
            line = document.line_of((name,)) if isinstance(value, dict) else document.line
            raise InputError(path, f"must be {expected}", line=line, field=name)
    try:
        read_configuration(value)
    except ConfigurationProblem as problem:
        line = document.line_of(problem.path)
        raise InputError(path, problem.text, line=line, field=dotted(problem.path)) from None
    return document


def _resolve_path(given: JsonObject, directory: str) -> None:
    """Resolve a path relative to the file that contains it."""
    if given.get(STATIC_POD_PATH):
        given[STATIC_POD_PATH] = os.path.join(directory, given[STATIC_POD_PATH])
