"""`DrivenCluster`: the `kubesim` fixture of the pytest plugin. A cluster in virtual time, controlled in the terms of
the scenario language.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from kubesim.api.pod import Pod
from kubesim.errors import InputError, UsageError
from kubesim.scenario.faults.make import fault_states
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.operations.fault_items import FaultItem
from kubesim.scenario.language.step_items import ACTIONS, Step
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.manifests import field_name, find_problem
from kubesim.scenario.load.objects import apply_order, items_of
from kubesim.scenario.load.text_files import read_text
from kubesim.scenario.load.yaml_source import read_documents
from kubesim.scenario.names.check import word_problems
from kubesim.testing.driven.asking import ask
from kubesim.testing.driven.driven_simulation import DrivenSimulation, Span, micros
from kubesim.testing.driven.traced import Trace
from kubesim.testing.snapshots import compare_snapshot, write_snapshot

Manifests = str | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]
TIMEOUT = "2m"


class DrivenClock:
    """Virtual time, which advances only on request."""

    def __init__(self, stage: DrivenSimulation) -> None:
        self._stage = stage

    @property
    def now(self) -> float:
        """Seconds since the start of the scenario."""
        return self._stage.simulation.clock.elapsed() / 1_000_000

    def advance(self, span: Span) -> None:
        """Advance time by `"1m30s"`, seconds, or a timedelta."""
        self._stage.advance(micros(span))


class DrivenNode:
    """One node: `stop("kubelet")`, `start`, `restart`, `reboot()`, `cordon()`, `drain()`, `pressure(...)`."""

    def __init__(self, name: str, step: Callable[..., None]) -> None:
        self.name = name
        self._step = step

    def stop(self, what: str, **fields: Any) -> None:
        self._step(stop={"what": what, "node": self.name, **_camel(fields)})

    def start(self, what: str, **fields: Any) -> None:
        self._step(start={"what": what, "node": self.name, **_camel(fields)})

    def restart(self, what: str, **fields: Any) -> None:
        """Restart a component; returns when it runs again."""
        self._step(restart={"what": what, "node": self.name, **_camel(fields)})

    def reboot(self, **fields: Any) -> None:
        """Reboot the machine; returns when it is up again."""
        self._step(reboot={"node": self.name, **_camel(fields)})

    def cordon(self) -> None:
        self._step(cordon=self.name)

    def uncordon(self) -> None:
        self._step(uncordon=self.name)

    def drain(self, **fields: Any) -> None:
        """Drain the node; returns when the pods are gone."""
        self._step(drain={"node": self.name, **_camel(fields)})

    def pressure(self, signals: Mapping[str, Any]) -> None:
        """Set resource signals: `{"memory.available": "60Mi"}`."""
        self._step(pressure={"node": self.name, **signals})


class DrivenFaults:
    """Faults of operations, as in `spec.faults`: `add(operation="PullImage", error="too many requests", times=2)`."""

    def __init__(self, stage: DrivenSimulation) -> None:
        assert stage.simulation.interceptor is not None
        self._states = stage.simulation.interceptor.faults

    def add(self, **fault: Any) -> None:
        """Add a fault, effective from now on."""
        self._states += fault_states([FaultItem.model_validate(_camel(fault))], len(self._states))

    def clear(self) -> None:
        """Remove all faults."""
        self._states.clear()


class DrivenCluster:
    """`spec` are fields of a scenario's spec (`nodes`, `images`, `profile`, ...); `base` is a scenario file to start
    from. The cluster starts on first use.
    """

    def __init__(
        self, base: str = "", *, seed: int | None = None, snapshot: str = "", update: bool = False, **spec: Any
    ) -> None:
        self._base, self._spec, self._seed = base, _camel(spec), seed
        self._snapshot, self._update = snapshot, update
        self._made: DrivenSimulation | None = None

    @property
    def driven(self) -> DrivenSimulation:
        """The underlying simulation."""
        if self._made is None:
            scenario = _scenario(self._base, self._spec)
            self._made = DrivenSimulation(scenario, scenario.spec.seed if self._seed is None else self._seed)
            for manifest in apply_order(scenario.spec.objects):
                self._made.do(self._made.simulation.world.apply, manifest)
        return self._made

    # -- time, nodes, objects -----------------------------------------------------------------------------------

    @property
    def clock(self) -> DrivenClock:
        return DrivenClock(self.driven)

    @property
    def nodes(self) -> dict[str, DrivenNode]:
        """The nodes by name."""
        return {name: DrivenNode(name, self.step) for name in self.driven.simulation.nodes}

    @property
    def faults(self) -> DrivenFaults:
        return DrivenFaults(self.driven)

    @property
    def trace(self) -> Trace:
        return Trace(self.driven.sink.records, nodes=len(self.driven.simulation.nodes) > 1)

    def get(self, name: str) -> dict[str, Any]:
        """An object from the API server: `get("pod/web")`, `get("Deployment/shop/web")`. Raises KeyError."""
        kind, namespace, short = _named(name)
        found = self.driven.simulation.store.find(kind, namespace, short)
        if found is None:
            raise KeyError(f"there is no {kind} {short}" + (f" in namespace {namespace}" if namespace else ""))
        return found.to_json()

    def all(self, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """All objects of a kind, sorted by namespace and name."""
        return [obj.to_json() for obj in self.driven.simulation.store.list(_kind(kind), namespace)]

    def events(self, name: str = "") -> list[dict[str, Any]]:
        """The Events about an object, or all of them."""
        about = _named(name) if name else ()
        found = self.all("Event")
        return [event for event in found if not about or about == _involved(event)]

    def logs(self, pod: str, container: str = "") -> str:
        return "".join(f"{line}\n" for line in self.trace.logs(pod, container))

    # -- actions on the cluster -------------------------------------------------------------------------------------

    def apply(self, manifests: Manifests) -> None:
        """Apply an object, a list of objects, YAML text, or a file. Raises InputError if the API server rejects it."""
        stage = self.driven
        gates = stage.simulation.gates
        for source, item in _objects(manifests):
            problem = find_problem(item, gates)
            if problem is not None:
                raise InputError(source, problem.text, field=field_name(problem.path))
            stage.do(stage.simulation.world.apply, item)

    def patch(self, name: str, patch: Any, **fields: Any) -> None:
        """`patch("pod/web", {"metadata": {"labels": {"app": "web"}}})`."""
        self.step(patch={**_target(name), "patch": patch, **_camel(fields)})

    def delete(self, name: str, **fields: Any) -> None:
        self.step(delete={**_target(name), **_camel(fields)})

    def scale(self, name: str, replicas: int) -> None:
        self.step(scale={**_target(name), "replicas": replicas})

    def step(self, **action: Any) -> None:
        """Run any step of a scenario now: `step(kill={"pod": "web"})`, `step(restart="kubelet")`. Returns when it is
        done; raises StepFailed.
        """
        step = Step.model_validate({"at": 0, **_camel(action)})
        name = next(name for name in ACTIONS if getattr(step, name) is not None)
        self.driven.do(getattr(self.driven.simulation.world, name), getattr(step, name))

    # -- what is expected ---------------------------------------------------------------------------------------

    def expect(self, **expectation: Any) -> None:
        """Check an expectation of a scenario: `expect(pod="web", phase="Running", by="20s")`. Time advances until it is
        decided, `by` from now at the latest; without `by` it is checked immediately. Raises ExpectationFailed.
        """
        __tracebackhide__ = True
        self._ask(expectation)

    def wait_for(self, *, within: Span = TIMEOUT, **expectation: Any) -> float:
        """Advance time until a condition is true. Returns the elapsed seconds; raises ExpectationFailed."""
        __tracebackhide__ = True
        begin = self.clock.now
        is_other = expectation.get("never") or expectation.get("always")
        self._ask({**expectation, "by": f"{micros(within)}us"} | ({} if is_other else {"eventually": True}))
        return self.clock.now - begin

    def _ask(self, fields: dict[str, Any]) -> None:
        __tracebackhide__ = True
        expect = Expect.model_validate(_camel(fields))
        pods = self.driven.simulation.store.list("Pod")
        gates = frozenset(
            gate.condition_type for pod in pods if isinstance(pod, Pod) for gate in pod.spec.readiness_gates
        )
        for problem in word_problems(expect, gates):
            raise UsageError(f"{field_name(problem.path)}: {problem.text}")
        caller = sys._getframe(2)
        expect.put(caller.f_code.co_filename, caller.f_lineno)
        ask(self.driven, expect)

    def snapshot(self, name: str = "") -> None:
        """Compare the timeline so far with the stored one (`__snapshots__/` beside the test). `pytest --kubesim-update`
        stores it. `name` distinguishes several snapshots of a test.
        """
        __tracebackhide__ = True
        if not self._snapshot:
            raise UsageError("snapshot() needs the pytest fixture, which knows the directory of the test")
        path = f"{self._snapshot}{f'.{name}' if name else ''}.timeline"
        timeline = self.trace.timeline()
        if self._update:
            write_snapshot(path, timeline)
            return
        failure = compare_snapshot(path, timeline)
        if failure is not None:
            raise AssertionError("\n".join([*failure.lines(), "  store it with: pytest --kubesim-update"]))

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def _scenario(base: str, spec: dict[str, Any]) -> Scenario:
    """The scenario file with these fields replaced."""
    if not base:
        return Scenario.model_validate({"metadata": {"name": "test"}, "spec": spec})
    scenario = parse_scenario(read_text(base, base), base)
    if scenario.spec.steps:
        raise UsageError(f"{base}: has steps; name it *.scenario.yaml, and pytest runs it as a separate test")
    if not spec:
        return scenario
    own = Scenario.model_validate({"metadata": {"name": "test"}, "spec": spec}).spec
    given = {name: getattr(own, name) for name in own.model_fields_set}
    return scenario.model_copy(update={"spec": scenario.spec.model_copy(update=given)})


def _camel(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Field names in YAML spelling; nested values stay unchanged."""
    return {to_camel(name) if "_" in name else name: value for name, value in fields.items()}


