"""Settings of the kubelet: periods, phases and limits. The defaults are those of v1.36.

`jitter=False` uses the base value of every delay. A phase is the offset of a periodic task from the start of the
kubelet. Phases are arbitrary on a real node; a test sets them.
"""

from __future__ import annotations

from dataclasses import field

from kubesim.api.timestamps import MILLISECOND, MINUTE, SECOND
from kubesim.kubelet.cm.settings import ResourceManagerSettings
from kubesim.kubelet.containers.log_rotation import LogRotatePolicy
from kubesim.kubelet.eviction.thresholds import EvictionConfig
from kubesim.kubelet.images.image_gc import ImageGCPolicy
from kubesim.kubelet.node.node_shutdown import ShutdownGracePeriod
from kubesim.kubelet.resize.resize_feasibility import NodePolicies
from kubesim.kubelet.sandbox.settings import SandboxSettings
from kubesim.runtime.allocation.swap import NodeSwap
from kubesim.runtime.images.image_manager import ImagePullSettings
from kubesim.values import value_object


@value_object
class KubeletSettings:
    node_name: str = "node-1"
    host_ips: tuple[str, ...] = ("10.0.0.1",)
    port: int = 0  # of its server for an API server; 0: it has none
    max_pods: int = 110
    jitter: bool = True

    sync_tick_period: int = SECOND
    housekeeping_period: int = 2 * SECOND
    relist_period: int = SECOND
    list_duration: int = 0  # duration of one list call of the runtime
    relist_threshold: int = 3 * MINUTE
    resync_interval: int = MINUTE
    backoff_period: int = 10 * SECOND
    status_sync_period: int = 10 * SECOND
    container_gc_period: int = MINUTE
    runtime_poll_period: int = 5 * SECOND
    runtime_request_timeout: int = 2 * MINUTE
    runtime_down_backoff: int = 100 * MILLISECOND
    runtime_down_backoff_max: int = 5 * SECOND
    volume_loop_period: int = 101 * MILLISECOND  # 100 ms after the end of a round, which itself takes about one

    # Start time of each component, in microseconds after the start of the kubelet.
    status_manager_starts: int = 0
    container_gc_starts: int = 0
    pleg_starts: int = 0
    sync_loop_starts: int = 0
    eviction_starts: int = 0
    image_gc_starts: int = 0
    log_rotation_starts: int = 0
    node_status_starts: int = 0
    volume_populator_starts: int = 0
    volume_reconciler_starts: int = 0

    node_status_period: int = 10 * SECOND
    lease_duration_s: int = 40

    resource_managers: ResourceManagerSettings = field(default_factory=ResourceManagerSettings)
    policies: NodePolicies = field(default_factory=NodePolicies)
    image_pulls: ImagePullSettings = field(default_factory=ImagePullSettings)
    event_qps: int = 50
    event_burst: int = 100
    max_container_restart_period: int = 300 * SECOND
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    containers_to_keep: int = 1  # dead containers per container name
    swap: NodeSwap | None = None
    app_armor_enabled: bool = True
    eviction: EvictionConfig = field(default_factory=EvictionConfig)
    image_gc: ImageGCPolicy = field(default_factory=ImageGCPolicy)
    log_rotation: LogRotatePolicy = field(default_factory=LogRotatePolicy)
    shutdown_periods: tuple[ShutdownGracePeriod, ...] = ()  # empty: graceful node shutdown is off
