"""Trace text about an EndpointSlice write: which pods were added, removed or changed."""

from __future__ import annotations

from kubesim.api.workloads.services import Endpoint, EndpointSlice

MOST = 3  # maximum number of pods to list


def explain(old: EndpointSlice | None, new: EndpointSlice) -> str:
    before = {} if old is None else {_pod(endpoint): endpoint for endpoint in old.endpoints}
    now = {_pod(endpoint): endpoint for endpoint in new.endpoints}
    said = [f"pod {name} has ended, so its address leaves" for name in before if name not in now]
    for name, endpoint in now.items():
        if name not in before:
            said.append(f"pod {name} has an address and is {_state(endpoint)}")
        elif before[name].conditions != endpoint.conditions:
            said.append(f"pod {name} is {_state(endpoint)}")
    if not said:
        return "the Service selects no pod with an address" if not now else "the Service or the slice was changed"
    rest = len(said) - MOST
    return "; ".join(said[:MOST]) + (f"; and {rest} more" if rest > 0 else "")


def _pod(endpoint: Endpoint) -> str:
    return "?" if endpoint.target_ref is None else endpoint.target_ref.name


def _state(endpoint: Endpoint) -> str:
    conditions = endpoint.conditions
    if conditions.terminating:
        if conditions.ready:
            return "being deleted, but published as ready all the same"
        still = "it still serves" if conditions.serving else "it does not serve any more"
        return f"being deleted: {still}, and gets no new connections"
    return "ready" if conditions.ready else "not ready, so it gets no connections"
