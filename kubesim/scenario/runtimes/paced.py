"""The real parts of a run: its nodes or its runtime. Real containers determine the speed and the start of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.clock.clock import VIRTUAL_START
from kubesim.clock.wall import wall_now
from kubesim.errors import UsageError
from kubesim.scenario.language.document import Spec
from kubesim.scenario.runtimes.finding import is_in_the_node, made_plugin, plugin_class
from kubesim.scenario.runtimes.plugin import RuntimePlugin
from kubesim.values import value_object

if TYPE_CHECKING:
    from kubesim.runtime.containerd.cni_nodes import CniNodes

LEAD = 60 * SECOND  # the nodes have been up for a minute when the scenario begins


@value_object
class RealParts:
    """The parts of a run that are real, if any."""

    nodes: CniNodes | None = None  # of runtime cni
    plugin: RuntimePlugin | None = None  # the runtime, if it is not a part of the simulated nodes


def checked_plugin(spec: Spec, speed: float) -> RuntimePlugin | None:
    """The plugin of a run, if its scenario can be played with it and at this speed (0: any). Raises UsageError."""
    if is_in_the_node(spec.runtime):
        return None
    from kubesim.scenario.runtimes.limits import check_real_runtime  # most runs do without

    check_real_runtime(spec, spec.runtime)
    plugin = plugin_class(spec.runtime)
    if plugin.real_time and speed not in (0.0, 1.0):
        name = spec.runtime
        raise UsageError(f"--speed {speed:g}: real containers of runtime {name} run in real time: leave --speed out")
    return made_plugin(plugin, spec)


def pace_of(plugin: RuntimePlugin | None, speed: float) -> float:
    return 1.0 if plugin is not None and plugin.real_time else speed


def start_of(plugin: RuntimePlugin | None) -> int:
    """When the clock of the run begins: timestamps of real containers are those of the machine."""
    return (VIRTUAL_START if plugin is None or not plugin.real_time else wall_now()) - LEAD


@asynccontextmanager
async def started(plugin: RuntimePlugin | None) -> AsyncIterator[None]:
    if plugin is None:
        yield
        return
    try:
        await plugin.start(LoopClock())
        yield
    finally:
        await plugin.stop()
