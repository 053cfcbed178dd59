"""Creates namespaces on first use."""

from __future__ import annotations

from kubesim.cluster.registry.bootstrap import create_namespace, populate_namespace
from kubesim.cluster.store.store import Store


def ensure_namespace(store: Store, name: str) -> None:
    """Create a namespace with the default objects that controllers would create in it."""
    if store.find("Namespace", "", name) is None:
        create_namespace(store, name)
    populate_namespace(store, name)
