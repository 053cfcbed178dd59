"""The server answers every request with a Status about the error, and never crashes.

`hostile_request(n)` repeats request n.
"""

from __future__ import annotations

from kubesim.cluster.served.rest import handle
from kubesim.cluster.wire import encoded
from tests.support.cluster.hostile_requests import KNOWN_ERRORS, hostile_request, set_up_node
from tests.support.cluster.rest import new_store
from tests.support.soak import LONG, rounds

REQUESTS = 8000


@LONG
def test_every_request_is_answered() -> None:
    store = new_store()
    for number in range(rounds(REQUESTS)):
        if number % 200 == 0:
            store = new_store()
        if number % 10 == 0:
            set_up_node(store)
        request = hostile_request(number)
        response = handle(store, request)
        where = f"request {number}: {request.method} {request.path}"
        if response.stream is not None:
            response.stream.lines()
            response.stream.close()
        elif response.body is not None:
            encoded(response.body)
            if response.status >= 400:
                assert response.body["kind"] == "Status", where
                assert response.body["code"] == response.status, where
        if response.status >= 500 and response.status != 504:
            said = response.text or str(response.body)
            assert any(known in said for known in KNOWN_ERRORS), f"{where}: {said}"
