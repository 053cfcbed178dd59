"""Every pod address is released, and no two pods have the same one.

The network of a sandbox is torn down when the sandbox is stopped (StopPodSandbox), and its address is free again. Real
plugins that leave something behind on the host are reported by the run itself.
"""

from __future__ import annotations

from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.seen import PodSeen, StoreSeen


def sandbox_up(seen: StoreSeen, pod: PodSeen, ip: str) -> str:
    owner = seen.addresses.get(ip)
    return "" if owner is None else f"its sandbox got the address {ip}, which pod {owner} has"


def sandbox_ended(pod: PodSeen, has_address: bool) -> str:
    return "its sandbox has ended, but its address was not released" if has_address else ""


INVARIANT = Invariant("addresses", sandbox_up=sandbox_up, sandbox_ended=sandbox_ended)
