"""ListMetricDescriptors and ListPodSandboxMetrics.

Mirrors: containerd internal/cri/server (list_metric_descriptors.go, list_pod_sandbox_metrics.go)
"""

from __future__ import annotations

from typing import Any

from kubesim.runtime.cri.server.metric_table import KINDS, MetricKind, Sample
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.stats_calls import StatsCalls, total_of
from kubesim.runtime.cri.server.store import ServedContainer, ServedSandbox
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.values import part


@part
class MetricCalls:
    node: ServedNode
    stats: StatsCalls

    async def descriptors(self, request: Any) -> Any:
        found = [cri_pb2.MetricDescriptor(name=kind.name, help=kind.help, label_keys=kind.labels) for kind in KINDS]
        return cri_pb2.ListMetricDescriptorsResponse(descriptors=found)

    async def list_all(self, request: Any) -> Any:
        return cri_pb2.ListPodSandboxMetricsResponse(pod_metrics=await self.listed())

    async def listed(self) -> list[Any]:
        """Of sandboxes that are ready."""
        node = self.node
        return [
            await self._of_sandbox(served)
            for served in node.sandboxes
            if (await node.simulated.pod_sandbox_status(served.id)).ready
        ]

    async def _of_sandbox(self, served: ServedSandbox) -> Any:
        node = self.node
        metrics = cri_pb2.PodSandboxMetrics(pod_sandbox_id=served.id)
        usages, created_at = [], (await node.simulated.pod_sandbox_status(served.id)).created_at
        for container in node.containers_of(served.id):
            info = await node.simulated.container_status(container.id)
            usages.append(self.stats.usage(info))
            sample = Sample(usages[-1], container.resources, info.started_at or info.created_at)
            own = metrics.container_metrics.add(container_id=container.id)
            labels = _labels(served, container)
            own.metrics.extend(each for kind in KINDS if not kind.of_pod for each in _metrics(kind, sample, labels))
        total = total_of(usages, node.clock.wall() * 1000)
        sample = Sample(total, cri_pb2.LinuxContainerResources(), created_at)
        labels = _labels(served, None)
        metrics.metrics.extend(each for kind in KINDS for each in _metrics(kind, sample, labels))
        return metrics


def _labels(sandbox: ServedSandbox, container: ServedContainer | None) -> tuple[str, ...]:
    metadata = sandbox.message.metadata
    if container is None:
        return (metadata.name, metadata.namespace, "POD", sandbox.id, "")
    message = container.message
    return (metadata.name, metadata.namespace, message.metadata.name, container.id, message.image.image)


def _metrics(kind: MetricKind, sample: Sample, labels: tuple[str, ...]) -> list[Any]:
    value = cri_pb2.UInt64Value(value=kind.value(sample))
    return [
        cri_pb2.Metric(
            name=kind.name,
            timestamp=sample.usage.now,
            metric_type=kind.type,
            label_values=(*labels, *more),
            value=value,
        )
        for more in kind.more
    ]
