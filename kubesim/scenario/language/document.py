"""The scenario language: the fields of a document of kind Scenario, as strict types.

Unknown fields are errors. Parsed durations are in microseconds. `scenario/load/loader.py` makes a `Scenario` from a
file, and `scenario/play/player.py` plays it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.api.quantity import quantity
from kubesim.errors import GateError
from kubesim.features import DEFAULT_PROFILE, FeatureGates, configured_gates
from kubesim.features.rules import rules_of
from kubesim.features.table import Profile
from kubesim.kubeletconfig.decode import ConfigurationProblem
from kubesim.scenario.hardware.node_machine import (
    check_resource_managers,
    has_resource_managers,
    resource_manager_settings,
)
from kubesim.scenario.language.cni_items import CniItem, NetworkPluginItem
from kubesim.scenario.language.cri_items import CriItem
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.nodes.node_items import (
    UNSTARTABLE,
    NodeFiles,
    SecurityProfilesItem,
    sandbox_fault_problem,
    why_no_kubelet_starts,
)
from kubesim.scenario.language.operations.names import SIMULATED_CNI, matching
from kubesim.scenario.language.sources.source_items import Sources
from kubesim.scenario.language.strict import (
    Amount,
    OnUse,
    Strict,
    Texts,
    as_list,
    defaults,
    has_whole_counts,
    is_capacity,
    is_taint,
    no_node,
    problem_at,
    stand_in,
)
from kubesim.scenario.load.kubelet_configuration import KubeletConfiguration
from kubesim.scenario.load.overlay import Overlay, configuration_error, read_in_scenario
from kubesim.scenario.runtimes.finding import unknown_runtime
from kubesim.sources.modes import INCREMENTAL

if TYPE_CHECKING:
    from kubesim.scenario.language.container_items import BehaviourItem, ImageItem
    from kubesim.scenario.language.nodes.device_items import DeviceHealth, DevicePluginItem, DraDriverItem, PluginTarget
    from kubesim.scenario.language.nodes.machine_items import DockerItem, SandboxFaultItem, TopologyItem
    from kubesim.scenario.language.operations.dependency_items import DependencyItem
    from kubesim.scenario.language.operations.fault_items import FaultItem
    from kubesim.scenario.language.step_items import Step
    from kubesim.scenario.language.variation.choice_items import ChoiceItem
    from kubesim.scenario.language.variation.matrix_items import Matrix
else:
    BehaviourItem = stand_in("container_items.BehaviourItem")
    ImageItem = stand_in("container_items.ImageItem")
    DevicePluginItem = stand_in("nodes.device_items.DevicePluginItem")
    DraDriverItem = stand_in("nodes.device_items.DraDriverItem")
    DockerItem = stand_in("nodes.machine_items.DockerItem")
    SandboxFaultItem = stand_in("nodes.machine_items.SandboxFaultItem")
    TopologyItem = stand_in("nodes.machine_items.TopologyItem")
    DependencyItem = stand_in("operations.dependency_items.DependencyItem")
    ChoiceItem = stand_in("variation.choice_items.ChoiceItem")
    FaultItem = stand_in("operations.fault_items.FaultItem")
    Step = stand_in("step_items.Step")
    Matrix = stand_in("variation.matrix_items.Matrix")

API_VERSION = "kubesim.dev/v1alpha1"

JsonObject = dict[str, Any]
NO_SETTINGS: Mapping[str, Any] = {}


class NodeItem(Strict):
    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)
    labels: dict[str, str] = Field(default_factory=dict)
    taints: Annotated[tuple[Annotated[JsonObject, AfterValidator(is_taint)], ...], BeforeValidator(as_list)] = ()
    capacity: Annotated[
        dict[str, Annotated[str | int | float, AfterValidator(is_capacity)]], AfterValidator(has_whole_counts)
    ] = Field(default_factory=dict)
    topology: OnUse[TopologyItem] | None = None  # of the machine; default: one NUMA node
    files: NodeFiles = Field(default_factory=dict)  # in the node's file system, by absolute path
    # Whether the runtime supports them; containerd 1.7, the runtime of v1.30, does not.
    user_namespaces: bool | None = None
    image_fs: Amount | None = None  # the size of a separate disk for images and containers
    swap: Amount | None = None  # the size of the swap space; kubeletConfiguration.memorySwap limits its use
    security_profiles: SecurityProfilesItem = defaults()
    runtime_handlers: Texts = ("runc",)  # handlers that a RuntimeClass can name
    # The first calls of RunPodSandbox fail with these errors, as if a CNI plugin failed.
    sandbox_errors: Texts = ()
    # The creation of the first pod cgroups, and of the first pod directories, fails with these errors.
    cgroup_errors: Texts = ()
    directory_errors: Texts = ()
    docker: OnUse[DockerItem] | None = None  # only for profiles v1.6 and v1.12
    sandbox_faults: Annotated[
        tuple[OnUse[SandboxFaultItem], ...], BeforeValidator(as_list)
    ] = ()  # faults in the steps of RunPodSandbox
    device_plugins: Annotated[
        tuple[OnUse[DevicePluginItem], ...], BeforeValidator(as_list)
    ] = ()  # at most one for each resource
    # At most one for each driver name.
    dra_drivers: Annotated[tuple[OnUse[DraDriverItem], ...], BeforeValidator(as_list)] = ()

    @model_validator(mode="after")
    def _one_plugin_for_a_resource(self) -> NodeItem:
        resources = [plugin.resource for plugin in self.device_plugins]
        if len({*resources}) < len(resources):
            raise PydanticCustomError("plugins", "devicePlugins: two plugins have the same resource")
        drivers = [driver.name for driver in self.dra_drivers]
        if len({*drivers}) < len(drivers):
            raise PydanticCustomError("plugins", "draDrivers: two drivers have the same name")
        return self

    @property
    def has_swap(self) -> bool:
        return self.swap is not None and quantity(self.swap).sign > 0


def _configuration(value: Any, info: ValidationInfo) -> KubeletConfiguration:
    try:
        own = value if isinstance(value, KubeletConfiguration) else read_in_scenario(value)
        overlay = Overlay.of(info)
        return overlay.applied_to(overlay.with_local_path(own))
    except ConfigurationProblem as problem:
        raise configuration_error(problem) from None


def on_or_off(value: Any) -> Any:
    """Undo the conversion of YAML, which reads the words `on` and `off` as true and false."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


