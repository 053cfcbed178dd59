"""CNI itself: from the kubelet to a plugin, and what plugins do."""

from __future__ import annotations

from typing import Final

from tools.walks.steps import Shown, Step, Walk

_FLANNEL = "--conf-dir tests/tools/walk/flannel.d --bin-dir plugins --bin-dir /usr/lib/cni cni0 blue"
_PORTS = '{"portMappings": [{"hostPort": 80, "containerPort": 80, "protocol": "tcp"}]}'
_ADD = f"kubesim cni add --delegated --capability-args '{_PORTS}' {_FLANNEL}"

WALK: Final = Walk(
    "CNI: kubelet, CRI, libcni, plugin",
    "Pod networks are made on each machine for itself, by a chain of calls.",
    (
        Shown(
            "kubesim run -v --runtime cni scenarios/hello-pod.yaml",
            (
                Step(
                    "The kubelet asks for a sandbox",
                    "kubelet.go, RunPodSandbox",
                    "RunPodSandbox [cri-api RuntimeService]",
                ),
                Step(
                    "The runtime makes the namespace", "sandbox_run.go", "RunPodSandbox: create the network namespace"
                ),
                Step("It asks CNI for the network", "setupPodNetwork", "RunPodSandbox: set up the network"),
                Step(
                    "A plugin does the work",
                    "libcni/api.go, skel.go",
                    "ADD bridge — the sandbox is attached [libcni/api.go]",
                ),
            ),
        ),
        Shown(
            "kubesim cni install plugins",
            (Step("flannel is a plugin in Python here, the others are real binaries", "skel.PluginMain", "flannel"),),
            host=True,
        ),
        Shown(
            _ADD,
            (
                Step("The plugins of a list run in its order", "AddNetworkList", "ADD flannel"),
                Step("Parameters: container id", "SPEC.md", "CNI_CONTAINERID="),
                Step("The path of the namespace", "SPEC.md", "CNI_NETNS=/var/run/netns/blue"),
                Step("A plugin has options of its own", "flannel NetConf", '"delegate":{"forceAddress":true'),
                Step("flannel makes a configuration for bridge", "doCmdAdd, delegateAdd", "ADD bridge"),
                Step("With the subnet of this node for host-local", "subnetEnv", '"subnet":"10.244.1.0/24"'),
                Step("And a route to the whole network", "types.Route", '"dst":"10.244.0.0/16"'),
                Step("bridge asks host-local for an address", "ipam.ExecAdd", "ADD host-local"),
                Step("It makes bridge and veth pair", "setupBridge, setupVeth", '"name": "cni0"'),
                Step(
                    "The bridge has the address of the gateway", "calcGateways, ensureAddr", '"gateway": "10.244.1.1"'
                ),
                Step("The address of the pod", "ipam.ConfigureIface", '"address": "10.244.1.2/24"'),
                Step("portmap gets the host ports", "portmap", '"runtimeConfig":{"portMappings":[{"containerPort":80'),
                Step("Result: interfaces and addresses", "types.Result", '"interfaces": ['),
            ),
            host=True,
        ),
        Shown(
            f"kubesim cni check {_FLANNEL}",
            (Step("CHECK", "cmdCheck: flannel does nothing", "CHECK flannel"),),
            host=True,
        ),
        Shown(
            f"kubesim cni del {_FLANNEL}",
            (
                Step("DEL begins with the last plugin", "DelNetworkList", "DEL portmap"),
                Step("flannel gives its delegate the same configuration again", "cmdDel", "DEL flannel"),
            ),
            host=True,
        ),
        Shown(
            "kubesim run -v --runtime cni --cni-conf-dir tests/tools/walk/macvlan.d scenarios/hello-pod.yaml",
            (
                Step(
                    "Other plugins that make interfaces are run as well",
                    "plugins/main/macvlan",
                    "ADD macvlan — the sandbox is attached",
                ),
            ),
        ),
        Shown(
            "kubesim run --show network --cni-conf-dir tests/tools/walk/capabilities.d tests/tools/walk/ports.yaml",
            (Step("A host port leads to a pod through portmap", "portmap", "10.0.0.2/24"),),
        ),
    ),
)
