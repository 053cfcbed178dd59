"""`ExploreSubject`: the scenario that is explored, as values that any process can load it from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubesim.api.timestamps import MINUTE
from kubesim.errors import UsageError
from kubesim.explore.choice import Choice
from kubesim.scenario.language.document import API_VERSION, NAMES, STRICT, Invariants, Scenario
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.language.variation.choice_items import ChoiceItem
from kubesim.scenario.load.loader import ScenarioParser, SourceText, default_name, is_scenario, read_source
from kubesim.scenario.load.overlay import Overlay
from kubesim.values import replace, value_object

CHECKS = (*NAMES, "convergence", "expectations")
TIMEOUT = 15 * MINUTE  # longer than any back-off: what has not converged by then never will
_LASTING = ("condition", "ready", "gone", "exists", "endpoints")  # questions about a state to which a pod returns


@value_object
class ExploreSubject:
    """A scenario by its text, with the settings of the command line that override it. `checked` are the names of the
    checks: invariants, `convergence` and `expectations`."""

    source: str
    text: str
    directory: str
    name: str
    profile: str | None = None
    gates: tuple[tuple[str, bool], ...] = ()
    seed: int | None = None
    checked: tuple[str, ...] = CHECKS

    @staticmethod
    def of_file(path: str, **settings: Any) -> ExploreSubject:
        """Raises UsageError for a mistake in the file, or a scenario that cannot be explored."""
        source = read_source(path)
        subject = ExploreSubject(source.source, source.text, source.directory, default_name(source.source), **settings)
        subject.check()
        return subject

    def scenario(self) -> Scenario:
        return _scenario(self)

    def documents(self) -> list[Any]:
        """The documents of the file with what it includes; the scenario's is the first, and may be without a spec."""
        documents = self._parser().documents
        if not documents or not is_scenario(documents[0]):
            documents = [{"apiVersion": API_VERSION, "kind": "Scenario", "metadata": {"name": self.name}}, *documents]
        return documents

    def _parser(self) -> ScenarioParser:
        gates = dict(self.gates)
        text = SourceText(self.text, self.source, self.directory)
        return ScenarioParser([text], gates, Overlay(gates=gates, profile=self.profile), strict=False)

    def check(self) -> None:
        spec = self.scenario().spec
        if spec.runtime != "simulated":
            raise UsageError(f"{self.source}: only runtime simulated can be explored: real plugins are not repeatable")
        if spec.sources.apiserver is not None:
            raise UsageError(f"{self.source}: a live cluster cannot be explored: remove sources.apiserver")
        if spec.matrix is not None:
            raise UsageError(f"{self.source}: the file has a matrix, but explore runs one cell: remove spec.matrix")

    def must_converge(self) -> bool:
        """Whether the file requires it; without faults, pods of other files may never become ready."""
        return self.scenario().spec.converges_within is not None

    def not_checking(self, name: str) -> ExploreSubject:
        return replace(self, checked=tuple(each for each in self.checked if each != name))

    def played(self, choices: Sequence[Choice]) -> Scenario:
        """The scenario with these choices, and with the invariants that are to be checked."""
        scenario = self.scenario()
        faults = tuple(FaultItem.model_validate(choice.item) for choice in choices if not choice.is_draw)
        drawn = tuple(ChoiceItem.model_validate(choice.item) for choice in choices if choice.is_draw)
        given = scenario.spec.invariants
        off = tuple(name for name in NAMES if name not in self.checked or name in (*given.disabled, *given.violated))
        update: Mapping[str, Any] = {
            "faults": (*scenario.spec.faults, *faults),
            "choices": (*scenario.spec.choices, *drawn),
            "invariants": Invariants(disabled=off, added=tuple(name for name in STRICT if name not in off)),
            "expect": tuple(map(relaxed, filter(survives_faults, scenario.spec.expect))),
        }
        if "convergence" in self.checked:
            update = {**update, "converges_within": scenario.spec.converges_within or TIMEOUT}
        if "expectations" not in self.checked:
            update = {**update, "expect": ()}
        return scenario.model_copy(update={"spec": scenario.spec.model_copy(update=update)})


@lru_cache(maxsize=16)
def names_in(subject: ExploreSubject) -> frozenset[str]:
    """Names of containers and volumes, which are no part of a rule."""
    return frozenset(_names_in(subject.scenario().spec.objects))


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in ("containers", "initContainers", "ephemeralContainers", "volumes") and isinstance(item, list):
                yield from (each["name"] for each in item if isinstance(each, dict) and "name" in each)
            yield from _names_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _names_in(item)


def survives_faults(expect: Expect) -> bool:
    """Whether an expectation must also come true in a run with faults, at some time."""
    has_form = expect.never or expect.always or expect.order is not None
    has_period = expect.at is not None or expect.between is not None or expect.within is not None
    is_lasting = expect.asked in _LASTING and not str(expect.condition or "").endswith(("=False", "=Unknown"))
    return not has_form and not has_period and expect.count is None and is_lasting


def relaxed(expect: Expect) -> Expect:
    """The expectation without a deadline: faults take time."""
    return expect.model_copy(update={"by": None})


@lru_cache(maxsize=16)
def _scenario(subject: ExploreSubject) -> Scenario:
    return subject._parser().scenario(subject.name)
