"""Loads a `Scenario` from a file, or reports the mistake with its line and field.

Files hold YAML documents: at most one of kind Scenario, and any number of plain Kubernetes objects (also in lists),
which are applied at time 0 after the scenario's own. Files with only objects are a scenario with defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from kubesim.errors import FileLine, InputError, UsageError
from kubesim.features import FeatureGates
from kubesim.scenario.language.document import API_VERSION, Scenario
from kubesim.scenario.language.nodes.node_items import UNSTARTABLE
from kubesim.scenario.language.strict import INSIDE, NO_NODE, Located
from kubesim.scenario.load.host_access import KUBELET_CONFIGURATION, host_fields, refusal
from kubesim.scenario.load.manifests import ManifestProblem, field_name, find_patch_problems, find_problems
from kubesim.scenario.load.objects import CustomKinds, custom_kinds, items_of
from kubesim.scenario.load.overlay import ERROR as INVALID_CONFIGURATION
from kubesim.scenario.load.overlay import Overlay
from kubesim.scenario.load.text_files import STANDARD_INPUT, read_text
from kubesim.scenario.load.yaml_source import Marked, Path, read_documents
from kubesim.values import replace, value_object

if TYPE_CHECKING:
    from kubesim.scenario.load.assembly.added import AddedItem
    from kubesim.scenario.load.assembly.matrix import Cell

INCLUDE = "include"
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


@value_object
class SourceText:
    """The text of a file. `source` is its name in errors; relative paths in it start at `directory`."""

    text: str
    source: str
    directory: str = ""


def load_scenario(
    path: str, feature_gates: Mapping[str, bool] | None = None, overlay: Overlay | None = None, *, strict: bool = False
) -> Scenario:
    """Load a scenario or plain manifests from a file; "-" is standard input. Raises InputError.

    The feature gates override those of the scenario; GateError if a kubelet would not start with them. `overlay` are
    the other kubelet settings of the command line. `strict` rejects objects that have no effect in kubesim.
    """
    return load_scenarios([path], feature_gates, overlay, strict=strict)


def load_scenarios(
    paths: Sequence[str],
    feature_gates: Mapping[str, bool] | None = None,
    overlay: Overlay | None = None,
    *,
    name: str = "",
    strict: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> Scenario:
    """Load one scenario from several files; `name` is its name if no file sets one.

    `warn` gets a line for each likely mistake that kubectl accepts.
    """
    texts = [read_source(path) for path in paths]
    overlay = overlay or Overlay(gates=feature_gates or {})
    parser = ScenarioParser(texts, feature_gates or {}, overlay, strict)
    for error in parser.repeated:
        warn(f"{error}; the last one counts")
    return parser.scenario(name or default_name(texts[0].source))


def read_source(path: str) -> SourceText:
    if path == STANDARD_INPUT:
        return SourceText(read_text(path, "standard input"), "standard input")
    if os.path.isdir(path):
        raise InputError(path, "is a directory; give a file, or -f with the directory to apply all of its manifests")
    return SourceText(read_text(path, path), path, os.path.dirname(path))


def load_runs(
    paths: Sequence[str],
    feature_gates: Mapping[str, bool] | None = None,
    overlay: Overlay | None = None,
    *,
    name: str = "",
    strict: bool = False,
    warn: Callable[[str], None] = lambda text: None,
    has_seed: bool = False,
    added: Sequence[AddedItem] = (),
) -> list[tuple[str, Scenario]]:
    """The runs of one scenario with the names of their cells: several with a matrix, otherwise one without a name.

    The arguments are those of `load_scenarios`. If `has_seed`, the seed of the caller replaces those of a matrix; a
    profile in `overlay` replaces its profiles. `added` are items after those of the files.
    """
    texts = [read_source(path) for path in paths]
    overlay = overlay or Overlay(gates=feature_gates or {})
    parser = ScenarioParser(texts, feature_gates or {}, overlay, strict)
    for error in parser.repeated:
        warn(f"{error}; the last one counts")
    name = name or default_name(texts[0].source)
    parser = parser.with_items(added, name) if added else parser
    scenario = parser.scenario(name)
    if scenario.spec.matrix is None:
        return [("", scenario)]
    from kubesim.scenario.load.assembly.matrix import cells

    found = cells(scenario.spec.matrix, seeds=not has_seed, profiles=overlay.profile is None)
    return [(cell.name, _cell_scenario(parser, cell, name)) for cell in found]


def _cell_scenario(parser: ScenarioParser, cell: Cell, name: str) -> Scenario:
    try:
        return parser.cell(cell).scenario(name).with_cell(cell.name)
    except InputError as error:
        problem = f"{error.problem} (with {cell.name})"
        raise InputError(error.source, problem, line=error.line, field=error.field) from None


def parse_scenario(
    text: str, source: str, feature_gates: Mapping[str, bool] | None = None, overlay: Overlay | None = None
) -> Scenario:
    """Load the scenario from a text; `source` names it in errors and, without a Scenario document, is its name."""
    overlay = overlay or Overlay(gates=feature_gates or {})
    directory = overlay.directory
    return ScenarioParser([SourceText(text, source, directory)], feature_gates or {}, overlay, strict=False).scenario(
        default_name(source)
    )


class ScenarioParser:
    """Parses the documents of several texts into one scenario. Raises the first mistake."""

    def __init__(
        self, texts: Sequence[SourceText], settings: Mapping[str, bool], overlay: Overlay, strict: bool
    ) -> None:
        self._texts = texts
        self._settings = settings
        self._overlay = overlay
        self._strict = strict
        self._scenario: Document | None = None
        self._manifests: list[Document] = []
        self.repeated: list[InputError] = []  # keys that are set twice
        documents = [
            Document(document, text)
            for text in texts
            for document in read_documents(text.text, text.source, keep_last=not strict)
        ]
        for document in documents:
            self._sort(document)
        self._include()
        if not documents:
            raise InputError(texts[0].source, "it is empty: it has no Scenario and no Kubernetes objects")

    def _sort(self, document: Document) -> None:
        value, source, line = document.marked.value, document.text.source, document.marked.line
        if not isinstance(value, dict):
            self.refuse(InputError(source, "a document must be a mapping with apiVersion and kind", line=line))
        elif not is_scenario(value):
            self._manifests.append(document)
            self.repeated += document.marked.repeated
        elif self._scenario is None:
            self._scenario = document
            for error in document.marked.repeated:
                self.refuse(error)
        else:
            first = self._scenario.text.source
            where = "a file has one" if first == source else f"a run has one, but {first} has another"
            self.refuse(InputError(source, f"a second Scenario; {where}", line=line))

    def refuse(self, error: UsageError) -> None:
        """Report a mistake. A subclass that collects all mistakes overrides this."""
        raise error

    def validated(self, document: Document, overlay: Overlay) -> tuple[Document, Scenario]:
        """The document and its scenario, validated by the types."""
        try:
            return document, validate(document.value, overlay)
        except ValidationError as error:
            raise explain(error.errors(include_url=False)[0], document, overlay) from None

    def _include(self) -> None:
        """Merge the included files into the scenario's document."""
        document = self._scenario
        if document is None or INCLUDE not in _mapping(document.marked.value.get("spec")):
            return
        from kubesim.scenario.load.assembly.include import Includes

        text, keep_last = document.text, not self._strict

        def read(path: str) -> list[Marked]:
            return read_documents(read_text(path, path), path, keep_last=keep_last)

        includes = Includes(text.source, text.directory, read, outside=self._overlay.allow_host)
        self._scenario = Document(includes.resolve(document.marked, text.source, text.directory), text)
        for path, manifest in includes.manifests:
            self._manifests.append(Document(manifest, SourceText("", path, os.path.dirname(path))))

    def cell(self, cell: Cell) -> ScenarioParser:
        """A copy with the values of a matrix cell. Raises InputError."""
        from kubesim.scenario.load.assembly.matrix import NoSuchPath, with_values

        document = self._scenario
        assert document is not None
        documents = [document, *self._manifests]
        try:
            values = with_values([each.marked.value for each in documents], cell)
        except NoSuchPath as error:
            line = document.marked.line_of(("spec", "matrix", "values"))
            raise InputError(document.text.source, str(error), line=line, field="spec.matrix.values") from None
        changed = copy(self)
        changed._scenario, *changed._manifests = [
            Document(each.marked.holding(value), each.text) for each, value in zip(documents, values, strict=True)
        ]
        return changed

    def with_items(self, items: Sequence[AddedItem], name: str) -> ScenarioParser:
        """A copy with these items after those of the files."""
        from kubesim.scenario.load.assembly.added import with_items

        given = {"apiVersion": API_VERSION, "kind": "Scenario", "metadata": {"name": name}}
        document = self._scenario or Document(Marked(given, 1), self._texts[0])
        changed = copy(self)
        changed._scenario = Document(with_items(document.marked, items), document.text)
        return changed

    @property
    def documents(self) -> list[Any]:
        """The values of the documents: the scenario's first, if there is one, with what it includes."""
        return [each.value for each in ([self._scenario] if self._scenario else []) + self._manifests]

    def scenario(self, name: str) -> Scenario:
        written, unnamed = self._scenario, Marked({"metadata": {"name": name}}, 1)
        document = written or Document(unnamed, self._texts[0])
        overlay = replace(self._overlay, directory=document.text.directory)
        if written is not None and document.value.get("kind") != "Scenario":
            self.refuse(document.error(("kind",), f"{API_VERSION} has the kind Scenario"))
        document, validated = self.validated(document, overlay)
        scenario = validated.with_feature_gates(self._settings)
        _set_locations(scenario, document)
        if written is not None and not overlay.allow_host:
            self._check_host_access(document, scenario, overlay)
        objects = [item for each in self._manifests for item in items_of(each.value)]
        known = custom_kinds(item for _, item in (*objects, *_applied(scenario)))
        if written is not None:
            _Checker(document, scenario.gates, known, self._strict, self.refuse).check_scenario(scenario)
        for each in self._manifests:
            _Checker(each, scenario.gates, known, self._strict, self.refuse).check_items(())
        whole = scenario.with_objects(tuple(item for _, item in objects))
        if written is not None and (whole.spec.expect or whole.spec.behaviours or whole.spec.dependencies):
            _Checker(document, scenario.gates, known, self._strict, self.refuse).check_expectations(whole)
        return whole

    def _check_host_access(self, document: Document, scenario: Scenario, overlay: Overlay) -> None:
        overridden = overlay.from_flags | {(KUBELET_CONFIGURATION, name) for name in overlay.flags}
        for path in host_fields(document.value.get("spec") or {}, scenario.spec, overridden):
            self.refuse(document.error(("spec", *path), refusal(path)))


