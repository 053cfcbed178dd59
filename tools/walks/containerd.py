"""containerd 2.x: when CNI configurations are loaded, and the arguments of plugins."""

from __future__ import annotations

from typing import Final

from tools.walks.steps import Shown, Step, Walk

_HELLO = "kubesim run -v --runtime cni scenarios/hello-pod.yaml"
_INPUT = "kubesim run -o jsonl --cni-conf-dir tests/tools/walk/capabilities.d tests/tools/walk/ports.yaml"

_START = (
    Shown(
        _HELLO,
        (
            Step(
                "RunPodSandbox makes the namespace before CNI",
                "internal/cri/server/sandbox_run.go RunPodSandbox, netns.NewNetNS",
                "RunPodSandbox: create the network namespace",
            ),
            Step("Then the network is set up", "setupPodNetwork", "RunPodSandbox: set up the network"),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/containers/user-namespaces.yaml",
        (
            Step(
                "A pod with its own user namespace has its network namespace within that",
                "sandbox_run.go setupNetnsWithinUserns",
                "user namespace of ids",
            ),
        ),
    ),
    Shown(
        "kubesim cni config-dump",
        (
            Step("Where plugins are", "config_unix.go defaultNetworkPluginBinDirs", "bin_dirs = ['/opt/cni/bin']"),
            Step("Where configurations are", "DefaultRuntimeConfig", "conf_dir = '/etc/cni/net.d'"),
            Step("One file is loaded", "NetworkPluginMaxConfNum", "max_conf_num = 1"),
            Step("Networks are attached at once", "NetworkPluginSetupSerially", "setup_serially = false"),
        ),
        about="The defaults, as `containerd config dump` prints them.",
    ),
    Shown(
        _HELLO,
        (
            Step(
                "The CRI plugin starts",
                "plugins/cri/cri.go init, initCRIService",
                "CRI plugin: check the configuration",
            ),
            Step(
                "Its CNI library is made",
                "server/service.go NewCRIService, service_linux.go initPlatform",
                "CRI plugin: create the CNI library of the default network",
            ),
            Step(
                "A syncer loads the directory once, and watches it",
                "cni_conf_syncer.go newCNINetConfSyncer",
                "CRI plugin: watch the directory of CNI configurations",
            ),
            Step(
                "The loop of the syncer starts", "service.go Run", "CRI plugin: start the syncer of CNI configurations"
            ),
        ),
    ),
)

_LOAD = (
    Shown(
        "kubesim cni info --conf-dir scenarios/net.d --bin-dir /usr/lib/cni",
        (
            Step("loopback is the first network", "go-cni opts.go WithLoNetwork", '"Name": "cni-loopback"'),
            Step("Its interface is lo", "WithLoNetwork", '"IFName": "lo"'),
            Step("The first valid file is the default network", "WithDefaultConf, loadFromConfDir", '"Name": "mynet"'),
            Step(
                "crictl info shows where it came from",
                "status.go Status, GetConfig",
                '"PluginConfDir": "scenarios/net.d"',
            ),
            Step("And how the last load ended", "lastCNILoadStatus", '"lastCNILoadStatus": "OK"'),
        ),
    ),
    Shown(
        "kubesim cni conf --conf-dir tests/tools/walk/net.d --bin-dir /usr/lib/cni",
        (
            Step(
                "A file that cannot be parsed ends the load; the next is not tried",
                "loadFromConfDir",
                "05-list.conf: not reached: loading ended at 00-broken.conf",
            ),
        ),
        exit=1,
    ),
    Shown(
        "kubesim cni conf --conf-dir scenarios/net.d --bin-dir /usr/lib/cni",
        (Step("What would be loaded, with the types of its plugins", "ConfListFromFile", "10-mynet.conflist"),),
    ),
)

_POD = (
    Shown(
        _HELLO,
        (
            Step("All networks are attached at once", "go-cni cni.go Setup, attachNetworks", "ADD loopback"),
            Step("The plugins of a list run one after the other", "libcni AddNetworkList", "ADD portmap"),
            Step(
                "At the end the last goes first",
                "DelNetworkList",
                "DEL bandwidth — the sandbox is detached, last plugin first",
            ),
        ),
        about="A pod is created: the configuration is in memory already.",
    ),
    Shown(
        _INPUT,
        (
            Step("The type is the program", "libcni addNetwork, FindInPath", '"plugin": "ptp", "command": "ADD"'),
            Step("CNI_CONTAINERID is the sandbox", "invoke/args.go AsEnv", '"CNI_CONTAINERID": "'),
            Step("CNI_NETNS is the namespace", "AsEnv", '"CNI_NETNS": "/var/run/netns/cni-'),
            Step("CNI_IFNAME is eth0", "namespace.go config", '"CNI_IFNAME": "eth0"'),
            Step("CNI_PATH has the directories", "args", '"CNI_PATH": "/usr/lib/cni:/opt/cni/bin"'),
            Step(
                "CNI_ARGS has labels of the pod",
                "sandbox_run.go toCNILabels, cni.WithLabels",
                "K8S_POD_NAMESPACE=default;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=",
            ),
            Step("With its uid", "toCNILabels", ";K8S_POD_UID="),
            Step(
                "stdin keeps all fields of the file",
                "buildOneConfig, InjectConf",
                '"mtu": 1460, "name": "k8s-pod-network"',
            ),
            Step(
                "Capability portMappings",
                "WithCapabilityPortMap",
                '"portMappings": [{"HostPort": 80, "ContainerPort": 8080',
            ),
            Step("Capability bandwidth, from annotations", "toCNIBandWidth", '"bandwidth": {"IngressRate": 1000000'),
            Step("Capability dns", "toCNIDNS", '"dns": {"Servers": ["10.96.0.10"]'),
            Step("Capability cgroupPath", "WithCapabilityCgroupPath", '"cgroupPath": "/kubepods/besteffort/pod'),
            Step(
                "Annotations of the pod",
                "annotations.PodAnnotations",
                '"io.kubernetes.cri.pod-annotations": {"kubernetes.io',
            ),
            Step(
                "Only what a plugin declares is in runtimeConfig: loopback has none",
                "injectRuntimeConfig",
                '"stdin": {"cniVersion": "0.3.1", "name": "cni-loopback", "type": "loopback"}',
            ),
            Step(
                "The first plugin has no prevResult; the next has that of the first",
                "buildOneConfig",
                '"prevResult": {',
            ),
            Step("stdout is the result", "ExecPluginWithResult, create.Create", '"result": {"cniVersion": "1.0.0"'),
        ),
        about="What a plugin is given: environment and stdin, no arguments.",
    ),
    Shown(
        "kubesim run -o jsonl tests/tools/walk/cri-settings.yaml",
        (
            Step(
                "Namespaces below containerd's state",
                "NetNSMountsUnderStateDir",
                "io.containerd.grpc.v1.cri/netns/cni-",
            ),
            Step(
                "With use_internal_loopback no plugin brings lo up",
                "initPlatform",
                '"plugin": "loopback"',
                is_absent=True,
            ),
        ),
    ),
)

WALK: Final = Walk(
    "containerd 2.x: CNI configurations and the input of plugins",
    "The directory is read when containerd starts and when it changes; a pod adds what is its own.",
    (*_START, *_LOAD, *_POD),
)
