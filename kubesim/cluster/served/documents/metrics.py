"""Metrics of the server in the text format of Prometheus: number of objects, and health checks.

Mirrors: apiserver/pkg/storage/etcd3/metrics (apiserver_storage_objects); component-base/metrics/prometheus/slis
"""

from __future__ import annotations

from kubesim.cluster.served.documents.health import CHECKS
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store


def object_metrics(store: Store) -> str:
    name = "apiserver_storage_objects"
    lines = [f"# HELP {name} Number of stored objects by resource.", f"# TYPE {name} gauge"]
    for kind in sorted(store.kinds()):
        lines.append(f'{name}{{resource="{resource_of(kind).group_resource}"}} {store.count(kind)}')
    return "\n".join(lines) + "\n"


def check_metrics() -> str:
    name = "kubernetes_healthcheck"
    lines = [f"# HELP {name} Whether a health check passes.", f"# TYPE {name} gauge"]
    lines += [
        f'{name}{{name="{check}",type="{endpoint}"}} 1' for endpoint, checks in CHECKS.items() for check in checks
    ]
    return "\n".join(lines) + "\n"