def _set_locations(scenario: Scenario, document: Document) -> None:
    """Set the positions of steps, expectations and faults in the file."""
    spec = scenario.spec
    items: Mapping[str, Sequence[Located]] = {"steps": spec.steps, "expect": spec.expect, "faults": spec.faults}
    for name, listed in items.items():
        for number, item in enumerate(listed):
            line = document.position_of(("spec", name, number))[0]
            item.put(line.source if isinstance(line, FileLine) else document.text.source, line)


def _applied(scenario: Scenario) -> Iterator[tuple[Path, Any]]:
    for manifest in scenario.spec.objects:
        yield from items_of(manifest)


@value_object
class Document:
    """A document of a file. If invalid parts were removed, `left` is the valid rest, and `kept` has the original
    indexes of its list items."""

    marked: Marked
    text: SourceText
    left: Any = None
    kept: Mapping[Path, Sequence[int]] = field(default_factory=dict)

    @property
    def value(self) -> Any:
        return self.marked.value if self.left is None else self.left

    def written(self, path: Path) -> Path:
        """The path in the original file."""
        whole: Path = ()
        for step in path:
            whole = (*whole, self.kept[whole][step] if isinstance(step, int) and whole in self.kept else step)
        return whole

    def position_of(self, path: Path) -> tuple[int, int]:
        return self.marked.position_of(self.written(path))

    def error(self, path: Path, text: str) -> InputError:
        line, column = self.position_of(path)
        name = field_name(self.written(path))
        return InputError(self.text.source, text, line=line, field=name, column=column)


