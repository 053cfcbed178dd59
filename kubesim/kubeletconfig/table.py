"""The table of KubeletConfiguration v1beta1 fields.

Each row is a field: name, type, kubelet flag (a dot: none), and default (a dot: none, zero, or irrelevant for kubesim).
A star before the name marks a field that kubesim simulates; all others are known and checked, but have no effect. A
star before the type marks a pointer: an explicit zero then differs from a field that is not set.

Mirrors: staging kubelet/config/v1beta1/types.go; pkg/kubelet/apis/config/v1beta1/defaults.go; cmd/kubelet/app/options
"""

from __future__ import annotations

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"

STRUCTS: dict[str, str] = {
    KIND: """\
enableServer                               *bool                 enable-server                        true
*staticPodPath                             string                pod-manifest-path                    .
podLogsDir                                 string                .                                    /var/log/pods
*syncFrequency                             Duration              sync-frequency                       1m
*fileCheckFrequency                        Duration              file-check-frequency                 20s
*httpCheckFrequency                        Duration              http-check-frequency                 20s
*staticPodURL                              string                manifest-url                         .
*staticPodURLHeader                        map[string][]string   manifest-url-header                  .
address                                    string                address                              0.0.0.0
port                                       int32                 port                                 10250
readOnlyPort                               int32                 read-only-port                       .
tlsCertFile                                string                tls-cert-file                        .
tlsPrivateKeyFile                          string                tls-private-key-file                 .
tlsCipherSuites                            []string              tls-cipher-suites                    .
tlsCurvePreferences                        []int32               .                                    .
tlsMinVersion                              string                tls-min-version                      .
rotateCertificates                         bool                  rotate-certificates                  .
serverTLSBootstrap                         bool                  rotate-server-certificates           .
authentication                             Authentication        .                                    .
authorization                              Authorization         .                                    .
*registryPullQPS                           *int32                registry-qps                         5
*registryBurst                             int32                 registry-burst                       10
*imagePullCredentialsVerificationPolicy    string                .                                    .
*preloadedImagesVerificationAllowlist      []string              .                                    .
*eventRecordQPS                            *int32                event-qps                            50
*eventBurst                                int32                 event-burst                          100
enableDebuggingHandlers                    *bool                 enable-debugging-handlers            true
enableContentionProfiling                  bool                  contention-profiling                 .
healthzPort                                *int32                healthz-port                         10248
healthzBindAddress                         string                healthz-bind-address                 127.0.0.1
oomScoreAdj                                *int32                oom-score-adj                        -999
*clusterDomain                             string                cluster-domain                       .
*clusterDNS                                []string              cluster-dns                          .
streamingConnectionIdleTimeout             Duration              streaming-connection-idle-timeout    4h
*nodeStatusUpdateFrequency                 Duration              node-status-update-frequency         10s
nodeStatusReportFrequency                  Duration              .                                    5m
*nodeLeaseDurationSeconds                  int32                 .                                    40
*imageMinimumGCAge                         Duration              minimum-image-ttl-duration           2m
*imageMaximumGCAge                         Duration              .                                    .
*imageGCHighThresholdPercent               *int32                image-gc-high-threshold              85
*imageGCLowThresholdPercent                *int32                image-gc-low-threshold               80
volumeStatsAggPeriod                       Duration              volume-stats-agg-period              1m
kubeletCgroups                             string                kubelet-cgroups                      .
systemCgroups                              string                system-cgroups                       .
*cgroupRoot                                string                cgroup-root                          .
*cgroupsPerQOS                             *bool                 cgroups-per-qos                      true
*cgroupDriver                              string                cgroup-driver                        cgroupfs
*cpuManagerPolicy                          string                cpu-manager-policy                   none
singleProcessOOMKill                       *bool                 .                                    .
*cpuManagerPolicyOptions                   map[string]string     cpu-manager-policy-options           .
*cpuManagerReconcilePeriod                 Duration              cpu-manager-reconcile-period         10s
*memoryManagerPolicy                       string                memory-manager-policy                None
*topologyManagerPolicy                     string                topology-manager-policy              none
*topologyManagerScope                      string                topology-manager-scope               container
*topologyManagerPolicyOptions              map[string]string     topology-manager-policy-options      .
qosReserved                                map[string]string     qos-reserved                         .
*runtimeRequestTimeout                     Duration              runtime-request-timeout              2m
hairpinMode                                string                hairpin-mode                         promiscuous-bridge
*maxPods                                   int32                 max-pods                             110
*podCIDR                                   string                pod-cidr                             .
podPidsLimit                               *int64                pod-max-pids                         -1
*resolvConf                                *string               resolv-conf                          /etc/resolv.conf
runOnce                                    bool                  runonce                              .
cpuCFSQuota                                *bool                 cpu-cfs-quota                        true
cpuCFSQuotaPeriod                          *Duration             cpu-cfs-quota-period                 100ms
nodeStatusMaxImages                        *int32                node-status-max-images               50
maxOpenFiles                               int64                 max-open-files                       1000000
contentType                                string                kube-api-content-type                .
kubeAPIQPS                                 *int32                kube-api-qps                         50
kubeAPIBurst                               int32                 kube-api-burst                       100
*serializeImagePulls                       *bool                 serialize-image-pulls                .
*maxParallelImagePulls                     *int32                .                                    .
*evictionHard                              map[string]string     eviction-hard                        .
*evictionSoft                              map[string]string     eviction-soft                        .
*evictionSoftGracePeriod                   map[string]string     eviction-soft-grace-period           .
*evictionPressureTransitionPeriod          Duration              eviction-pressure-transition-period  5m
*evictionMaxPodGracePeriod                 int32                 eviction-max-pod-grace-period        .
*evictionMinimumReclaim                    map[string]string     eviction-minimum-reclaim             .
*mergeDefaultEvictionSettings              *bool                 .                                    false
*podsPerCore                               int32                 pods-per-core                        .
enableControllerAttachDetach               *bool                 enable-controller-attach-detach      true
protectKernelDefaults                      bool                  protect-kernel-defaults              .
makeIPTablesUtilChains                     *bool                 make-iptables-util-chains            true
iptablesMasqueradeBit                      *int32                .                                    14
iptablesDropBit                            *int32                .                                    15
*featureGates                              map[string]bool       feature-gates                        .
*failSwapOn                                *bool                 fail-swap-on                         true
*memorySwap                                MemorySwap            .                                    .
*containerLogMaxSize                       string                container-log-max-size               10Mi
*containerLogMaxFiles                      *int32                container-log-max-files              5
containerLogMaxWorkers                     *int32                .                                    1
*containerLogMonitorInterval               *Duration             .                                    10s
configMapAndSecretChangeDetectionStrategy  string                .                                    Watch
*systemReserved                            map[string]string     system-reserved                      .
*kubeReserved                              map[string]string     kube-reserved                        .
*reservedSystemCPUs                        string                reserved-cpus                        .
showHiddenMetricsForVersion                string                .                                    .
systemReservedCgroup                       string                system-reserved-cgroup               .
kubeReservedCgroup                         string                kube-reserved-cgroup                 .
*enforceNodeAllocatable                    []string              enforce-node-allocatable             pods
*allowedUnsafeSysctls                      []string              allowed-unsafe-sysctls               .
volumePluginDir                            string                volume-plugin-dir                    .
*providerID                                string                provider-id                          .
kernelMemcgNotification                    bool                  kernel-memcg-notification            .
logging                                    Logging               .                                    .
enableSystemLogHandler                     *bool                 .                                    true
enableSystemLogQuery                       *bool                 .                                    .
*shutdownGracePeriod                       Duration              .                                    .
*shutdownGracePeriodCriticalPods           Duration              .                                    .
*shutdownGracePeriodByPodPriority          []ByPodPriority       .                                    .
*crashLoopBackOff                          CrashLoopBackOff      .                                    .
*reservedMemory                            []MemoryReservation   reserved-memory                      .
enableProfilingHandler                     *bool                 .                                    true
enableDebugFlagsHandler                    *bool                 .                                    true
seccompDefault                             *bool                 seccomp-default                      false
memoryThrottlingFactor                     *float64              .                                    0.9
memoryReservationPolicy                    string                .                                    None
*registerWithTaints                        []Taint               register-with-taints                 .
registerNode                               *bool                 register-node                        true
tracing                                    *Tracing              .                                    .
localStorageCapacityIsolation              *bool                 local-storage-capacity-isolation     true
containerRuntimeEndpoint                   string                container-runtime-endpoint           .
imageServiceEndpoint                       string                image-service-endpoint               .
failCgroupV1                               *bool                 fail-cgroupv1                        true
userNamespaces                             *UserNamespaces       .                                    .
""",
    "Authentication": """\
x509                                       X509                  .                                    .
webhook                                    WebhookAuthentication .                                    .
anonymous                                  Anonymous             .                                    .
""",
    "X509": """\
*clientCAFile                              string                client-ca-file                       .
""",
    "WebhookAuthentication": """\
*enabled                                   *bool                 authentication-token-webhook         true
*cacheTTL                                  Duration              authentication-token-webhook-cache-ttl 2m
""",
    "Anonymous": """\
*enabled                                   *bool                 anonymous-auth                       false
""",
    "Authorization": """\
*mode                                      string                authorization-mode                   Webhook
webhook                                    WebhookAuthorization  .                                    .
""",
    "WebhookAuthorization": """\
*cacheAuthorizedTTL                        Duration              authorization-webhook-cache-authorized-ttl 5m
*cacheUnauthorizedTTL                      Duration              authorization-webhook-cache-unauthorized-ttl 30s
""",
    "MemorySwap": """\
*swapBehavior                              string                .                                    .
""",
    "CrashLoopBackOff": """\
*maxContainerRestartPeriod                 *Duration             .                                    .
""",
    "ByPodPriority": """\
priority                                   int32                 .                                    .
shutdownGracePeriodSeconds                 int64                 .                                    .
""",
    "MemoryReservation": """\
numaNode                                   int32                 .                                    .
limits                                     map[string]Quantity   .                                    .
""",
    "Taint": """\
key                                        string                .                                    .
value                                      string                .                                    .
effect                                     string                .                                    .
timeAdded                                  string                .                                    .
""",
    "Tracing": """\
endpoint                                   *string               .                                    .
*samplingRatePerMillion                    *int32                .                                    .
""",
    "UserNamespaces": """\
*idsPerPod                                 *int64                .                                    .
""",
    "Logging": """\
*format                                    string                logging-format                       text
flushFrequency                             TimeOrDuration        log-flush-frequency                  5s
*verbosity                                 uint32                v                                    .
vmodule                                    []VModuleItem         .                                    .
options                                    FormatOptions         .                                    .
""",
    "VModuleItem": """\
filePattern                                string                .                                    .
verbosity                                  uint32                .                                    .
""",
    "FormatOptions": """\
text                                       TextOptions           .                                    .
json                                       JSONOptions           .                                    .
""",
    "TextOptions": """\
splitStream                                bool                  log-text-split-stream                .
infoBufferSize                             Quantity              log-text-info-buffer-size            .
""",
    "JSONOptions": """\
splitStream                                bool                  log-json-split-stream                .
infoBufferSize                             Quantity              log-json-info-buffer-size            .
""",
}
