"""Where the log of a container is, by what the runtime reports of it."""

from __future__ import annotations

from kubesim.runtime.kuberuntime.labels import POD_NAME, POD_NAMESPACE
from kubesim.runtime.kuberuntime.naming import POD_LOGS_ROOT
from kubesim.runtime.protocol import ContainerInfo


def log_path(info: ContainerInfo) -> str:
    pod = f"{info.labels.get(POD_NAMESPACE, '')}_{info.labels.get(POD_NAME, '')}_{info.pod_uid}"
    return f"{POD_LOGS_ROOT}/{pod}/{info.log_path}"
