"""The steps of a scenario: actions at the API server, on a node or on a machine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from kubesim.cluster.store.kinds import RESOURCES
from kubesim.features.table import Profile
from kubesim.golang.text import duration
from kubesim.scenario.language.durations import Duration, SignedDuration, is_not_zero
from kubesim.scenario.language.nodes.device_items import DeviceHealth, PluginTarget
from kubesim.scenario.language.nodes.node_items import FilePath
from kubesim.scenario.language.object_items import Delete, ObjectTarget
from kubesim.scenario.language.operations.dependency_items import DependencyStep
from kubesim.scenario.language.operations.names import OperationName
from kubesim.scenario.language.operations.when_items import When
from kubesim.scenario.language.sources.remote_source_items import ServeManifest
from kubesim.scenario.language.sources.source_items import Manifest
from kubesim.scenario.language.strict import Located, OnUse, Strict, as_list, is_amount_or_percentage, is_taint, wrap

JsonObject = dict[str, Any]
SCALABLE = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
AmountOrPercentage = Annotated[str | int | float, AfterValidator(is_amount_or_percentage)]


class PodTarget(Strict):
    """`name`, or `namespace/name`."""

    pod: str = Field(min_length=1)

    @property
    def key(self) -> tuple[str, str]:
        namespace, slash, name = self.pod.rpartition("/")
        return (namespace if slash else "default"), name


class Patch(ObjectTarget):
    """A patch; a list is a JSON patch, an object a strategic merge patch unless `type` says otherwise."""

    patch: JsonObject | Annotated[tuple[JsonObject, ...], BeforeValidator(as_list)]
    type: Literal["strategic", "merge", "json"] = "strategic"
    subresource: Literal["", "status", "resize", "ephemeralcontainers"] = ""

    @model_validator(mode="before")
    @classmethod
    def _type_of_a_list(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("patch"), list):
            return {"type": "json", **value}
        return value


class Scale(ObjectTarget):
    """Sets `spec.replicas`, as `kubectl scale` does."""

    replicas: int = Field(ge=0)

    @model_validator(mode="after")
    def _can_be_scaled(self) -> Scale:
        if self.kind in RESOURCES and self.kind not in SCALABLE:
            problem = "{kind} has no replicas; kinds with replicas are {scalable}"
            raise PydanticCustomError("scale", problem, {"kind": self.kind, "scalable": ", ".join(SCALABLE)})
        return self


class Evict(PodTarget):
    """A request to the eviction API, which checks PodDisruptionBudgets; `refused: true` expects a refusal."""

    grace_period_seconds: int | None = Field(default=None, ge=0)
    refused: bool = False


class NodeTarget(Strict):
    """A node, which must exist."""

    node: str = Field(min_length=1)


class Drain(NodeTarget):
    """Cordons a node and evicts its pods, as `kubectl drain --ignore-daemonsets --force` does."""

    grace_period_seconds: int | None = Field(default=None, ge=0)


class TaintNode(NodeTarget):
    """Replaces the taints of a node; an empty list removes them."""

    taints: Annotated[tuple[Annotated[JsonObject, AfterValidator(is_taint)], ...], BeforeValidator(as_list)]


class Exec(PodTarget):
    """Runs a command in a running container, as `kubectl exec` does. The run fails if the exit code is not
    `exitCode`."""

    container: str = ""
    command: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(min_length=1)
    exit_code: int = Field(default=0, ge=0, le=255)  # the expected exit code: `exitCode: 1`


class Kill(PodTarget):
    """Kills the main process of a container, another process, or the sandbox (its pause process)."""

    container: str = ""
    process: str = ""  # a part of the command line of another process in the container
    sandbox: bool = False
    signal: Literal["KILL", "TERM"] = "KILL"

    @model_validator(mode="after")
    def _one_target(self) -> Kill:
        if self.sandbox and (self.container or self.process):
            raise PydanticCustomError("target", "give a container or sandbox: true, not both")
        return self


class RemoveContainer(PodTarget):
    """Removes the records of an exited container, as `crictl rm` and `docker container prune` do."""

    container: str = Field(min_length=1)


class NodeFile(Strict):
    """A file in a node's own file system, on the first node by default."""

    path: FilePath  # `/etc/resolv.conf`
    node: str = ""  # `node-2`


class WriteFile(NodeFile):
    """Writes a file of a node, as a user with a shell would."""

    text: str  # the whole content: `nameserver 10.1.1.1`


class StaticPodFile(Strict):
    """A file in the static pod directory, on the first node by default."""

    file: str = Field(pattern=r"^[^/]+$")
    node: str = ""


class WriteStaticPod(StaticPodFile):
    manifest: Manifest


