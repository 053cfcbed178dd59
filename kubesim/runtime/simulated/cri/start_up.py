"""Start-up steps of containerd's CRI plugin, in order: details of the trace. Pure data.

Mirrors: containerd plugins/cri/cri.go initCRIService, internal/cri/server/service.go NewCRIService, Run; of 1.7
pkg/cri/server/service.go
"""

from __future__ import annotations

from typing import Final

START_UP: Final = (
    "check the configuration",
    "connect to the services of containerd",
    "get the sandbox controllers",
    "create the CNI library of the default network",
    "create the streaming server",
    "watch the directory of CNI configurations",
    "set up NRI",
    "ask the runtimes for the features of their handlers",
    "subscribe to events of containerd",
    "start the stats collector",
    "recover sandboxes and containers",
    "start the event monitor",
    "start the syncer of CNI configurations",
    "start the streaming server",
    "register with NRI",
    "serve",
)
START_UP_1: Final = (
    "check the configuration",
    "connect to the services of containerd",
    "create the CNI library of the default network",
    "create the streaming server",
    "watch the directory of CNI configurations",
    "set up NRI",
    "subscribe to events of containerd",
    "recover sandboxes and containers",
    "start the event monitor",
    "start the snapshots syncer",
    "start the syncer of CNI configurations",
    "start the streaming server",
    "register with NRI",
    "serve",
)  # of containerd 1.7
