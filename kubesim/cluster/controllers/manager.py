"""Starts each controller when the first object that concerns it is there: a run without any pays nothing.

Mirrors: cmd/kube-controller-manager/app controllermanager.go NewControllerDescriptors
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.store.watches import WatchEvent

# kind -> module and class of the controllers that begin with the first object of that kind
CONTROLLERS: Mapping[str, tuple[str, ...]] = {
    "PersistentVolumeClaim": ("volumes.starting:VolumeControllers",),
    "PersistentVolume": ("volumes.starting:VolumeControllers",),
    "Pod": ("volumes.ephemeral:EphemeralController",),
}


class _Starter:
    """Waits for the first object of a kind."""

    def __init__(self, context: ControllerContext, kind: str, started: set[str]) -> None:
        self._context = context
        self._kind = kind
        self._started = started
        self._stop = context.store.watch(kind, self._changed)

    def _changed(self, _: WatchEvent) -> None:
        self._stop()
        for path in CONTROLLERS[self._kind]:
            if path not in self._started:
                self._started.add(path)
                start(self._context, path)


def start(context: ControllerContext, path: str) -> None:
    """Make a controller by its module in this package and its class: `deployment.controller:DeploymentController`."""
    module, _, name = path.partition(":")
    getattr(import_module(f"kubesim.cluster.controllers.{module}"), name)(context)


def start_when_needed(context: ControllerContext) -> None:
    started: set[str] = set()
    for kind in CONTROLLERS:
        _Starter(context, kind, started)