class Start(PluginTarget):
    what: Literal["kubelet", "runtime", "apiserver", "devicePlugin", "config"]

    @model_validator(mode="after")
    def _only_a_plugin_has_a_resource(self) -> Self:
        if self.what != "devicePlugin" and self.resource:
            raise PydanticCustomError("resource", "only a devicePlugin has a resource")
        return self

    @model_validator(mode="after")
    def _config_only_stops(self) -> Self:
        if self.what == "config" and type(self) is not Stop:
            raise PydanticCustomError("config", "config can only be stopped: restart the kubelet to open it again")
        return self


class Stop(Start):
    """Stops the kubelet, the runtime or a device plugin of a node, or cuts its connection to the API server.

    `config` closes the channel from the kubelet's sources to its sync loop, until the kubelet is restarted.
    """

    containers: Literal["kept", "gone"] = "kept"  # whether a stopped runtime finds its containers again

    @model_validator(mode="after")
    def _only_a_runtime_has_containers(self) -> Stop:
        if self.what != "runtime" and self.containers != "kept":
            raise PydanticCustomError("stop", "only a runtime loses its containers")
        return self


class Restart(Stop):
    down_for: Duration = 2_000_000


class Upgrade(Strict):
    """Stops the kubelet and starts another version (newer or older); containers keep running."""

    kubelet: Profile
    node: str = ""  # default: all nodes
    down_for: Duration = 2_000_000


class Hang(Strict):
    """Makes the runtime's list calls, calls of one operation, or a container hang for this long."""

    what: Literal["runtime", "call", "container"] = "runtime"
    duration: Duration = Field(alias="for", gt=0)
    call: OperationName = ""  # for call: `StartContainer`, `api.PatchPodStatus`
    pod: str = ""  # for call and container
    container: str = ""  # for call and container: default for a container: the first one of the pod
    node: str = ""  # for runtime and call

    @model_validator(mode="before")
    @classmethod
    def _which(cls, value: Any) -> Any:
        """Derive the kind of hang from the other fields."""
        if isinstance(value, dict) and "what" not in value:
            what = "call" if value.get("call") else "container" if value.get("pod") else "runtime"
            return {"what": what, **value}
        return value

    @model_validator(mode="after")
    def _fits(self) -> Hang:
        if (self.what == "call") != bool(self.call):
            raise PydanticCustomError("hang", "what: call needs call, and call is for what: call")
        if self.what == "container" and not self.pod:
            raise PydanticCustomError("hang", "what: container needs pod")
        if self.what == "container" and self.node:
            raise PydanticCustomError("hang", "node is for what: runtime and what: call")
        if self.what == "runtime" and (self.pod or self.container):
            raise PydanticCustomError("hang", "pod and container are for what: call and what: container")
        return self


class Cut(Strict):
    """Cuts the connection from a node to the API server for this long."""

    duration: Duration = Field(alias="for", gt=0)  # how long: `30s`
    node: str = ""  # default: the first node


class ClockJump(Strict):
    """Sets the wall clock of a node forward, or back (`-1h`). Timestamps change, timers do not."""

    by: Annotated[SignedDuration, AfterValidator(is_not_zero)]  # how far: `1h`, `-10s`
    node: str = ""  # default: the first node


class Flush(Strict):
    """Removes the routes or the packet filter rules of a node with real pod networks (`runtime: cni`)."""

    what: Literal["routes", "rules"]  # `routes` of the main table, `rules` of iptables
    node: str = ""  # default: the first node


class Reboot(Strict):
    what: Literal["node"] = "node"
    down_for: Duration = 30_000_000
    node: str = ""


class Shutdown(Strict):
    """Shuts the machine down; the kubelet may delay the shutdown to stop its pods."""

    what: Literal["node"] = "node"
    node: str = ""


class Pressure(Strict):
    """Sets the available amount of a resource on a node: a quantity, or a percentage of the total (`5%`)."""

    node: str = ""
    memory: AmountOrPercentage | None = Field(default=None, alias="memory.available")
    allocatable_memory: AmountOrPercentage | None = Field(default=None, alias="allocatableMemory.available")
    nodefs: AmountOrPercentage | None = Field(default=None, alias="nodefs.available")
    nodefs_inodes: AmountOrPercentage | None = Field(default=None, alias="nodefs.inodesFree")
    imagefs: AmountOrPercentage | None = Field(default=None, alias="imagefs.available")
    imagefs_inodes: AmountOrPercentage | None = Field(default=None, alias="imagefs.inodesFree")
    pids: AmountOrPercentage | None = Field(default=None, alias="pid.available")

    @property
    def available(self) -> dict[str, str | int | float]:
        """The available amount by eviction signal."""
        return {
            name: value for name, value in self.model_dump(by_alias=True, exclude={"node"}).items() if value is not None
        }

    @model_validator(mode="after")
    def _says_something(self) -> Pressure:
        if not self.available:
            raise PydanticCustomError("pressure", "give at least one signal, such as memory.available: 50Mi")
        return self


