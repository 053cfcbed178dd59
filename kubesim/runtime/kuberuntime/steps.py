"""Trace details: steps of a sync that no other record contains.

Mirrors: pkg/kubelet/kubelet.go SyncPod; kuberuntime/kuberuntime_sandbox.go createPodSandbox,
kuberuntime_container.go startContainer
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.runtime.kuberuntime.naming import legacy_log_symlink
from kubesim.runtime.protocol import ContainerConfig, SandboxConfig, UserNamespace
from kubesim.trace import Recorder
from kubesim.trace.records import RuntimeStep


def take_step(recorder: Recorder, pod: Pod, during: str, step: str, why: str = "", container: str = "") -> None:
    """Record a step. Callers check `recorder.details` first: most traces need no steps."""
    metadata = pod.metadata
    recorder.detail(
        RuntimeStep(
            pod=f"{metadata.namespace}/{metadata.name}",
            uid=metadata.uid,
            container=container,
            during=during,
            step=step,
            why=why,
            runtime="kubelet",
        )
    )


def take_sandbox_steps(recorder: Recorder, config: SandboxConfig) -> None:
    pod, during = config.pod, "createPodSandbox"
    parts = {
        "host name": config.hostname,
        "control group": config.linux.cgroup_parent,
        "DNS servers": ", ".join((config.dns and config.dns.servers) or ()),
        "user namespace of ids": _ids(config.linux.namespaces.users),
        "sysctls": ", ".join(f"{name}={value}" for name, value in config.linux.sysctls.items()),
    }
    why = "; ".join(f"{name} {value}" for name, value in parts.items() if value)
    take_step(recorder, pod, during, "generate the configuration of the sandbox", why)
    take_step(recorder, pod, during, f"make the log directory {config.log_directory}")
    if pod.spec.runtime_class_name:
        why = f"RuntimeClass {pod.spec.runtime_class_name} has the handler {config.runtime_handler}"
        take_step(recorder, pod, during, "look up the runtime handler", why)


def _ids(users: UserNamespace | None) -> str:
    """First id and count: 65536+65536."""
    return "" if users is None else ", ".join(f"{each.host_id}+{each.length}" for each in users.uids)


def take_create_step(recorder: Recorder, pod: Pod, container: Container, config: ContainerConfig) -> None:
    """Record the container manager's hook before CreateContainer."""
    resources = config.resources
    cpus = f"CPUs {resources.cpuset_cpus}" if resources is not None and resources.cpuset_cpus else ""
    take_step(recorder, pod, "startContainer", "PreCreateContainer", cpus, container.name)


def take_created_step(recorder: Recorder, pod: Pod, container: Container) -> None:
    """Record the hook between CreateContainer and StartContainer."""
    take_step(recorder, pod, "startContainer", "PreStartContainer", container=container.name)


def take_link_step(recorder: Recorder, pod: Pod, container: Container, identifier: str, log: str) -> None:
    """Record the log symlink. The link itself is not simulated: the node's file system does not contain logs."""
    link = legacy_log_symlink(pod, container.name, identifier)
    why = "log collectors of the whole node follow such links"
    take_step(recorder, pod, "startContainer", f"link {link} to {log}", why, container.name)
