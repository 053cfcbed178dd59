"""A read-only connection: no modifying call is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

import pytest

from kubesim.clock import run_virtual
from kubesim.cluster.remote.transport import METHODS, READS, Call, ReadOnlyTransport, Reply, Verb
from kubesim.errors import ReadOnlyError

POD = "/api/v1/namespaces/default/pods/web"


class Wire:
    """Records the calls that were sent."""

    def __init__(self) -> None:
        self.sent: list[Call] = []

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        self.sent.append(call)
        yield None  # type: ignore[misc]  # nobody reads the answer

    async def close(self) -> None: ...


def try_to(call: Call) -> list[Call]:
    wire = Wire()

    async def main() -> None:
        async with ReadOnlyTransport(wire).open(call):
            pass

    try:
        run_virtual(main)
    except ReadOnlyError:
        assert wire.sent == []
        raise
    return wire.sent


@pytest.mark.parametrize("verb", get_args(Verb))
def test_only_get_list_and_watch_are_sent(verb: Verb) -> None:
    if verb in READS:
        assert METHODS[verb] == "GET"
        assert try_to(Call(verb, POD)) == [Call(verb, POD)]
    else:
        with pytest.raises(ReadOnlyError, match=f"refused to {verb} {POD}: this connection only gets, lists"):
            try_to(Call(verb, POD))


def test_an_unknown_verb() -> None:
    with pytest.raises(ReadOnlyError):
        try_to(Call("GET", POD))  # type: ignore[arg-type]


def test_a_read_with_a_body_is_rejected() -> None:
    with pytest.raises(ReadOnlyError):
        try_to(Call("get", POD, body=b"{}"))


@pytest.mark.parametrize("way", ["exec", "attach", "portforward", "proxy", "proxy/metrics"])
def test_exec_attach_and_proxy_are_not_reads(way: str) -> None:
    with pytest.raises(ReadOnlyError, match="it would open a way into a pod or a node"):
        try_to(Call("get", f"{POD}/{way}"))
    with pytest.raises(ReadOnlyError):
        try_to(Call("get", f"/api/v1/nodes/node-a/{way}"))


def test_a_pod_may_have_the_name_of_a_subresource() -> None:
    assert try_to(Call("get", "/api/v1/namespaces/proxy/pods/exec"))
    assert try_to(Call("get", f"{POD}/log"))
