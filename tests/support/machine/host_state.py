"""The state of the host that a private node must not change: links, routes, rules and files."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

PLACES = ("/var/lib/cni", "/run/netns", "/run/kubesim", "/run/cni", "/run/xtables.lock", "/etc/cni")


def host_state() -> dict[str, str]:
    commands = ("ip -br link", "ip -br addr", "ip route", "ip -6 route", "iptables-save -t nat", "sysctl net.ipv4")
    reported = {command: _output(command) for command in commands}
    reported["sysctl net.ipv4"] = "\n".join(
        line for line in reported["sysctl net.ipv4"].splitlines() if "forward" in line or "route_localnet" in line
    )
    reported |= {place: str(sorted(map(str, Path(place).rglob("*")))) for place in PLACES if os.path.exists(place)}
    return reported


def _output(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    lines = (line for line in done.stdout.splitlines() if not line.startswith("#"))
    return "\n".join(re.sub(r"\[\d+:\d+\]", "", line) for line in lines)  # counters of packets
