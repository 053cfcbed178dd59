"""What kubesim omits, and why: a table in `docs/fidelity.md`."""

from __future__ import annotations

from typing import Final

from kubesim.values import value_object


@value_object
class LeftOut:
    what: str
    here: str


LEFT_OUT: Final = (
    LeftOut(
        "CRI over gRPC, and a real containerd or CRI-O",
        "Runtime and kubelet are one process, so that a run can be repeated to the microsecond. Calls have the "
        "names, order, errors and spans of CRI, but use no socket. dockershim's gRPC server is a step of the trace",
    ),
    LeftOut(
        "Streaming: `kubectl exec`, `attach`, `port-forward`; redirection of streams (v1.12)",
        "There is no terminal and no client. The step `exec` of a scenario runs a command in a container",
    ),
    LeftOut(
        "The kubelet's API: `/containerLogs`, `/exec`, `/run`, `/stats`, `/configz`, `/runningpods`, checkpoints of"
        " containers",
        "`--serve` answers `/healthz`, `/pods`, `/metrics` and `/statusz`, read-only. Container output is in the "
        "trace (`--logs`); there is no process whose state could be checkpointed",
    ),
    LeftOut("cAdvisor's metrics", "Nothing is measured: a scenario sets the usage of containers"),
    LeftOut(
        "Certificates: bootstrap, rotation, serving certificates",
        "The in-memory API server trusts its kubelets; nothing is encrypted or signed",
    ),
    LeftOut(
        "Services as a network: kube-proxy, cluster DNS, NetworkPolicy",
        "EndpointSlices and Service environment variables exist. Packets go from pod to pod by address. Network "
        "policies are not enforced, because the policy agent of a network plugin does not run",
    ),
    LeftOut(
        "Linux security: SELinux labels, capabilities, privileged, KVM, masked /proc",
        "Simulated containers have no kernel. The existence of AppArmor and seccomp profiles is checked, as by the "
        "kubelet and containerd, but they are not enforced",
    ),
    LeftOut(
        "OCI specs, snapshots, shims, NRI plugins",
        "Each is a step of RunPodSandbox with its order, its error text and its clean-up; a scenario can inject a "
        "fault into any of them. No spec is written and no program is called",
    ),
    LeftOut(
        "Images per runtime handler (gate RuntimeClassInImageCriApi, alpha)",
        "An image is a name with a size, the same for all handlers",
    ),
    LeftOut(
        "Control groups of QoS classes, and the kernel's own limits",
        "The control group of a pod has its values, and its creation can fail. The control groups of QoS classes "
        "(UpdateQOSCgroups) are only names. A simulated program is OOM-killed when its shell needs too much memory, "
        "or by `oomKilled`; the `memory` of a behaviour counts for eviction",
    ),
    LeftOut(
        "Log files in the node's file system: /var/log/pods, the links of /var/log/containers",
        "Files have names, sizes and rotation; the lines are records of the trace. A log collector on the node "
        "therefore reads nothing. `-v` shows the step that creates a link",
    ),
    LeftOut(
        "Log texts of older kubelets",
        "`--log` writes the lines of v1.36.4, with its files and line numbers, in every profile. The trace has the "
        "correct facts for each profile. The error for reconfiguring a running sandbox also has the text of v1.36; "
        "older kubelets called it ConfigPodSandbox, in their logs only",
    ),
    LeftOut(
        "Drop-in directories of the kubelet's configuration (`--config-dir`)",
        "Use one file (`--config`) and flags; kubesim merges nothing else",
    ),
    LeftOut(
        "Images in the status of a node", "The list would only contain names; image garbage collection works without it"
    ),
    LeftOut(
        "kubenet and docker's own bridge on a real network (profiles v1.6, v1.12); br_netfilter and sysctls of the"
        " no-op plugin",
        "Both are simulated. A private node has neither docker nor ebtables, so `--runtime cni` refuses them",
    ),
    LeftOut(
        "Two network plugins with one name, or with a bad one (v1.6, v1.12)",
        "The list is fixed, as it was in these kubelets: no input leads to these errors",
    ),
    LeftOut(
        "Agents of network vendors: cilium-cni, calico, dhcp's daemon",
        "kubesim runs any plugin binary (`--cni-bin-dir`), but not the agent that the plugin calls",
    ),
    LeftOut("Windows: host process containers and their counters", "Nodes are Linux"),
)


def rows() -> list[str]:
    """The lines of the table."""
    lines = ["| left out | reason, and the replacement |", "|---|---|"]
    return lines + [f"| {each.what} | {each.here} |" for each in LEFT_OUT]