def _profile(value: Any, info: ValidationInfo) -> Any:
    return Overlay.of(info).profile or value


InvariantName = Literal[
    "one-instance",
    "gone-pods",
    "init-order",
    "sidecars",
    "networks",
    "restart-counts",
    "terminal-phase",
    "grace-periods",
    "probes",
    "statuses",
    "addresses",
    "resource-versions",
    "lost-updates",
]
StrictName = Literal[
    "post-start", "pull-back-off", "readiness", "probe-periods", "evictions", "event-rate", "allocations"
]
STRICT: Final[tuple[StrictName, ...]] = get_args(StrictName)
NAMES: Final[tuple[InvariantName | StrictName, ...]] = (*get_args(InvariantName), *STRICT)
Names = Annotated[tuple[InvariantName | StrictName, ...], BeforeValidator(as_list)]
StrictNames = Annotated[tuple[StrictName, ...], BeforeValidator(as_list)]


class Invariants(Strict):
    """The invariants that are checked: all except those in `disabled` and strict ones that are not in `added`. The run
    fails unless those in `violated` are violated."""

    disabled: Names = ()
    added: StrictNames = ()
    violated: Names = ()

    def are_checked(self, name: str) -> bool:
        return name not in self.disabled and (name not in STRICT or name in (*self.added, *self.violated))


def _invariants(value: Any) -> Any:
    """Accept `off` and `on`, which YAML reads as false and true."""
    if value is False or value == "off":
        return {"disabled": NAMES}
    return {} if value is True or value == "on" else value


def known_runtime(name: str) -> str:
    if problem := unknown_runtime(name):
        raise PydanticCustomError("runtime", "{problem}", {"problem": problem})
    return name