@value_object
class _Checker:
    """Checks the objects of one document."""

    document: Document
    gates: FeatureGates
    customs: CustomKinds
    strict: bool
    refuse: Callable[[UsageError], None]

    def check_scenario(self, scenario: Scenario) -> None:
        spec = scenario.spec
        for n in range(len(spec.objects)):
            self.check_items(("spec", "objects", n))
        for n, step in enumerate(spec.steps):
            path = ("spec", "steps", n)
            if step.apply is not None:
                self.check_items((*path, "apply"))
            if step.patch is not None:
                for problem in find_patch_problems(step.patch.kind, step.patch.patch):
                    self._refuse((*path, "patch", "patch"), problem)
            if spec.duration is not None and step.at is not None and step.at >= spec.duration:
                self._refuse(path, ManifestProblem(("at",), "is not before the end of the run (spec.duration)"))
            if spec.duration is not None and step.by is not None and step.by > spec.duration:
                self._refuse(path, ManifestProblem(("by",), "is after the end of the run (spec.duration)"))
            if step.upgrade is not None and (why := spec.why_not_upgraded(step.upgrade.kubelet)):
                self._refuse(path, ManifestProblem(("upgrade",), why))
            if step.write_static_pod is not None and isinstance(step.write_static_pod.manifest, dict):
                self._check_pods((*path, "writeStaticPod", "manifest"))
            if step.serve_manifest is not None:
                self._check_answer((*path, "serveManifest"))
        for name, manifest in spec.sources.file.manifests.items():
            if isinstance(manifest, dict):
                self._check_pods(("spec", "sources", "file", "manifests", name))
        if spec.sources.http is not None:
            self._check_answer(("spec", "sources", "http"))

    def check_expectations(self, scenario: Scenario) -> None:
        """Check names and times in the expectations of a scenario that has all its objects."""
        from kubesim.scenario.names.check import expectation_problems  # most manifests have no expectations

        for problem in expectation_problems(scenario.spec):
            self._refuse(("spec",), problem)

    def _check_answer(self, path: Path) -> None:
        """Check the pods that a URL answers, single or in a list; an answer given as text may be invalid."""
        answer = _at(self.document.value, path)
        for n in range(len(answer.get("manifests", ()))):
            self._check_pods((*path, "manifests", n))
        if isinstance(answer.get("manifest"), dict):
            self._check_pods((*path, "manifest"))

    def _check_pods(self, path: Path) -> None:
        """Check pods that a kubelet reads from a file or a URL."""
        for more, item in items_of(_at(self.document.value, path)):
            kind = item.get("kind") if isinstance(item, dict) else None
            if isinstance(kind, str) and kind != "Pod":
                self._refuse((*path, *more), ManifestProblem(("kind",), f"a kubelet reads only pods, not {kind!r}"))
        self.check_items(path)

    def check_items(self, path: Path) -> None:
        """Check the object at this path, or the items of a list."""
        for more, item in items_of(_at(self.document.value, path)):
            for problem in find_problems(item, self.gates, self.customs, strict=self.strict):
                self._refuse((*path, *more), problem)

    def _refuse(self, path: Path, problem: ManifestProblem) -> None:
        self.refuse(self.document.error((*path, *problem.path), problem.text))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def default_name(source: str) -> str:
    """The name of a scenario that sets none."""
    return os.path.basename(source).rpartition(".")[0] or os.path.basename(source) or "scenario"


