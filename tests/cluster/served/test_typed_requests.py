"""Objects of every kind with odd values: each request gets an answer, and none is an error of the server."""

from __future__ import annotations

from kubesim.cluster.registry.strategies import strategy_of
from kubesim.cluster.served.rest import handle
from kubesim.cluster.store.api_groups import resources_by_path, verbs_of
from kubesim.cluster.wire import encoded
from tests.support.cluster.hostile_requests import KNOWN_ERRORS
from tests.support.cluster.rest import new_store
from tests.support.cluster.typed_requests import furnish_with_valid_objects, typed_request
from tests.support.soak import LONG, rounds

REQUESTS = 8_000
_WRITABLE = ("", "status", "ephemeralcontainers", "resize", "finalize")


@LONG
def test_no_value_of_a_field_is_an_error_of_the_server() -> None:
    store = new_store()
    for number in range(rounds(REQUESTS)):
        if number % 200 == 0:
            store = new_store()
        if number % 100 == 0:
            furnish_with_valid_objects(store)
        request = typed_request(number)
        response = handle(store, request)
        where = f"request {number}: {request.method} {request.path}"
        if response.body is not None:
            encoded(response.body)
        if response.status >= 500:
            said = response.text or str(response.body)
            assert any(known in said for known in KNOWN_ERRORS), f"{where}: {said}"


def test_every_kind_can_be_updated() -> None:
    for resource in resources_by_path().values():
        if "update" not in verbs_of(resource.group, resource.version, resource.plural):
            continue
        for subresource in {"", *resource.subresources} & set(_WRITABLE):
            assert strategy_of(resource, subresource) is not None
