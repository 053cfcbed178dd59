"""Port forwarding, as the API server serves it.

Mirrors: pkg/registry/core/pod/rest/subresources.go
"""

from __future__ import annotations

from aiohttp import web

from kubesim.cluster.problems import bad_request
from kubesim.runtime.simulated.streaming.forwarding import stream_ports
from kubesim.shell import Ports
from kubesim.up.pods import PodRequest


async def serve_port_forward(asked: PodRequest, request: web.BaseRequest) -> web.StreamResponse:
    pod = asked.pod()
    node = asked.pods.node_of(pod)
    if pod.status.phase != "Running":
        raise bad_request(f"unable to forward port because pod is not running. Current status={pod.status.phase}")
    uid = pod.metadata.uid
    try:
        ports: Ports | None = node.programs.ports_of(uid)
    except KeyError:
        ports = None
    return await stream_ports(request, uid, ports)