class Spec(Strict):
    nodes: Annotated[tuple[NodeItem, ...], BeforeValidator(as_list)] = Field(
        default_factory=lambda: ({"name": "node-1"},), validate_default=True, min_length=1
    )
    sources: Sources = defaults()
    runtime: Annotated[str, AfterValidator(known_runtime)] = "simulated"
    cni: CniItem = defaults()
    cri: CriItem = defaults()
    profile: Annotated[Profile, BeforeValidator(_profile)] = Field(default=DEFAULT_PROFILE, validate_default=True)
    feature_gates: dict[str, bool] = Field(default_factory=dict)
    kubelet_configuration: Annotated[KubeletConfiguration, PlainValidator(_configuration)] = Field(
        default=KubeletConfiguration(), validate_default=True
    )
    images: Annotated[tuple[OnUse[ImageItem], ...], BeforeValidator(as_list)] = ()
    behaviours: Annotated[tuple[OnUse[BehaviourItem], ...], BeforeValidator(as_list)] = ()
    dependencies: Annotated[tuple[OnUse[DependencyItem], ...], BeforeValidator(as_list)] = ()  # shared by containers
    objects: Annotated[tuple[JsonObject, ...], BeforeValidator(as_list)] = ()
    # Default: on if a pod needs it.
    scheduler: Annotated[Literal["on", "off"] | None, BeforeValidator(on_or_off)] = None
    steps: Annotated[tuple[OnUse[Step], ...], BeforeValidator(as_list)] = ()
    faults: Annotated[tuple[OnUse[FaultItem], ...], BeforeValidator(as_list)] = ()  # operations that fail
    choices: Annotated[tuple[OnUse[ChoiceItem], ...], BeforeValidator(as_list)] = ()  # draws that are not random
    expect: Annotated[tuple[Expect, ...], BeforeValidator(as_list)] = ()
    matrix: OnUse[Matrix] | None = None  # several runs of this file
    # Files that are included in this one: lists are joined and mappings merged; other values of this file override
    # theirs.
    include: Texts = ()
    invariants: Annotated[Invariants, BeforeValidator(_invariants)] = defaults()
    seed: int = 0
    duration: Annotated[Duration, Field(gt=0)] | None = None
    # The run waits this long until everything is idle, also after its duration, and fails if something is not.
    converges_within: Annotated[Duration, Field(gt=0)] | None = None

    @field_validator("feature_gates")
    @classmethod
    def _known_gates(cls, value: dict[str, bool], info: ValidationInfo) -> dict[str, bool]:
        try:
            configured_gates(value, info.data.get("profile", DEFAULT_PROFILE))
        except GateError as error:
            raise PydanticCustomError("gate", "{problem}", {"problem": str(error)}) from None
        return value

    @model_validator(mode="after")
    def _a_kubelet_would_start(self, info: ValidationInfo) -> Spec:
        configuration, given = self.kubelet_configuration, Overlay.of(info).gates
        try:
            configuration.check_gates(self.profile)
            gates = {**configuration.feature_gates, **self.feature_gates, **given}
            configuration.check(configured_gates(gates, self.profile))
            self._check_machines(configured_gates(gates, self.profile))
        except ConfigurationProblem as problem:
            raise configuration_error(problem) from None
        except GateError:
            pass  # with_feature_gates reports it, because the value is from the command line
        for number, node in enumerate(self.nodes):
            field, why = why_no_kubelet_starts(node.capacity, node.has_swap, configuration)
            if why:
                raise PydanticCustomError(UNSTARTABLE, "{problem}", {"problem": why, "path": ("nodes", number, field)})
        return self

    @property
    def awaited_operations(self) -> tuple[str, ...]:
        """The operations that steps wait for or make hang: names or globs."""
        return tuple(name for step in self.steps for name in step.operations)

    def gates_of(self, profile: str) -> FeatureGates:
        """The feature gates of a kubelet of this version with the scenario's settings. Raises GateError."""
        return configured_gates({**self.kubelet_configuration.feature_gates, **self.feature_gates}, profile)

    def why_not_upgraded(self, profile: str) -> str:
        """Why a node cannot be upgraded to this kubelet with its gates, configuration and containers; empty if it
        can."""
        versions = {self.profile, profile}
        if len(versions) > 1 and any(rules_of(each).sandbox_order == "dockertools" for each in versions):
            return "kubelet v1.6 and later ones do not find each other's containers: compare two runs with kubesim diff"
        try:
            self.kubelet_configuration.check(self.gates_of(profile))
        except (GateError, ConfigurationProblem) as problem:
            return f"the kubelet {profile} would not start: {problem}"
        return ""

    def _check_machines(self, gates: FeatureGates) -> None:
        """Check that CPUs and memory can be managed as configured on each machine."""
        configuration = self.kubelet_configuration
        for number, node in enumerate(self.nodes):
            if not has_resource_managers(node.topology, configuration):
                continue
            try:
                settings = resource_manager_settings(node.capacity, node.topology, configuration)
            except ValueError as error:
                problem = f"nodes[{number}].topology.{error}"
                raise PydanticCustomError("topology", "{problem}", {"problem": problem}) from None
            check_resource_managers(settings, gates)

    @model_validator(mode="after")
    def _sources_fit(self) -> Spec:
        if self.sources.bootstrap_checkpoint is not None and not rules_of(self.profile).bootstrap_checkpoints:
            raise PydanticCustomError("sources", "bootstrapCheckpoint exists only in profile v1.12")
        if self.sources.notification_mode != INCREMENTAL and not rules_of(self.profile).has_config_modes:
            problem = f"notificationMode exists in profiles until v1.35, not in {self.profile}: leave it out"
            raise PydanticCustomError("sources", "{problem}", {"problem": problem})
        live = self.sources.apiserver
        if live is not None and live.node not in [node.name for node in self.nodes]:
            problem = f"sources.apiserver.node: {live.node} is no node of this scenario; name it in nodes"
            raise PydanticCustomError("sources", "{problem}", {"problem": problem})
        has_url = self.sources.http is not None or self.kubelet_configuration.values["staticPodURL"]
        if not has_url and any(step.serve_manifest is not None for step in self.steps):
            raise PydanticCustomError("sources", "serveManifest needs sources.http")
        return self

    @model_validator(mode="after")
    def _faults_fit(self) -> Spec:
        if self.cni.faults and self.runtime != "cni":
            raise PydanticCustomError("cni", "cni.faults needs runtime: cni")
        for number, node in enumerate(self.nodes):
            problem = sandbox_fault_problem(node.sandbox_faults, rules_of(self.profile))
            if problem:
                text = f"nodes[{number}].sandboxFaults: {problem}"
                raise PydanticCustomError("step", "{problem}", {"problem": text})
        for number, fault in enumerate(self.faults if self.runtime != "cni" else ()):
            if not any(group != "cni" or verb in SIMULATED_CNI for group, verb in matching(fault.operation)):
                problem = f"{fault.operation} needs runtime: cni; a simulated network has ADD and DEL only"
                raise problem_at(("faults", number, "operation"), problem)
        return self

    @model_validator(mode="after")
    def _dependencies_fit(self) -> Spec:
        names = [dependency.name for dependency in self.dependencies]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise problem_at(("dependencies", number, "name"), f"there are two dependencies {name}")
        references: list[tuple[tuple[str | int, ...], str]] = [
            (("behaviours", number, "needs", index), need.name)
            for number, behaviour in enumerate(self.behaviours)
            for index, need in enumerate(behaviour.needs)
        ]
        references += [
            (("steps", n, "dependency"), s.dependency.name) for n, s in enumerate(self.steps) if s.dependency
        ]
        for path, name in references:
            if name not in names:
                raise problem_at(path, f"there is no dependency {name}; add it to spec.dependencies")
        return self

    @model_validator(mode="after")
    def _names_of_nodes(self) -> Spec:
        names = [node.name for node in self.nodes]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise problem_at(("nodes", number, "name"), f"there are two nodes {name}")
        for number, step in enumerate(self.steps):
            if step.node and step.node not in names:
                raise no_node(("steps", number, to_camel(step.action)), step.node)
        for number, item in enumerate(self.faults):
            if not any(fnmatchcase(name, item.node) for name in names):
                raise no_node(("faults", number, "node"), item.node)
        for number, step in enumerate(self.steps):
            if step.when is not None and step.when.node and step.when.node not in names:
                raise no_node(("steps", number, "when", "node"), step.when.node)
        for number, fault in enumerate(self.cni.faults):
            if fault.node and fault.node not in names:
                raise no_node(("cni", "faults", number, "node"), fault.node)
        return self

    @model_validator(mode="after")
    def _device_plugins_fit(self) -> Spec:
        for step in self.steps:
            target = step.device_health or step.plugin
            if step.device_health is not None and step.device_health.driver:
                self._check_dra_device(step.device_health)
            elif target is not None:
                self._check_plugin(target)
        return self

    def _check_plugin(self, target: PluginTarget) -> None:
        node = next((node for node in self.nodes if node.name == target.node), self.nodes[0])
        plugins = [each for each in node.device_plugins if target.resource in ("", each.resource)]
        if len(plugins) != 1:
            problem = f"node {node.name} has no device plugin {target.resource}".rstrip()
            if plugins:
                problem = f"node {node.name} has {len(plugins)} device plugins: name the resource"
            raise PydanticCustomError("plugins", "{problem}", {"problem": problem})
        device = getattr(target, "device", "")
        if device and device not in [each.id for each in plugins[0].devices]:
            problem = f"deviceHealth: {plugins[0].resource} of node {node.name} has no device {device}"
            raise PydanticCustomError("plugins", "{problem}", {"problem": problem})

    def _check_dra_device(self, target: DeviceHealth) -> None:
        node = next((node for node in self.nodes if node.name == target.node), self.nodes[0])
        driver = next((each for each in node.dra_drivers if each.name == target.driver), None)
        problem = ""
        if target.resource:
            problem = "deviceHealth: give resource or driver, not both"
        elif driver is None:
            problem = f"node {node.name} has no DRA driver {target.driver}"
        elif target.device not in [each.name for each in driver.devices]:
            problem = f"deviceHealth: {driver.name} of node {node.name} has no device {target.device}"
        if problem:
            raise PydanticCustomError("plugins", "{problem}", {"problem": problem})


