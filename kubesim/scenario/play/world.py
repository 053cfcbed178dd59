"""The target of a scenario's actions: the cluster and its nodes, as a user acts on them (with kubectl, or a shell on a
node)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kubesim.api.meta import ApiObject
from kubesim.cluster.store.store import Listener
from kubesim.golang.text import duration
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.play.node.simulated_node import SimulatedNode
from kubesim.scenario.play.node.static_sources import behaviour
from kubesim.scenario.play.steps.node_steps import NodeSteps
from kubesim.sources.manifests.manifest_files import FileMissing
from kubesim.sources.manifests.simulated_url import SimulatedUrl, UrlBehaviour
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part

if TYPE_CHECKING:
    from kubesim.scenario.hardware.device_plugins import DevicePlugins
    from kubesim.scenario.language.nodes.device_items import DeviceHealth, PluginTarget
    from kubesim.scenario.language.object_items import Delete
    from kubesim.scenario.language.operations.dependency_items import DependencyStep
    from kubesim.scenario.language.operations.fault_items import Crash
    from kubesim.scenario.language.sources.remote_source_items import ServeManifest
    from kubesim.scenario.language.sources.source_items import Manifest
    from kubesim.scenario.language.step_items import (
        ClockJump,
        Cut,
        Drain,
        Evict,
        Exec,
        Flush,
        Hang,
        Kill,
        NodeFile,
        NodeTarget,
        Patch,
        Pressure,
        Reboot,
        RemoveContainer,
        Restart,
        Scale,
        Shutdown,
        Start,
        StaticPodFile,
        Stop,
        TaintNode,
        Upgrade,
        WriteFile,
        WriteStaticPod,
    )

JsonObject = dict[str, Any]


class World(Protocol):
    """The actions of a scenario. Each raises StepFailed if it is impossible."""

    def apply(self, manifest: JsonObject) -> None: ...
    def patch(self, patch: Patch) -> None: ...
    def delete(self, delete: Delete) -> None: ...
    def delete_object(self, obj: ApiObject, propagation_policy: str | None = None) -> None: ...
    def scale(self, scale: Scale) -> None: ...
    def evict(self, step: Evict) -> None: ...
    def cordon(self, cordon: NodeTarget) -> None: ...
    def uncordon(self, uncordon: NodeTarget) -> None: ...
    async def drain(self, drain: Drain) -> None: ...
    def taint(self, taint: TaintNode) -> None: ...
    async def exec(self, exec: Exec) -> None: ...
    async def kill(self, kill: Kill) -> None: ...
    async def remove_container(self, remove: RemoveContainer) -> None: ...
    def write_file(self, write: WriteFile) -> None: ...
    def remove_file(self, remove: NodeFile) -> None: ...
    def write_static_pod(self, write: WriteStaticPod) -> None: ...
    def write_static_pod_everywhere(self, file: str, manifest: Manifest) -> None: ...
    def remove_static_pod(self, remove: StaticPodFile) -> None: ...
    def serve_manifest(self, answer: ServeManifest) -> None: ...
    def remove_all_static_pods(self) -> None: ...
    async def stop(self, stop: Stop) -> None: ...
    def start(self, start: Start) -> None: ...
    async def restart(self, restart: Restart) -> None: ...
    async def upgrade(self, upgrade: Upgrade) -> None: ...
    async def reboot(self, reboot: Reboot) -> None: ...
    async def shutdown(self, shutdown: Shutdown) -> None: ...
    def pressure(self, pressure: Pressure) -> None: ...
    async def hang(self, hang: Hang) -> None: ...
    async def cut(self, cut: Cut) -> None: ...
    async def flush(self, flush: Flush) -> None: ...
    def clock_jump(self, jump: ClockJump) -> None: ...
    def device_health(self, health: DeviceHealth) -> None: ...
    async def dependency(self, step: DependencyStep) -> None: ...

    def note(self, text: str) -> None:
        """Record a note for the reader of the trace."""
        ...

    def problem_of_node(self, name: str) -> str:
        """Why nothing happens to the pods of a node; empty if its parts are running."""
        ...

    def objects(self, kind: str) -> Sequence[ApiObject]:
        """All objects of this kind."""
        ...

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        """Call the listener with every later change of objects of this kind; returns a function that ends the watch."""
        ...


@part
class SimulatedWorld(NodeSteps):
    """The in-memory cluster, and simulated nodes by name."""

    url: SimulatedUrl | None = None

    def problem_of_node(self, name: str) -> str:
        node = self.nodes.get(name)
        if node is None:
            return ""
        if node.why_not_started:
            return f"the kubelet of node {name} exits at its start: {node.why_not_started}"
        runs = {"the kubelet": node.kubelet_runs, "the runtime": node.service.up, "the API server": node.api.up}
        broken = [what for what, is_up in runs.items() if not is_up]
        return f"{' and '.join(broken)} of node {name} {'is' if len(broken) == 1 else 'are'} down" if broken else ""

    def objects(self, kind: str) -> Sequence[ApiObject]:
        return self.store.list(kind)

    def watch(self, kind: str, listener: Listener) -> Callable[[], None]:
        return self.store.watch(kind, listener)

    def write_static_pod(self, write: WriteStaticPod) -> None:
        self._write(self._node(write.node), write.file, write.manifest)

    def write_static_pod_everywhere(self, file: str, manifest: Manifest) -> None:
        for node in self.nodes.values():
            self._write(node, file, manifest)

    def _write(self, node: SimulatedNode, file: str, manifest: Manifest) -> None:
        self._note_of_node(node, f"the file {node.manifests.path}/{file} is written")
        if isinstance(manifest, dict):  # the mirror pod needs a namespace
            self.ensure_namespace(manifest["metadata"].get("namespace", "default"))
        node.manifests.write(file, manifest if isinstance(manifest, str) else json.dumps(manifest))

    def remove_static_pod(self, remove: StaticPodFile) -> None:
        try:
            self._remove(self._node(remove.node), remove.file)
        except FileMissing as error:
            raise StepFailed(str(error)) from None

    def serve_manifest(self, answer: ServeManifest) -> None:
        if self.url is None:
            raise StepFailed("there is no simulated URL that could answer")
        self._serve(self.url, behaviour(answer))

    def _serve(self, url: SimulatedUrl, behaviour: UrlBehaviour) -> None:
        what = behaviour.error or behaviour.answer.status_line
        if behaviour.answer.body and not behaviour.error:
            what += f", {len(behaviour.answer.body)} bytes"
        Recorder.because(None)
        Recorder.because(self.recorder.record(Note(text=f"{url.url} answers from now on: {what}")))
        url.behave(behaviour)

    def remove_all_static_pods(self) -> None:
        """Remove the simulated static pods. Real files and URLs stay unchanged; the kubelets just ignore them."""
        if self.url is not None:
            self._serve(self.url, UrlBehaviour())
        for node in self.nodes.values():
            for file in node.manifests.names():
                self._remove(node, file)
            node.withdraw_real_sources()

    def _remove(self, node: SimulatedNode, file: str) -> None:
        if node.manifests.read(file) is None:
            raise StepFailed(f"there is no file {node.manifests.path}/{file}")
        self._note_of_node(node, f"the file {node.manifests.path}/{file} is removed")
        node.manifests.remove(file)

    async def stop(self, stop: Stop) -> None:
        node = self._node(stop.node)
        self._expect(node, stop, running=True)
        if stop.what == "kubelet":
            self._note_of_node(node, "the kubelet is killed; its memory is lost")
            await node.stop_kubelet()
        elif stop.what == "apiserver":
            self._note_of_node(node, "the API server cannot be reached")
            node.api.cut()
        elif stop.what == "config":
            self._note_of_node(node, "the kubelet's config channel is closed")
            node.close_config()
        elif stop.what == "devicePlugin":
            plugins, resource = self._device_plugin(node, stop)
            self._note_of_node(node, f"device plugin {resource} stops")
            plugins.stop(resource)
        else:
            lost = "; it loses all containers" if stop.containers == "gone" else "; its containers keep running"
            self._note_of_node(node, "the container runtime stops" + lost)
            node.stop_runtime(stop.containers)

    def start(self, start: Start) -> None:
        node = self._node(start.node)
        self._expect(node, start, running=False)
        if start.what == "kubelet":
            self._note_of_node(node, "the kubelet starts and lists its sources and the runtime")
            node.start()
        elif start.what == "apiserver":
            self._note_of_node(node, "the API server can be reached again")
            node.api.restore()
        elif start.what == "devicePlugin":
            plugins, resource = self._device_plugin(node, start)
            self._note_of_node(node, f"device plugin {resource} starts")
            plugins.start(resource)
        else:
            self._note_of_node(node, "the container runtime answers again")
            node.start_runtime()

    def _expect(self, node: SimulatedNode, target: Start, *, running: bool) -> None:
        what: str = target.what
        if what != "apiserver":
            self._expect_on(node)
        if what == "devicePlugin":
            plugins, resource = self._device_plugin(node, target)
            runs, what = plugins.plugins[resource].is_running, f"device plugin {resource}"
        else:
            runs = {
                "kubelet": node.kubelet_runs,
                "runtime": node.service.up,
                "apiserver": node.api.up,
                "config": node.config_is_open,
            }[what]
        if runs != running:
            raise StepFailed(f"the {what} of node {node.name} is {'not running' if running else 'running already'}")

    def _device_plugin(self, node: SimulatedNode, target: PluginTarget) -> tuple[DevicePlugins, str]:
        """The plugins of the node, and the resource of the target; the language has checked that there is one."""
        assert node.device_plugins is not None
        return node.device_plugins, target.resource or next(iter(node.device_plugins.plugins))

    def device_health(self, health: DeviceHealth) -> None:
        node = self._node(health.node)
        if health.driver:
            assert node.dra_drivers is not None
            self._note_of_node(node, f"device {health.device} of {health.driver} is {health.health}")
            node.dra_drivers.set_health(health.driver, health.device, health.health)
            return
        plugins, resource = self._device_plugin(node, health)
        self._note_of_node(node, f"device {health.device} of {resource} is {health.health}")
        plugins.set_health(resource, health.device, health.health)

    async def restart(self, restart: Restart) -> None:
        from kubesim.scenario.language.step_items import Start

        await self.stop(restart)
        await self.clock.sleep(restart.down_for)
        again = {"what": restart.what, "node": restart.node, "resource": restart.resource}
        self.start(Start.model_validate(again))

    async def upgrade(self, upgrade: Upgrade) -> None:
        from kubesim.scenario.language.step_items import Start

        nodes = [self._node(upgrade.node)] if upgrade.node else list(self.nodes.values())
        for node in nodes:
            if not node.kubelet_runs:
                raise StepFailed(f"the kubelet of node {node.name} is not running")
        for node in nodes:
            self._note_of_node(node, f"the kubelet {node.gates.profile} stops; containers keep running")
            await node.stop_kubelet()
        await self.clock.sleep(upgrade.down_for)
        for node in nodes:
            self._expect(node, Start(what="kubelet"), running=False)
            self._note_of_node(node, f"the kubelet {upgrade.kubelet} starts")
            node.start(upgrade.kubelet)

    async def reboot(self, reboot: Reboot) -> None:
        node = self._node(reboot.node)
        self._expect_on(node)
        self._note_of_node(node, "the node is powered off; everything on it stops")
        await node.power_off()
        await self.clock.sleep(reboot.down_for)
        self._note_of_node(node, "the node is up again")
        node.power_on()

    async def crash(self, node: str, crash: Crash) -> None:
        """Crash a component and start it again. A component that is already down is not affected."""
        from kubesim.scenario.language.step_items import Reboot, Restart

        try:
            if crash.what == "node":
                await self.reboot(Reboot.model_validate({"node": node, "downFor": duration(crash.down_for)}))
            elif crash.what in ("apiserver", "connection"):
                await self._lose_api_server([node] if crash.what == "connection" else list(self.nodes), crash.down_for)
            else:
                again = {"what": crash.what, "node": node, "downFor": duration(crash.down_for)}
                await self.restart(Restart.model_validate(again))
        except StepFailed:
            pass

    async def _lose_api_server(self, nodes: Sequence[str], down_for: int) -> None:
        """Cut the connections of these nodes to the API server. Those that are down already are not affected."""
        cut = [self.nodes[name] for name in nodes if self.nodes[name].api.up]
        for node in cut:
            self._note_of_node(node, "the API server cannot be reached")
            node.api.cut()
        await self.clock.sleep(down_for)
        for node in cut:
            if not node.api.up:
                self._note_of_node(node, "the API server can be reached again")
                node.api.restore()

    async def shutdown(self, shutdown: Shutdown) -> None:
        """Simulate a shutdown until the kubelet releases its inhibitor delay. The machine stays on."""
        node = self._node(shutdown.node)
        if not node.kubelet_runs:
            raise StepFailed(f"the kubelet of node {node.name} is not running")
        node_managers = node.kubelet.node_managers
        if node_managers is None or not node_managers.shutdown.is_configured:
            raise StepFailed(f"the kubelet of node {node.name} has no shutdownGracePeriod, so it does not notice")
        self._note_of_node(node, "the machine announces its shutdown")
        await node_managers.shutdown.shut_down()
        self._note_of_node(node, "the kubelet releases its shutdown delay, and the machine powers off")

    def pressure(self, pressure: Pressure) -> None:
        node = self._node(pressure.node)
        available = pressure.available
        reported = ", ".join(f"{signal} is {amount}" for signal, amount in available.items())
        self._note_of_node(node, f"measured on the machine: {reported}")
        for signal, amount in available.items():
            node.machine.set_available(signal, amount)
