"""What kubesim leaves out, and why: a table of `docs/fidelity.md`."""

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
        "Runtime and kubelet are one process: calls have the names, order, errors and spans of CRI, but no socket"
        " carries them. dockershim's gRPC server is a step of the trace. So a run can be repeated to the microsecond",
    ),
    LeftOut(
        "Streaming: `kubectl exec`, `attach`, `port-forward`; redirection of streams (v1.12)",
        "There is no terminal and no client. The step `exec` of a scenario runs a command in a container",
    ),
    LeftOut(
        "The kubelet's API: `/containerLogs`, `/exec`, `/run`, `/stats`, `/configz`, `/runningpods`, checkpoints of"
        " containers",
        "`--serve` answers `/healthz`, `/pods`, `/metrics` and `/statusz`, read-only. What containers print is in the"
        " trace (`--logs`); there is no process whose state could be checkpointed",
    ),
    LeftOut("cAdvisor's metrics", "Nothing is measured: a scenario sets what containers use"),
    LeftOut(
        "Certificates: bootstrap, rotation, serving certificates",
        "The API server in memory knows its kubelets; nothing is encrypted or signed",
    ),
    LeftOut(
        "Services as a network: kube-proxy, cluster DNS, NetworkPolicy",
        "EndpointSlices and the variables of Services are there. Packets go from pod to pod by address; which of them"
        " would pass is for the network plugin to decide, and its policy agent does not run here",
    ),
    LeftOut(
        "Linux security: SELinux labels, capabilities, privileged, KVM, masked /proc",
        "Simulated containers have no kernel. That AppArmor and seccomp profiles exist is checked, as the kubelet and"
        " containerd do; what they forbid is not enforced",
    ),
    LeftOut(
        "OCI specs, snapshots, shims, NRI plugins",
        "Each is a step of RunPodSandbox with its place, its error text and what is undone after it; a fault can be"
        " given to any of them. No spec is written and no program is called",
    ),
    LeftOut(
        "Images per runtime handler (gate RuntimeClassInImageCriApi, alpha)",
        "An image is a name with a size, the same for all handlers",
    ),
    LeftOut(
        "Control groups of QoS classes, and the kernel's own limits",
        "A pod's control group has its values, and can fail to be made. Those of classes (UpdateQOSCgroups) are names."
        " A simulated program is killed for memory when its shell needs too much, or by `oomKilled`; the `memory` of a"
        " behaviour counts for eviction",
    ),
    LeftOut(
        "Log files in the node's file system: /var/log/pods, the links of /var/log/containers",
        "Files have names, sizes and rotation; the lines themselves are records. So a log collector on the node reads"
        " nothing; with `-v` the step that makes a link is shown",
    ),
    LeftOut(
        "Log texts of older kubelets",
        "`--log` writes the lines of v1.36.4, with its files and line numbers, in every profile: a log is compared with"
        " one version. The trace has the same facts in all. The failure to configure a running sandbox again has"
        " v1.36's text, too; older kubelets called it ConfigPodSandbox, in their logs only",
    ),
    LeftOut(
        "Drop-in directories of the kubelet's configuration (`--config-dir`)",
        "One file (`--config`) and the flags say the same; kubesim merges nothing else",
    ),
    LeftOut(
        "Images in the status of a node", "They would be a list of names; image garbage collection works without it"
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
        "Any plugin binary is run (`--cni-bin-dir`), but what it asks its agent for is not there",
    ),
    LeftOut("Windows: host process containers and their counters", "Nodes are Linux"),
)


def rows() -> list[str]:
    """The lines of the table."""
    lines = ["| left out | why, and what there is instead |", "|---|---|"]
    return lines + [f"| {each.what} | {each.here} |" for each in LEFT_OUT]