class Metadata(Strict):
    name: str = Field(min_length=1)


class Scenario(Strict):
    """A whole scenario. Its objects are applied at time 0, in order."""

    api_version: Literal["kubesim.dev/v1alpha1"] = "kubesim.dev/v1alpha1"
    kind: Literal["Scenario"] = "Scenario"
    metadata: Metadata
    spec: Spec = defaults()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def gates(self) -> FeatureGates:
        return self.spec.gates_of(self.spec.profile)

    def with_feature_gates(self, settings: Mapping[str, bool]) -> Scenario:
        """A copy with these feature gates, which override those of the scenario. Raises GateError."""
        merged = {**self.spec.feature_gates, **settings}
        changed = self.model_copy(update={"spec": self.spec.model_copy(update={"feature_gates": merged})})
        changed.spec.gates_of(self.spec.profile)
        return changed

    def with_runtime(
        self, runtime: str | None, cni: Mapping[str, Any], cri: Mapping[str, Any] = NO_SETTINGS
    ) -> Scenario:
        """A copy with another runtime, settings of pod networks and of a real runtime; None, and settings that are
        absent, change nothing."""
        own, given = self.spec, dict(cni)
        if "plugin" in given:
            given["plugin"] = (own.cni.plugin or NetworkPluginItem()).model_copy(update=given["plugin"])
        update = {
            "runtime": runtime or own.runtime,
            "cni": own.cni.model_copy(update=given),
            "cri": own.cri.model_copy(update=dict(cri)),
        }
        return self.model_copy(update={"spec": own.model_copy(update=update)})

    def with_cell(self, name: str) -> Scenario:
        """A copy with the name of its matrix cell added."""
        return self.model_copy(update={"metadata": Metadata(name=f"{self.name} [{name}]")})

    def with_nodes(self, nodes: Sequence[Mapping[str, Any]]) -> Scenario:
        """A copy with other nodes, in the format of a scenario file."""
        items = tuple(NodeItem.model_validate(node) for node in nodes)
        return self.model_copy(update={"spec": self.spec.model_copy(update={"nodes": items})})

    def without_last_steps(self, count: int) -> tuple[Scenario, tuple[Step, ...]]:
        """A copy without this many of its last steps, and the removed steps."""
        kept = self.spec.steps[: len(self.spec.steps) - count]
        spec = self.spec.model_copy(update={"steps": kept})
        return self.model_copy(update={"spec": spec}), self.spec.steps[len(kept) :]

    def with_objects(self, objects: tuple[JsonObject, ...]) -> Scenario:
        """A copy with additional objects after its own."""
        spec = self.spec.model_copy(update={"objects": (*self.spec.objects, *objects)})
        return self.model_copy(update={"spec": spec})
