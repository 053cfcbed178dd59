"""Kubelet v1.6: network plugins in the kubelet, and pods by dockertools."""

from __future__ import annotations

from typing import Final

from tools.walks.steps import Shown, Step, Walk

_HELLO = "kubesim run -v --profile v1.6 --runtime cni --cni-bin-dir /usr/lib/cni scenarios/hello-pod.yaml"
_PLUGIN_DIR = "--network-plugin-dir tests/tools/walk/net.d"

WALK: Final = Walk(
    "Kubelet v1.6: plugins are loaded, and a pod gets its network",
    "No shim: docker is called by the kubelet, and so are the plugins.",
    (
        Shown(
            _HELLO,
            (
                Step(
                    "Plugins are among the dependencies of the kubelet, before it is made",
                    "cmd/kubelet/app/server.go run, UnsecuredKubeletDeps; plugins.go ProbeNetworkPlugins",
                    "UnsecuredKubeletDeps: probe network plugins: cni",
                ),
                Step(
                    "NewMainKubelet initializes the chosen one with hairpin mode, range and MTU",
                    "pkg/kubelet/kubelet.go NewMainKubelet, network/plugins.go InitNetworkPlugin",
                    "NewMainKubelet: Init of plugin cni with hairpin mode hairpin-veth, MTU 0, no masquerade for",
                ),
                Step(
                    "Init finds nsenter and reads the directory a second time",
                    "network/cni/cni.go Init, LookPath, syncNetworkConfig",
                    "it finds nsenter in PATH and reads its directory again, as it did when it was probed",
                ),
                Step(
                    "The first file with .conf that can be read is the network; lists are not read",
                    "cni.go getDefaultCNINetwork, libcni.ConfFiles",
                    "NewMainKubelet: Using CNI configuration file",
                ),
                Step("The plugin is chosen by its name", "cni.go Name", 'Loaded network plugin "cni"'),
            ),
            about="The flags of that kubelet are options: `--network-plugin`, `--cni-conf-dir`, `--cni-bin-dir`.",
        ),
        Shown(
            "kubesim run -v --profile v1.6 scenarios/hello-pod.yaml",
            (Step("The second plugin is kubenet", "kubenet.NewPlugin", "probe network plugins: cni, kubenet"),),
        ),
        Shown(
            f"kubesim run -v --profile v1.6 --runtime cni {_PLUGIN_DIR} --until 8s scenarios/hello-pod.yaml",
            (
                Step(
                    "Without --cni-conf-dir the directory of network plugins has the configurations",
                    "cmd/kubelet/app/plugins.go ProbeNetworkPlugins",
                    "Error loading CNI config file 00-broken.conf",
                ),
                Step(
                    "A file is not asked for a type: a list in a .conf is chosen, and cannot be run",
                    "cni.go getDefaultCNINetwork",
                    "Using CNI configuration file 05-list.conf",
                ),
            ),
            exit=1,
            about="The pod never gets its network, so the expectations fail.",
        ),
        Shown(
            "kubesim run -v scenarios/versions/v1.6-network-not-ready.yaml",
            (
                Step(
                    "Without a network the plugin is not initialized",
                    "cni.go Status, checkInitialized",
                    "cni config uninitialized",
                ),
            ),
            about="The status of the plugin is asked for every 30 s (kubelet_network.go syncNetworkStatus).",
        ),
        Shown(
            "kubesim run --profile v1.6 --network-plugin weave scenarios/hello-pod.yaml",
            (
                Step(
                    "A missing plugin stops it",
                    "InitNetworkPlugin",
                    'error: Network plugin "weave" not found.',
                ),
            ),
            exit=2,
        ),
        Shown(
            _HELLO,
            (
                Step(
                    "The infra container is made first; its network is that of all others",
                    "dockertools/docker_manager.go SyncPod, createPodInfraContainer",
                    "createPodInfraContainer: create the infra container",
                ),
                Step(
                    "It runs before it has a network",
                    "createPodInfraContainer",
                    "createPodInfraContainer: start the infra container — it runs before the network is set up",
                ),
                Step("Loopback is added in its namespace", "cni.go SetUpPod, GetNetNS", "ADD loopback"),
                Step("Then the default network", "cni.go addToNetwork", "ADD bridge — the sandbox is attached"),
                Step("SetUpPod has succeeded", "SyncPod", "SetUpPod — network plugin cni attaches the infra container"),
                Step(
                    "The address is read by nsenter",
                    "cni.go GetPodNetworkStatus",
                    "determineContainerIP: read the address — nsenter runs ip addr",
                ),
                Step("At the end DEL of the default network", "cni.go TearDownPod", "DEL bridge"),
            ),
        ),
        Shown(
            "kubesim run -v scenarios/versions/v1.6-failed-add.yaml",
            (
                Step("A failed ADD is an error of its own", "ErrSetupNetwork", "with SetupNetworkError:"),
                Step("The infra container is deleted at once", "SyncPod", "kill the infra container"),
            ),
        ),
        Shown(
            "kubesim run -v --profile v1.6 scenarios/versions/v1.6-docker-bridge.yaml",
            (
                Step(
                    "A pod on the node's network has no SetUpPod",
                    "IsHostNetworkPod",
                    "no network — the pod is on the network of the node",
                ),
            ),
        ),
        Shown(
            "kubesim run -o jsonl --profile v1.6 --runtime cni --cni-bin-dir /usr/lib/cni scenarios/hello-pod.yaml",
            (
                Step(
                    "Programs are looked for in the common directory, then in that of the vendor",
                    "cni.go vendorCNIDir, libcni AddNetwork, invoke.FindInPath",
                    '"CNI_PATH": "/usr/lib/cni:/opt/bridge/bin"',
                ),
                Step(
                    "For loopback it is the other way round",
                    "cni.go getLoNetwork",
                    '"CNI_PATH": "/opt/loopback/bin:/usr/lib/cni"',
                ),
                Step(
                    "A plugin is run with ADD and the bytes of the file",
                    "AddNetwork",
                    '"plugin": "bridge", "command": "ADD"',
                ),
                Step(
                    "Also loopback is called eth0",
                    "addToNetwork, RuntimeConf",
                    '"plugin": "loopback", "command": "ADD"',
                ),
            ),
        ),
    ),
)
