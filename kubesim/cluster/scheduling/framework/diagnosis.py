"""Why no node fits a pod, per node and summarized in one line.

Mirrors: pkg/scheduler/framework/types.go Diagnosis, FitError, NodeToStatus
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from kubesim.cluster.scheduling.framework.status import Status
from kubesim.values import mutable

NO_NODES = "no nodes available to schedule pods"


@mutable(eq=False)
class Diagnosis:
    """Rejections. `absent` applies to every node without its own status. `pre_filter` applies to all."""

    nodes: int
    statuses: dict[str, Status] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    pre_filter: str = ""
    post_filter: str = ""
    plugins: set[str] = field(default_factory=set)  # those that refused

    def refuse(self, node: str, status: Status) -> None:
        self.statuses[node] = status
        self.plugins.add(status.plugin)

    def fit_error(self) -> str:
        message = f"0/{self.nodes} nodes are available:"
        if self.pre_filter:
            message += f" {self.pre_filter}."
        else:
            counted = Counter(reason for status in self.statuses.values() for reason in status.reasons)
            others = self.nodes - len(self.statuses)
            if others > 0:
                counted.update(dict.fromkeys(self.absent, others))
            if counted:
                message += f" {', '.join(sorted(f'{count} {reason}' for reason, count in counted.items()))}."
        return f"{message} {self.post_filter}" if self.post_filter else message
