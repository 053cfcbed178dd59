"""Namespaces come into being when something needs them, as if the cluster had had them all along."""

from __future__ import annotations

from kubesim.cluster import registry
from kubesim.cluster.kinds import RESOURCES
from kubesim.cluster.registry import Target
from kubesim.cluster.store import Store


def ensure_namespace(store: Store, name: str) -> None:
    """A namespace with its default service account, as the controllers of a cluster would have made it."""
    if store.find("Namespace", "", name) is None:
        registry.create(store, Target(RESOURCES["Namespace"]), {"metadata": {"name": name}})
    if store.find("ServiceAccount", name, "default") is None:
        account = Target(RESOURCES["ServiceAccount"], name)
        registry.create(store, account, {"metadata": {"name": "default"}})
