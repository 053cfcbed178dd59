"""Kubelet v1.12: CNI behind dockershim, from the start of the kubelet to the network of a pod."""

from __future__ import annotations

from typing import Final

from tools.walks.steps import Shown, Step, Walk

_HELLO = "kubesim run -v --profile v1.12 --runtime cni scenarios/hello-pod.yaml"
_INPUT = "kubesim run -o jsonl --profile v1.12 --runtime cni scenarios/hello-pod.yaml"

_START = Shown(
    _HELLO,
    (
        Step(
            "The kubelet calls CRI; dockershim answers it within the same process",
            "pkg/kubelet/kubelet.go NewMainKubelet, case DockerContainerRuntime",
            "NewDockerService: keep checkpoints in /var/lib/dockershim/sandbox",
        ),
        Step(
            "Streaming of exec, attach and port-forward is configured",
            "pkg/kubelet/kubelet.go getStreamingConfig",
            "NewDockerService: set up streaming — exec, attach and port-forward are served on localhost",
        ),
        Step(
            "Plugins are probed; a plugin reads its directory then, as well as it can",
            "dockershim/network/cni/cni.go ProbeNetworkPlugins",
            "NewDockerService: probe network plugins: cni",
        ),
        Step(
            "The chosen one is initialized with hairpin mode, range and MTU, finds nsenter, reads its directory again",
            "dockershim/network/plugins.go InitNetworkPlugin; cni.go Init, platformInit, syncNetworkConfig",
            "Init of plugin cni with hairpin mode hairpin-veth, MTU 0, no masquerade for 10.0.0.0/8 — it finds nsenter",
        ),
        Step("InitNetworkPlugin logs its choice", "plugins.go InitNetworkPlugin", 'Loaded network plugin "cni"'),
        Step(
            "A plugin manager serves from now on, one operation of a pod at a time",
            "docker_service.go NewDockerService, plugins.go NewPluginManager",
            "Docker cri networking managed by cni",
        ),
        Step(
            "The gRPC server of the shim starts",
            "dockershim/remote/docker_server.go Start",
            "Starting the GRPC server for the docker CRI shim. — unix:///var/run/dockershim.sock",
        ),
    ),
    about="The start of the kubelet.",
)

