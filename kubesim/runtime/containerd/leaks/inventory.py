"""Inventory of the host: finds resources that kubesim may have created, and removes those that plugins did not remove.

Only for the host's own network; a private node disappears with all its resources.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubesim.cni.cache import Cache
from kubesim.golang.addresses import parse_ip
from kubesim.linux import netns, rtnetlink
from kubesim.runtime.containerd.home import Home
from kubesim.runtime.containerd.leaks.ledger import Attachment
from kubesim.runtime.containerd.leaks.leftovers import Inventory, Leak, NatTable, Noted, commands_without, parse_nat
from kubesim.runtime.containerd.sandbox_parts import remove_file, remove_written

ADDRESSES: Final = "/var/lib/cni/networks"  # host-local's default directory


def take_inventory(home: Home, attachments: Sequence[Attachment], released: Sequence[Attachment] = ()) -> Inventory:
    """Take the inventory. `released` are attachments that no longer exist but may have left resources."""
    written = (*_names(home.sandboxes), *_names(home.attachments))
    sandboxes = {name.partition(".json")[0]: Noted() for name in written}  # also of an interrupted write
    for each in attachments:
        sandboxes[each.sandbox_id] = Noted(each.pod, each.netns, [network.name for network in each.networks])
    return Inventory(
        owner=home.owner,
        sandboxes=sandboxes,
        namespaces={path: _peers(path) for path in _paths(home.netns_dir)},
        cached={path: _sandbox_of(path, home.owner) for path in _paths(Cache(home.cache).results)},
        addresses=dict(_reservations({ADDRESSES, *_data_dirs([*attachments, *released])})),
        links=rtnetlink.links(),
        nat=[_nat(command) for command in ("iptables", "ip6tables")],
        networks={network.name for each in (*attachments, *released) for network in each.networks},
        own_network=_own_network(home),
    )


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _paths(directory: str) -> list[str]:
    return [os.path.join(directory, name) for name in _names(directory)]


def _peers(path: str) -> list[int]:
    """Local indexes of veths whose other end is in a namespace; empty for a file that is not a namespace."""
    try:
        inside = netns.run_in(path, rtnetlink.links)
        return [link["peer"] for link in inside if link["kind"] == "veth" and link["peer_elsewhere"]]
    except OSError:
        return []


def _sandbox_of(path: str, owner: str) -> str:
    """The sandbox id in `NETWORK-ID-INTERFACE`, even of an incomplete name. The network's name may look like an id."""
    name = os.path.basename(path)
    at = name.rfind(f"{owner}-")
    return name[at:].rpartition("-")[0] if at >= 0 else name


def _reservations(directories: set[str]) -> Iterator[tuple[str, str]]:
    for directory in sorted(directories):
        for folder in _paths(directory):
            for path in _paths(folder):
                if parse_ip(os.path.basename(path)) is not None:
                    yield path, _first_line(path)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return "?"


def _data_dirs(attachments: Sequence[Attachment]) -> Iterator[str]:
    """Other directories that host-local is configured to use."""
    for each in attachments:
        for entry in each.networks:
            for plugin in json.loads(entry.source).get("plugins") or ():
                ipam: Any = plugin.get("ipam")
                if isinstance(ipam, dict) and isinstance(ipam.get("dataDir"), str) and ipam["dataDir"]:
                    yield ipam["dataDir"]


def _nat(command: str) -> NatTable:
    """The NAT table; empty without iptables."""
    program = shutil.which(f"{command}-save")
    if program is None:
        return NatTable(command)
    done = subprocess.run([program, "-t", "nat"], capture_output=True, text=True, check=False)
    return parse_nat(command, done.stdout)


def _own_network(home: Home) -> list[str]:
    """Resources of the bundled network that remain after its last pod."""
    bridge = [home.bridge] if home.bridge in {link["name"] for link in rtnetlink.links()} else []
    folder = os.path.join(ADDRESSES, home.owner)
    return bridge + ([folder] if os.path.isdir(folder) else [])


def remove(leak: Leak, home: Home, found: Inventory) -> None:
    """Remove a leftover without plugins. Raises OSError on failure; a missing one is not an error."""
    match leak.kind:
        case "sandbox":
            for directory in (home.sandboxes, home.attachments):
                remove_written(f"{directory}/{leak.sandbox_id}.json")
        case "namespace":
            netns.remove_netns(leak.name)
        case "cache file":
            remove_file(leak.name)
        case "address":
            _release_address(leak.name, leak.sandbox_id)
        case "chain":
            command, chain = leak.name.split()
            table = next(table for table in found.nat if table.command == command)
            for words in commands_without(table, chain):
                subprocess.run(words, capture_output=True, check=False)
        case "link":
            _remove_link(leak.name)
        case "network":
            if os.path.isdir(leak.name):
                shutil.rmtree(leak.name)
            else:
                _remove_link(leak.name)


def _remove_link(name: str) -> None:
    """Delete a veth. The kernel removes it asynchronously with the namespace of its other end."""
    try:
        rtnetlink.remove_link(name)
    except OSError as error:
        if name in {link["name"] for link in rtnetlink.links()}:
            raise error


def _release_address(path: str, owner: str) -> None:
    """Release an address, unless another container has it now; host-local's lock protects the check."""
    lock = os.open(os.path.join(os.path.dirname(path), "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _first_line(path) == owner:
            remove_file(path)
    finally:
        os.close(lock)
