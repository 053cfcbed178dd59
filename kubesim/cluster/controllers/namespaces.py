"""Namespaces are created when something needs them, as if they had always existed."""

from __future__ import annotations

from kubesim.cluster.registry.bootstrap import create_namespace, populate_namespace
from kubesim.cluster.store.store import Store


def ensure_namespace(store: Store, name: str) -> None:
    """A namespace with all that the controllers of a cluster would have made in it."""
    if store.find("Namespace", "", name) is None:
        create_namespace(store, name)
    populate_namespace(store, name)