_CHOICES = (
    Shown(
        "kubesim run -v tests/tools/walk/journald.yaml",
        (
            Step(
                "With a log driver that CRI cannot read, the legacy log service stays",
                "docker_service.go IsCRISupportedLogDriver",
                "NewMainKubelet: use the legacy log service — docker logs with journald, which CRI does not know",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.12 scenarios/versions/v1.12-kubenet.yaml",
        (
            Step("kubenet is probed beside cni", "docker_service.go NewDockerService", "plugins: cni, kubenet"),
            Step("It can be chosen by its name", "kubenet/kubenet_linux.go", "networking managed by kubenet"),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.12 --network-plugin '' scenarios/hello-pod.yaml",
        (
            Step(
                "Without a name the no-op plugin serves: docker's own bridge",
                "plugins.go InitNetworkPlugin, NoopNetworkPlugin",
                "Docker cri networking managed by kubernetes.io/no-op",
            ),
        ),
    ),
    Shown(
        "kubesim run --profile v1.12 --network-plugin weave --cni-bin-dir /usr/lib/cni,/tmp scenarios/hello-pod.yaml",
        (
            Step(
                "A name that no plugin has stops the kubelet, which prints its settings",
                "docker_service.go NewDockerService",
                "didn't find compatible CNI plugin with given settings &{HairpinMode:hairpin-veth",
            ),
            Step(
                "Commas separate the directories of plugins",
                "dockershim/network/cni/cni.go SplitDirs",
                "PluginBinDirs:[/usr/lib/cni /tmp]",
            ),
            Step("The error of InitNetworkPlugin is at its end", "plugins.go", 'Network plugin "weave" not found.'),
        ),
        exit=2,
    ),
    Shown(
        "kubesim run tests/tools/walk/no-nsenter.yaml",
        (
            Step(
                "A plugin that cannot be initialized stops it, too",
                "plugins.go InitNetworkPlugin, cni.go platformInit",
                'Network plugin "cni" failed init: exec: "nsenter": executable file not found in $PATH',
            ),
        ),
        exit=2,
    ),
    Shown(
        "kubesim run -v --profile v1.12 --runtime cni --cni-conf-dir tests/tools/walk/net.d scenarios/hello-pod.yaml",
        (
            Step(
                "Files are read by name; one that cannot be parsed is passed over",
                "cni.go getDefaultCNINetwork",
                "Error loading CNI config file 00-broken.conf: error parsing configuration",
            ),
            Step(
                "So is a list in a file for one plugin",
                "cni.go getDefaultCNINetwork",
                "Error loading CNI config file 05-list.conf: no 'type'; perhaps this is a .conflist?",
            ),
            Step("And a list without plugins", "cni.go getDefaultCNINetwork", "10-empty.conflist"),
            Step("The first that loads is used", "cni.go", "Using CNI configuration file 20-mynet.conf"),
            Step("Its type is the name of the program", "cni.go addToNetwork", "ADD bridge — the sandbox is attached"),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-network-not-ready.yaml",
        (
            Step(
                "Until a file loads the network is not ready; each status reads the directory again",
                "cni.go Status, checkInitialized, syncNetworkConfig",
                "network plugin is not ready: cni config uninitialized",
            ),
        ),
    ),
)

_SOURCES = (
    Shown(
        "kubesim run -v --profile v1.12 scenarios/three-sources.yaml",
        (
            Step("Pods come from a directory", "kubelet.go makePodSourceConfig, NewSourceFile", "ADD from source file"),
            Step("From a URL", "config.NewSourceURL", "ADD from source http"),
            Step("And from the API server, which is listed and watched", "NewSourceApiserver", "ADD from source api"),
            Step(
                "A static pod gets a mirror at the API server",
                "kubelet.go syncPod, mirror_client.go",
                "disk-node-1 ADD from source api",
            ),
            Step(
                "The mux merges what the sources want into one channel of operations",
                "pkg/kubelet/config/config.go podStorage.merge",
                "the uid is new to this source",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-restore.yaml",
        (
            Step(
                "Checkpoints are restored before the API server is asked",
                "config.go Restore; syncLoopIteration case RESTORE",
                "the previous kubelet saved this pod in a checkpoint",
            ),
        ),
    ),
)

_MODES = (
    Shown(
        "kubesim run -v scenarios/versions/v1.12-snapshot-updates.yaml",
        (
            Step(
                "In another mode the mux reports all pods at once",
                "config.go, PodConfigNotificationMode",
                "SET from source",
            ),
            Step("The loop has no handler for that", "case SET", "Kubelet does not support snapshot update"),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-closed-config.yaml",
        (
            Step(
                "A channel that is closed ends the loop",
                "kubelet.go syncLoopIteration",
                "Update channel is closed, exiting the sync loop",
            ),
        ),
    ),
)

_LOOP = (
    Shown(
        "kubesim run -v scenarios/versions/v1.12-slow-removal.yaml",
        (
            Step("ADD", "kubelet.go syncLoopIteration", "channel config (ready: config) — ADD from source api"),
            Step("RECONCILE: only the status changed", "HandlePodReconcile", "RECONCILE from source api"),
            Step(
                "DELETE is handled as an update", "HandlePodUpdates", "DELETE from source api — a known pod is marked"
            ),
            Step("REMOVE: the object is gone", "HandlePodRemoves", "REMOVE from source api"),
            Step("PLEG: a container started or died", "plegCh, isSyncPodWorthy", "ContainerDied of main"),
        ),
        about="The channels of the sync loop, one item at a time.",
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-deadline.yaml",
        (
            Step("SYNC: pods whose time has come, every second", "syncCh, getPodsToSync", "channel sync (ready: sync"),
            Step("Housekeeping, once all sources have spoken", "housekeepingCh", "HandlePodCleanups"),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.12 --until 30s tests/tools/walk/liveness.yaml",
        (
            Step(
                "A failed liveness probe syncs its pod",
                "kubelet.go syncLoopIteration, livenessManager.Updates",
                "channel liveness (ready: liveness) — the liveness result is now failure",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-readiness.yaml",
        (
            Step(
                "Readiness has no channel in the loop: the probe manager writes it into the status",
                "prober/prober_manager.go updateReadiness",
                "Ready=False (ContainersNotReady)",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.12 scenarios/kubelet-restart.yaml",
        (
            Step(
                "While the runtime or the PLEG has a problem the loop sleeps, 100 ms and doubling",
                "kubelet.go syncLoop, runtimeState.runtimeErrors",
                "skipping pod synchronization: PLEG is not healthy: pleg has yet to be successful",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-one-update.yaml",
        (
            Step(
                "A worker keeps one update while it syncs, the newest",
                "pod_workers.go UpdatePod, lastUndeliveredWorkUpdate",
                "kept until the current sync ends: a sync is never cancelled",
            ),
        ),
    ),
)

_SANDBOX = (
    Shown(
        _HELLO,
        (
            Step("The sync creates a sandbox first", "kuberuntime_manager.go SyncPod", "create sandbox, start main"),
            Step(
                "1. The image of the sandbox",
                "dockershim/docker_sandbox.go RunPodSandbox, ensureSandboxImageExists",
                "RunPodSandbox: ensure the sandbox image — pause:3.1 is on the node",
            ),
            Step(
                "2. The sandbox container is created, and its network counts as not ready",
                "makeSandboxDockerConfig, CreateContainer, setNetworkReady",
                "RunPodSandbox: create the sandbox container — docker has it, but it does not run yet",
            ),
            Step(
                "3. A checkpoint of it is written",
                "constructPodSandboxCheckpoint",
                "RunPodSandbox: write the checkpoint",
            ),
            Step(
                "4. It is started, before it has a network",
                "StartContainer",
                "RunPodSandbox: start the sandbox container — pause runs before the network is set up",
            ),
            Step(
                "Its resolv.conf is written over that of docker",
                "rewriteResolvFile",
                "RunPodSandbox: rewrite resolv.conf — the DNS settings of the pod replace those of docker",
            ),
            Step(
                "5. The plugin adds loopback", "cni.go SetUpPod, addToNetwork", "ADD loopback — the sandbox is attached"
            ),
            Step(
                "Then the chosen network, plugin by plugin", "AddNetworkList", "ADD portmap — the sandbox is attached"
            ),
            Step("SetUpPod has succeeded", "plugins.go SetUpPod", "SetUpPod — network plugin cni attaches the sandbox"),
            Step(
                "The address is read in the namespace",
                "cni.go GetPodNetworkStatus",
                "read the address — nsenter runs ip addr in the network namespace of the sandbox",
            ),
        ),
        about="RunPodSandbox in dockershim's order.",
    ),
    Shown(
        "kubesim run -q --profile v1.12 --feature-gates RuntimeClass=true scenarios/nodes/runtime-class.yaml",
        (
            Step(
                "A handler of a RuntimeClass is refused",
                "docker_sandbox.go RunPodSandbox",
                'RuntimeHandler "gvisor" not supported',
            ),
        ),
        exit=1,
        about="The expectations of this scenario are those of containerd, so it ends with 1.",
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-name-conflict.yaml",
        (
            Step(
                "A name that is taken: the container that has it is removed, or the name gets a random end",
                "helpers.go recoverFromCreationConflictIfNeeded",
                "docker does not know the container 3f2a9c61b07d, which has the name",
            ),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.12 scenarios/containers/host-aliases.yaml",
        (
            Step(
                "A pod on the network of the node calls no plugin",
                "docker_sandbox.go RunPodSandbox, NamespaceMode_NODE",
                "RunPodSandbox: no network — the pod is on the network of the node",
            ),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.12-failed-add.yaml",
        (
            Step("A plugin refuses", "SetUpPod", "SetUpPod failed: NetworkPlugin cni failed to set up pod"),
            Step(
                "What it may have done is undone", "TearDownPod", "TearDownPod — what the failed set-up may have left"
            ),
            Step(
                "The sandbox is stopped", "StopContainer", "stop the sandbox container — it stays in the list as exited"
            ),
            Step(
                "The errors of all three are one text",
                "utilerrors.NewAggregate",
                "failed to set up sandbox container",
            ),
        ),
    ),
    Shown(
        _INPUT,
        (
            Step(
                "A plugin gets the pod in CNI_ARGS, in a fixed order",
                "cni.go buildCNIRuntimeConf",
                '"CNI_ARGS": "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=hello;K8S_POD_INFRA_CONTAINER_ID=',
            ),
            Step("And reads the configuration from stdin", "libcni AddNetworkList", '"stdin": {"bridge": "cni0",'),
            Step(
                "With the host ports of the pod, from its checkpoint",
                "docker_service.go portMappingGetter",
                '"runtimeConfig": {"portMappings": []}',
            ),
        ),
        about="What plugins are given.",
    ),
)

WALK: Final = Walk(
    "Kubelet v1.12: dockershim and the network of a pod",
    "The kubelet holds the CRI server for docker, and that calls CNI.",
    (_START, *_CHOICES, *_SOURCES, *_LOOP, *_MODES, *_SANDBOX),
)
