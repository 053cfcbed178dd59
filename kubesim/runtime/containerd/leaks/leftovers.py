"""Leftovers of sandboxes on a machine: identifies kubesim's resources whose sandbox is gone.

kubesim's resources are files in the state directory, resources with the id of one of its sandboxes (ids share a
prefix), and resources that a plugin named after such an id. Pure; `inventory.py` takes the inventory.

Mirrors: containernetworking/plugins pkg/utils MustFormatChainNameWithPrefix, plugins/meta/bandwidth getIfbDeviceName
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from kubesim.values import replace, value_object

Kind = Literal["process", "sandbox", "namespace", "link", "address", "chain", "cache file", "network"]

_CHAIN = re.compile(r"CNI-(DN-|SN-)?[0-9a-f]{21,24}")  # of one sandbox
_COMMENT = re.compile(r'name: "(?P<network>.*)" id: "(?P<id>.*)"')


@value_object
class NatTable:
    """The output of `iptables-save -t nat`: chain names, and rules split into words (`-A CHAIN ...`)."""

    command: str = "iptables"
    chains: Sequence[str] = ()
    rules: Sequence[Sequence[str]] = ()


@value_object
class Noted:
    """A sandbox of the state directory: its pod, namespace and networks, as far as known."""

    pod: str = ""
    netns: str = ""
    networks: Sequence[str] = ()


@value_object
class Inventory:
    """Resources on a machine that may be kubesim's. `owner` is the prefix of sandbox ids and the network name;
    `networks` are those where an attachment may have been killed.
    """

    owner: str
    sandboxes: Mapping[str, Noted]  # by id
    namespaces: Mapping[str, Sequence[int]]  # path -> local indexes of veths whose other end is in that namespace
    cached: Mapping[str, str]  # file of libcni's cache -> sandbox id
    addresses: Mapping[str, str]  # file of host-local -> its first line
    links: Sequence[Mapping[str, Any]] = ()
    nat: Sequence[NatTable] = ()
    networks: Collection[str] = ()
    own_network: Sequence[str] = ()  # bridge and directory of kubesim's own network


@value_object
class Leak:
    """A leftover of an unknown sandbox; without an id, of no particular one. `problem`: why it still exists."""

    kind: Kind
    name: str
    sandbox_id: str = ""
    pod: str = ""
    problem: str = ""

    def __str__(self) -> str:
        pod = f" of pod {self.pod}" if self.pod else ""
        problem = f": {self.problem}" if self.problem else ""
        return f"{self.kind:<12}{self.name}{pod}{problem}"


def find_leaks(found: Inventory, living: Collection[str] = (), busy: Collection[str] = ()) -> list[Leak]:
    """Resources of no living sandbox. `busy` are namespaces that exist before they are recorded. The network itself
    stays after the last node ends.
    """
    everything = [
        *(Leak("sandbox", each, each) for each in found.sandboxes),
        *_namespaces(found, busy),
        *_devices(found),
        *(leak for table in found.nat for leak in _chains(found, table)),
        *_addresses(found),
        *(Leak("cache file", path, each) for path, each in found.cached.items()),
        *(Leak("network", name) for name in found.own_network if not living),
    ]
    nobody = Noted()
    orphaned = [leak for leak in everything if leak.sandbox_id not in living]
    return [replace(leak, pod=found.sandboxes.get(leak.sandbox_id, nobody).pod) for leak in orphaned]


def _namespaces(found: Inventory, busy: Collection[str]) -> Iterator[Leak]:
    """Namespaces with their veths, which are removed with them."""
    owners = {noted.netns: each for each, noted in found.sandboxes.items() if noted.netns}
    veths = {link["index"]: link["name"] for link in found.links if link["kind"] == "veth"}
    for path, peers in found.namespaces.items():
        if path not in busy:
            yield Leak("namespace", path, owners.get(path, ""))
            yield from (Leak("link", veths[peer], owners.get(path, "")) for peer in peers if peer in veths)


def _devices(found: Inventory) -> Iterator[Leak]:
    """Devices that shape the traffic of a sandbox."""
    ours = {ifb_name(network, each): each for network, each in _attachments(found)}
    return (Leak("link", link["name"], ours[link["name"]]) for link in found.links if link["name"] in ours)


def _addresses(found: Inventory) -> Iterator[Leak]:
    """Addresses. host-local creates a file and then writes it under a lock, so an empty file belongs to a killed
    process, and its address would never be released. In directories of our networks it counts as ours.
    """
    for path, owner in found.addresses.items():
        if owner.startswith(f"{found.owner}-") or owner in found.sandboxes:
            yield Leak("address", path, owner)
        elif not owner and path.split("/")[-2] in (found.owner, *found.networks):
            yield Leak("address", path)


def _attachments(found: Inventory) -> Iterator[tuple[str, str]]:
    return ((network, each) for each, noted in found.sandboxes.items() for network in noted.networks)


def _chains(found: Inventory, table: NatTable) -> Iterator[Leak]:
    """Our chains with their sandboxes, found by name or by the comment of a rule that jumps to them."""
    ours = {chain_name(kind, *each): each[1] for each in _attachments(found) for kind in ("", "DN-", "SN-")}
    for rule in table.rules:
        comment, target = _COMMENT.search(_value(rule, "--comment")), _value(rule, "-j")
        if comment is not None and comment["id"].startswith(f"{found.owner}-") and _CHAIN.fullmatch(target):
            ours[target] = comment["id"]
    return (Leak("chain", f"{table.command} {chain}", ours[chain]) for chain in table.chains if chain in ours)


def commands_without(table: NatTable, chain: str) -> list[list[str]]:
    """Commands that delete a chain and all jumps to it."""
    base = [table.command, "-w", "-t", "nat"]
    jumps = [["-D", *rule[1:]] for rule in table.rules if _value(rule, "-j") == chain]
    return [[*base, *words] for words in (*jumps, ["-F", chain], ["-X", chain])]


def parse_nat(command: str, saved: str) -> NatTable:
    chains, rules = [], []
    for line in saved.splitlines():
        if line.startswith(":"):
            chains.append(line[1:].split()[0])
        elif line.startswith("-A "):
            rules.append(shlex.split(line))
    return NatTable(command, chains, rules)


def _value(rule: Sequence[str], option: str) -> str:
    return rule[rule.index(option) + 1] if option in rule else ""


def chain_name(kind: str, network: str, sandbox_id: str) -> str:
    return f"CNI-{kind}{_hash(network + sandbox_id)}"[:28]


def ifb_name(network: str, sandbox_id: str) -> str:
    return f"bwp{_hash(network + sandbox_id)}"[:15]


def _hash(text: str) -> str:
    return hashlib.sha512(text.encode("utf-8", "surrogatepass")).hexdigest()
