"""One life of the kubelet on a simulated node: its connection, its sources, its Events and the agent itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import Randomness
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store.informer import MemoryInformer
from kubesim.cluster.store.object_watch import MemoryObjectWatcher
from kubesim.kubelet.agent import Dependencies, Kubelet
from kubesim.kubelet.context import KubeletContext
from kubesim.kubelet.events.event_recorder import KubeletEvents
from kubesim.kubelet.node.node_managers import NodeParts
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.volumes.manager import VolumeParts
from kubesim.runtime.volume_directories import VolumeDirectories
from kubesim.scenario.play.node.node_context import NodeContext
from kubesim.scenario.play.node.static_sources import file_plan, url_plan
from kubesim.sources import file, http, memory
from kubesim.sources.checkpoint import PodCheckpoints
from kubesim.sources.config import ConfigStream, Source, StaticSource
from kubesim.sources.file import FileSource
from kubesim.sources.http import HttpSource
from kubesim.sources.manifests.manifest_files import ManifestFiles
from kubesim.sources.manifests.manifest_url import ManifestUrl
from kubesim.sources.manifests.real_files import RealFiles
from kubesim.sources.memory import ClusterSource
from kubesim.sources.modes import INCREMENTAL
from kubesim.sources.mux import DroppedPod
from kubesim.trace import Recorder
from kubesim.trace.records import Note

if TYPE_CHECKING:
    from kubesim.scenario.play.node.simulated_node import SimulatedNode

API_LATENCIES = ApiLatencies(get=2 * MILLISECOND, patch=5 * MILLISECOND)
WATCH_LATENCY = 5 * MILLISECOND
NODE_SYNC = 1 * SECOND  # pods are requested once the agent has its own Node; it polls every second


class NodeAgent:
    """One life of the kubelet on a node."""

    def __init__(
        self, node: SimulatedNode, context: NodeContext, settings: KubeletSettings, randomness: Randomness
    ) -> None:
        clock, recorder, name = context.clock, context.recorder, node.name
        self.ended = False
        self._clock = clock
        self._tasks = context.tasks.child()
        self._live = live = node.live
        self._context = context
        client, volumes = self._with_faults(
            MemoryClient(clock, context.store, API_LATENCIES, node.api)
            if live is None
            else live.client(name, clock, context.store, API_LATENCIES, node.api, recorder),
            node,
        )
        stream, rate = randomness.stream("events"), {"qps": settings.event_qps, "burst": settings.event_burst}
        self._events = KubeletEvents(client, name, clock, recorder, stream, **rate)
        url = url_plan(context.spec)
        sources = (file.SOURCE, memory.SOURCE) if url is None else (file.SOURCE, http.SOURCE, memory.SOURCE)
        self._config = self._new_config(node, sources)
        self.config_is_open = True
        self._static_sources: list[tuple[StaticSource, bool]] = []  # with whether it reports real pods
        self._add_file_source(node)
        if url is not None:
            self._add_http_source(node)
        self._checkpoints = None
        if node.checkpoints is not None and node.gates.rules.bootstrap_checkpoints:
            self._checkpoints = PodCheckpoints(node.checkpoints, partial(_note, recorder, name))
        self._api_source: Source = ClusterSource(clock, context.store, self._config, name, WATCH_LATENCY, node.api)
        if live is not None:
            own = self._api_source
            self._api_source = live.source(name, clock, self._tasks, recorder, context.store, self._config, own)
        self._objects = MemoryObjectWatcher(clock, context.store, node.api)
        # Kubelets with bootstrap checkpoints started pods before they had listed Services.
        self._services = MemoryInformer(clock, context.store, "Service", node.api, synced=self._checkpoints is not None)
        self._connection = node.service.connect(
            settings.runtime_request_timeout, limits_sandboxes=node.gates.rules.sandbox_order != "dockertools"
        )
        supplies, network = node.supplies, node.supplies.network or node.network
        parts = NodeParts(supplies.stats or node.machine, self._events, supplies.log_files or node.log_files)
        self.kubelet = Kubelet(
            KubeletContext(clock, randomness, recorder, self._tasks, settings, self._events, node.gates),
            Dependencies(
                self._connection,
                network,
                client,
                self._config,
                VolumeParts(volumes, self._objects, client.read, context.store.signed_token),
                node.disk,
                admission=node.admission(),
                node=parts,
                find=context.store.find,
                checkpoints=self._checkpoints,
                known_answers=None if live is None else live.known_answers,
                device_plugins=node.device_plugins,
                dra_drivers=node.dra_drivers,
                services=self._services,
                probed=context.probed,
            ),
        )

    def _with_faults(self, client: MemoryClient, node: SimulatedNode) -> tuple[MemoryClient, VolumeDirectories]:
        """The client and the volumes, with faults if the scenario has any."""
        interceptor, volumes = self._context.interceptor, node.supplies.volumes or node.volumes
        if interceptor is None:
            return client, volumes
        from kubesim.scenario.faults.client import InterceptedClient
        from kubesim.scenario.faults.volumes import InterceptedVolumes

        faulty = cast(MemoryClient, InterceptedClient(client, node.name, interceptor))
        return faulty, InterceptedVolumes(volumes, node.name, interceptor, self._pod_name)

    def _pod_name(self, uid: str) -> str:
        """Namespace and name of the pod with this uid, to match faults."""
        found = (pod.metadata for pod in self._context.store.list("Pod") if pod.metadata.uid == uid)
        return next((f"{metadata.namespace}/{metadata.name}" for metadata in found), "")

    def _new_config(self, node: SimulatedNode, sources: Sequence[str]) -> ConfigStream:
        context, rules = self._context, node.gates.rules
        return ConfigStream(
            self._clock,
            context.recorder,
            sources,
            node.name,
            received=self._received,
            gets_changes=node.live is not None,
            dropped=self._dropped,
            mode=context.spec.sources.notification_mode if rules.has_config_modes else INCREMENTAL,
        )

    def _add_file_source(self, node: SimulatedNode) -> None:
        context, plan = self._context, file_plan(self._context.spec)
        files: ManifestFiles = RealFiles(plan.path, self._clock, self._tasks) if plan.real else node.manifests
        source = FileSource(
            self._clock,
            self._tasks,
            context.recorder,
            self._config,
            files,
            node.name,
            period=plan.period,
            gates=node.gates,
        )
        self._static_sources.append((source, plan.real))

    def _add_http_source(self, node: SimulatedNode) -> None:
        context, plan = self._context, url_plan(self._context.spec)
        assert plan is not None
        url: ManifestUrl | None = context.url
        if url is None:
            from kubesim.sources.manifests.real_url import RealUrl

            url = RealUrl(plan.url, self._clock, plan.options)
        source = HttpSource(
            self._clock,
            self._tasks,
            context.recorder,
            self._config,
            url,
            node.name,
            period=plan.period,
            gates=node.gates,
        )
        self._static_sources.append((source, plan.real))

    def _received(self, source: str, pods: Sequence[Pod]) -> None:
        """Handle static pods. A mirror pod needs its namespace, which exists in a real cluster."""
        if source != memory.SOURCE:
            for pod in pods:
                ensure_namespace(self._context.store, pod.metadata.namespace)
        if source != memory.SOURCE or self._live is not None:
            self._context.received(pods)

    def _dropped(self, duplicate: DroppedPod) -> None:
        self._events.event(duplicate.pod, "Warning", "FailedValidation", duplicate.message)

    def start(self) -> None:
        """Start the kubelet. Real sources are read only from here on, so that the story has the result."""
        self._tasks.start("events", self._events.run())
        self._services.start()
        # cmd/kubelet/app server.go createAndInitKubelet: BirthCry, before anything runs.
        self._events.node_event("Normal", "Starting", "Starting kubelet.")
        self.kubelet.start()
        now, delay = self._clock.now(), self.kubelet.settings.sync_loop_starts
        for source, real in self._static_sources:
            begin = max(now, VIRTUAL_START) if real else now
            self._clock.call_at(begin + delay, self._start_source, source)
        if self._checkpoints is not None:
            self._config.restore(memory.SOURCE, self._checkpoints.load())
        begin = now if self._live is None else max(now, VIRTUAL_START)
        self._clock.call_at(begin + NODE_SYNC, self._start_source, self._api_source)

    def withdraw_real_sources(self) -> None:
        for source, real in self._static_sources:
            if real and not self.ended:
                source.withdraw()

    def _start_source(self, source: Source) -> None:
        if not self.ended and self.config_is_open:
            source.start()

    def close_config(self) -> None:
        self.config_is_open = False
        self._stop_sources()
        self._config.close()

    def _stop_sources(self) -> None:
        for source, _ in self._static_sources:
            source.stop()
        self._api_source.stop()

    async def end(self) -> None:
        self.ended = True
        self._stop_sources()
        self._objects.stop()
        self._services.stop()
        self._connection.close()
        await self.kubelet.close()
        await self._tasks.kill()


def _note(recorder: Recorder, node: str, text: str) -> None:
    recorder.record(Note(node=node, text=text))
