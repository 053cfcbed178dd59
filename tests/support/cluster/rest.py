"""Requests to a store as API clients send them, without a connection."""

from __future__ import annotations

import json
from typing import Any

from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.store.store import Store
from tests.support.cluster.replay import Replay


def new_store() -> Store:
    store = Replay("orc", ("fake-1",)).store
    store.token_key = b"the key of the tests"
    return store


def send(store: Store, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Response:
    text = "" if body is None else json.dumps(body)
    return handle(store, Request(method, path, {"content-type": content_type}, text))


def body_of(response: Response) -> dict[str, Any]:
    assert response.body is not None
    return response.body