def _kind(text: str) -> str:
    """`pod` -> `Pod`; other kinds must be spelled as in Kubernetes."""
    return text[:1].upper() + text[1:]


def _named(name: str) -> tuple[str, str, str]:
    """`pod/web` or `Deployment/shop/web` -> kind, namespace, name."""
    from kubesim.scenario.language.object_names import has_namespace

    kind, slash, rest = name.partition("/")
    if not slash or not rest:
        raise UsageError(f"{name!r}: write Kind/name or Kind/namespace/name")
    kind = _kind(kind)
    namespace, _, short = rest.rpartition("/")
    return kind, (namespace or "default") if has_namespace(kind) else "", short


def _target(name: str) -> dict[str, str]:
    kind, _, rest = name.partition("/")
    return {"pod": rest} if _kind(kind) == "Pod" else {"object": f"{_kind(kind)}/{rest}"}


def _involved(event: Mapping[str, Any]) -> tuple[str, str, str]:
    about = event.get("involvedObject") or {}
    return about.get("kind", ""), about.get("namespace", ""), about.get("name", "")


def _objects(given: Manifests) -> Iterable[tuple[str, Any]]:
    """The objects, with lists expanded, each with its origin."""
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "\n" not in given and ":" not in given):
        path = os.fspath(given)
        pairs = [(path, document.value) for document in read_documents(read_text(path, path), path)]
    elif isinstance(given, str):
        pairs = [("manifest", document.value) for document in read_documents(given, "manifest")]
    else:
        pairs = [("manifest", item) for item in ([given] if isinstance(given, Mapping) else given)]
    return [(source, item) for source, manifest in pairs for _, item in items_of(manifest)]
