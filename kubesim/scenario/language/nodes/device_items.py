"""The device plugins and DRA drivers of a node in the scenario language, and the steps that change their devices."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.api.names import is_extended_resource_name
from kubesim.scenario.language.durations import Duration
from kubesim.scenario.language.strict import Strict, as_list, defaults, is_amount, wrap

Health = Literal["Healthy", "Unhealthy"]
REGISTERS_AFTER = 500_000


def is_extended_resource(name: str) -> str:
    if not is_extended_resource_name(name):
        raise PydanticCustomError("resource", "must be an extended resource, such as example.com/gpu")
    return name


class DeviceItem(Strict):
    """A device; a plain text is its id."""

    id: str = Field(min_length=1)
    health: Health = "Healthy"
    numa_nodes: Annotated[tuple[Annotated[int, Field(ge=0)], ...], BeforeValidator(as_list)] | None = None


class PluginPath(Strict):
    """A path of the node that is mounted into a container: `path` if both paths are the same."""

    path: str = Field(default="", pattern=r"^(/.*)?$")
    host_path: str = Field(default="", pattern=r"^(/.*)?$")
    container_path: str = Field(default="", pattern=r"^(/.*)?$")

    @model_validator(mode="after")
    def _two_paths(self) -> Self:
        both, either = self.host_path and self.container_path, self.host_path or self.container_path
        if bool(self.path) == bool(either) or bool(both) != bool(either):
            raise PydanticCustomError("path", "give path, or hostPath and containerPath")
        return self

    @property
    def paths(self) -> tuple[str, str]:
        """The paths on the host and in the container."""
        return (self.path, self.path) if self.path else (self.host_path, self.container_path)


class PluginMount(PluginPath):
    """A directory of the node that is mounted into a container; a plain text is both paths."""

    read_only: bool = False
    files: dict[str, str] = Field(default_factory=dict)  # created by the plugin, by name


class DeviceNode(PluginPath):
    """A device node; a plain text is its path on the node and in the container."""

    permissions: str = Field(default="mrw", pattern=r"^[mrw]+$")


class AllocateItem(Strict):
    """The plugin's answer to Allocate. `{ids}` in a text is replaced by the ids of all devices, separated by commas; an
    entry with `{id}` is repeated for each device."""

    env: dict[str, str] = Field(default_factory=dict)  # the container's own variables override these
    mounts: Annotated[tuple[Annotated[PluginMount, wrap("path")], ...], BeforeValidator(as_list)] = ()
    devices: Annotated[tuple[Annotated[DeviceNode, wrap("path")], ...], BeforeValidator(as_list)] = ()
    annotations: dict[str, str] = Field(default_factory=dict)
    cdi_devices: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    error: str = ""  # answered instead of all fields above

    @model_validator(mode="after")
    def _one_value_for_a_name(self) -> AllocateItem:
        for name, value in (*self.env.items(), *self.annotations.items()):
            if "{id}" in value and "{id}" not in name:
                raise PydanticCustomError(
                    "id", "{name} has one value for all devices: use {{ids}}, or {{id}} in its name too", {"name": name}
                )
        return self


class DevicePluginItem(Strict):
    """A device plugin. `count: 2` of example.com/gpu are the healthy devices gpu0 and gpu1."""

    resource: Annotated[str, AfterValidator(is_extended_resource)]
    count: int | None = Field(default=None, ge=0)
    devices: Annotated[tuple[Annotated[DeviceItem, wrap("id")], ...], BeforeValidator(as_list)] = ()
    allocate: AllocateItem = defaults()
    preferred: Annotated[tuple[str, ...], BeforeValidator(as_list)] | None = None  # ids in order of preference
    pre_start_required: bool = False  # whether the kubelet calls PreStartContainer before each start of a container
    pre_start_error: str = ""  # the error of PreStartContainer
    registers_after: Duration = REGISTERS_AFTER  # after the start of the kubelet or of the plugin
    running: bool = True  # false: a step starts it

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("count"), int) and not isinstance(value["count"], bool):
            if "devices" in value:
                raise PydanticCustomError("devices", "give count or devices, not both")
            name = str(value.get("resource", "")).rpartition("/")[2]
            return {**value, "devices": [{"id": f"{name}{number}"} for number in range(value["count"])]}
        return value

    @model_validator(mode="after")
    def _devices_fit(self) -> DevicePluginItem:
        ids = [device.id for device in self.devices]
        if len({*ids}) < len(ids):
            raise PydanticCustomError("devices", "two devices have the same id")
        unknown = next((each for each in self.preferred or () if each not in ids), "")
        if unknown:
            raise PydanticCustomError("devices", "preferred: there is no device {id}", {"id": unknown})
        if self.pre_start_error and not self.pre_start_required:
            raise PydanticCustomError("devices", "preStartError needs preStartRequired: true")
        return self


class PluginTarget(Strict):
    """A device plugin of a node: the one of a resource, or the only one; on the first node by default."""

    resource: str = ""  # of a device plugin
    node: str = ""


class DeviceHealth(PluginTarget):
    """A step: the plugin or the DRA driver reports this health for a device."""

    driver: str = ""  # of dynamic resource allocation; default: a device plugin
    device: str = Field(min_length=1)
    health: Health


# -- dynamic resource allocation ------------------------------------------------------------------------------------


class DraDeviceItem(Strict):
    """A device of a DRA driver; a plain text is its name. Attributes are text, whole numbers, true, false or `{version:
    1.2.3}`; `env` are the environment variables of a container with this device."""

    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)
    attributes: dict[str, str | int | bool | dict[str, Any]] = Field(default_factory=dict)
    capacity: dict[str, Annotated[str | int | float, AfterValidator(is_amount)]] = Field(default_factory=dict)
    taints: Annotated[tuple[dict[str, Any], ...], BeforeValidator(as_list)] = ()
    env: dict[str, str] = Field(default_factory=dict)
    health: Health | None = None  # None: the driver does not report it

    @property
    def listed(self) -> dict[str, Any]:
        """The device as an entry of a ResourceSlice."""
        attributes = {name: _attribute(value) for name, value in self.attributes.items()}
        capacity = {name: {"value": str(value)} for name, value in self.capacity.items()}
        parts = {"attributes": attributes, "capacity": capacity, "taints": [dict(taint) for taint in self.taints]}
        return {"name": self.name} | {name: part for name, part in parts.items() if part}


def _attribute(value: str | int | bool | dict[str, Any]) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value}


class DraDriverItem(Strict):
    """A DRA driver with its devices, which it publishes in a ResourceSlice of the node."""

    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=63)
    devices: Annotated[tuple[Annotated[DraDeviceItem, wrap("name")], ...], BeforeValidator(as_list)]
    # For each device; {device} is its name, {n} its index in the list above.
    env: dict[str, str] = Field(default_factory=dict)
    # The first calls of NodePrepareResources and NodeUnprepareResources fail with these errors.
    prepare_errors: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    unprepare_errors: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    prepare_time: Duration | None = None  # None: drawn from the seed
    unprepare_time: Duration | None = None
    registers_after: Duration = REGISTERS_AFTER  # after the start of the kubelet
    running: bool = True  # false: the devices are published, but the driver does not register with the kubelet

    @model_validator(mode="after")
    def _devices_are_different(self) -> DraDriverItem:
        names = [device.name for device in self.devices]
        if len({*names}) < len(names):
            raise PydanticCustomError("devices", "two devices have the same name")
        return self