def is_scenario(document: dict[str, Any]) -> bool:
    """Whether a document is a scenario, by its kind or its group."""
    return document.get("kind") == "Scenario" or str(document.get("apiVersion", "")).startswith("kubesim.dev/")


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def validate(value: Any, overlay: Overlay) -> Scenario:
    """Raises ValidationError."""
    return Scenario.model_validate({"spec": {}, **value}, context=overlay.context)


def explain(details: ErrorDetails, document: Document, overlay: Overlay) -> UsageError:
    """One mistake that the types found, as an error for the user."""
    path = path_of(details, document)
    if details["type"] == INVALID_CONFIGURATION:
        return _invalid_configuration(path, details["msg"], document, overlay)
    text = _MESSAGES.get(details["type"], details["msg"][:1].lower() + details["msg"][1:])
    if details["type"] == "literal_error":
        text = f"must be {details['ctx']['expected']}, not {details['input']!r}"
    return document.error(path, text)


def path_of(details: ErrorDetails, document: Document) -> Path:
    """The path of a mistake in the document."""
    path = tuple(step for step in details["loc"] if isinstance(step, str | int) and step != "[key]")
    context: dict[str, Any] = details.get("ctx", {})
    if details["type"] == INVALID_CONFIGURATION:
        return (*CONFIGURATION, *context["path"])
    if details["type"] == "unknown_field":
        path = (*path, context["field"])
    if details["type"] in (UNSTARTABLE, INSIDE, NO_NODE):
        path = (*path, *context["path"])
    return _shown(path, document.value, details["type"] in ("missing", UNSTARTABLE, INSIDE, NO_NODE))


def _invalid_configuration(path: Path, text: str, document: Document, overlay: Overlay) -> UsageError:
    """The error for a mistake in the kubelet configuration, with the scenario, file or flag that has the value."""
    blamed = overlay.blame(path[len(CONFIGURATION) :], text)
    if blamed is not None and not _is_in(document.value, path[: len(CONFIGURATION) + 1]):
        return blamed
    return document.error(path, text)


def _is_in(value: Any, path: Path) -> bool:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _shown(path: Path, value: Any, may_be_absent: bool) -> Path:
    """The path without the steps that short forms and unions add; the last step may be a missing field."""
    shown: list[str | int] = []
    for position, step in enumerate(path):
        inside: Any = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
        if step in inside:
            value = value[step]
        elif position < len(path) - 1 or not may_be_absent or not isinstance(value, dict):
            break
        shown.append(step)
    return tuple(shown)