ACTIONS = (
    "apply", "patch", "delete", "scale", "evict", "cordon", "uncordon", "drain", "taint", "exec", "kill",
    "remove_container", "write_file", "remove_file", "write_static_pod", "remove_static_pod", "serve_manifest", "stop",
    "start", "restart", "upgrade", "reboot", "shutdown", "pressure", "hang", "cut", "flush", "clock_jump",
    "device_health", "dependency",
)  # fmt: skip


class Step(Located):
    """An action at a time after the start, or when a condition becomes true."""

    at: Duration | None = Field(default=None, ge=0)  # the time after the start: `10s`
    when: OnUse[When] | None = None  # or the condition: `{pod: web, condition: Ready}`
    delay: Duration = Field(default=0, ge=0)  # with when: the time between the condition and the step, `5s`
    by: Duration | None = Field(default=None, gt=0)  # with when: the condition must be true by then, `1m`
    apply: JsonObject | None = None
    patch: OnUse[Patch] | None = None
    delete: OnUse[Delete] | None = None
    scale: OnUse[Scale] | None = None
    evict: Annotated[OnUse[Evict], wrap("pod")] | None = None
    cordon: Annotated[OnUse[NodeTarget], wrap("node")] | None = None
    uncordon: Annotated[OnUse[NodeTarget], wrap("node")] | None = None
    drain: Annotated[OnUse[Drain], wrap("node")] | None = None
    taint: OnUse[TaintNode] | None = None
    exec: OnUse[Exec] | None = None
    kill: OnUse[Kill] | None = None
    remove_container: OnUse[RemoveContainer] | None = None
    write_file: OnUse[WriteFile] | None = None
    remove_file: OnUse[NodeFile] | None = None
    write_static_pod: OnUse[WriteStaticPod] | None = None
    remove_static_pod: OnUse[StaticPodFile] | None = None
    serve_manifest: OnUse[ServeManifest] | None = None
    stop: Annotated[OnUse[Stop], wrap("what")] | None = None
    start: Annotated[OnUse[Start], wrap("what")] | None = None
    restart: Annotated[OnUse[Restart], wrap("what")] | None = None
    upgrade: Annotated[OnUse[Upgrade], wrap("kubelet")] | None = None
    reboot: Annotated[OnUse[Reboot], wrap("what")] | None = None
    shutdown: Annotated[OnUse[Shutdown], wrap("what")] | None = None
    pressure: OnUse[Pressure] | None = None
    hang: OnUse[Hang] | None = None
    cut: Annotated[OnUse[Cut], wrap("for")] | None = None
    flush: Annotated[OnUse[Flush], wrap("what")] | None = None
    clock_jump: Annotated[OnUse[ClockJump], wrap("by")] | None = None
    device_health: OnUse[DeviceHealth] | None = None
    dependency: OnUse[DependencyStep] | None = None

    @model_validator(mode="after")
    def _one_time(self) -> Step:
        if (self.at is None) == (self.when is None):
            raise PydanticCustomError("step", "give at: a time, or when: a condition")
        if self.when is None and (self.delay or self.by is not None):
            raise PydanticCustomError("step", "delay and by need when")
        return self

    @model_validator(mode="after")
    def _one_action(self) -> Step:
        given = [name for name in ACTIONS if getattr(self, name) is not None]
        if len(given) != 1:
            names = ", ".join(map(to_camel, ACTIONS))
            raise PydanticCustomError("step", "a step does one of {names}", {"names": names})
        return self

    @property
    def action(self) -> str:
        """The name of the action, which is also the name of the method of World."""
        return next(name for name in ACTIONS if getattr(self, name) is not None)

    @property
    def text(self) -> str:
        """`step at 10s: kill`, `step when pod web is Ready: kill`."""
        time = f"at {duration(self.at or 0)}" if self.when is None else f"when {self.when.text}"
        return f"step {time}: {to_camel(self.action)}"

    @property
    def pod(self) -> str:
        """Namespace and name of the target pod, if any."""
        named = getattr(getattr(self, self.action), "pod", "")
        return f"default/{named}" if named and "/" not in named else named

    @property
    def node(self) -> str:
        """The node that the action names, or empty."""
        return getattr(getattr(self, self.action), "node", "")

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations that the step waits for or makes hang: names or globs."""
        awaited = self.when.operation if self.when is not None else ""
        return tuple(filter(None, (awaited, self.hang.call if self.hang is not None else "")))

    @property
    def plugin(self) -> PluginTarget | None:
        """The device plugin that the step stops or starts, if any."""
        target = self.stop or self.start or self.restart
        return target if target is not None and target.what == "devicePlugin" else None
