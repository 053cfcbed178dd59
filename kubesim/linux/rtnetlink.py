"""Links, addresses and routes of the current network namespace over rtnetlink, without the `ip` command.

Mirrors: linux include/uapi/linux/rtnetlink.h, if_link.h, if_addr.h
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any, Final

_NEWLINK, _DELLINK, _GETLINK, _NEWADDR, _GETADDR, _NEWROUTE, _GETROUTE = 16, 17, 18, 20, 22, 24, 26
_ERROR, _DONE = 2, 3
_REQUEST, _ACK, _DUMP, _CREATE, _EXCLUSIVE = 1, 4, 0x300, 0x400, 0x200

_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_LINK, _IFLA_MASTER, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 1, 3, 5, 10, 18, 28
_IFLA_LINK_NETNSID = 37
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_IFA_ADDRESS, _IFA_LOCAL, _IFA_NODAD = 1, 2, 2
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_MAIN_TABLE, _BOOT, _UNIVERSE, _LINK_SCOPE, _UNICAST = 254, 3, 0, 253, 1
_IFF_UP: Final = 1

_HEADER, _LINK, _ADDRESS, _ROUTE = (struct.Struct(form) for form in ("=IHHII", "=BxHiII", "=BBBBI", "=BBBBBBBBI"))
_NUMBER = struct.Struct("=I")

Described = dict[str, Any]


def add_bridge(name: str) -> None:
    """Create a bridge and bring it up."""
    kind = _attribute(_IFLA_LINKINFO, _attribute(_INFO_KIND, b"bridge"))
    _change(_NEWLINK, _LINK.pack(0, 0, 0, _IFF_UP, _IFF_UP) + _name(name) + kind, _CREATE | _EXCLUSIVE)


def add_veth(name: str, master: str, peer: str, peer_netns: int) -> None:
    """Create a veth pair: a bridge port here, which is up, and a link in another namespace (a file descriptor)."""
    other = _LINK.pack(0, 0, 0, 0, 0) + _name(peer) + _attribute(_IFLA_NET_NS_FD, _NUMBER.pack(peer_netns))
    kind = _attribute(_INFO_KIND, b"veth") + _attribute(_INFO_DATA, _attribute(_VETH_PEER, other))
    attributes = _name(name) + _attribute(_IFLA_MASTER, _NUMBER.pack(socket.if_nametoindex(master)))
    whole = _LINK.pack(0, 0, 0, _IFF_UP, _IFF_UP) + attributes + _attribute(_IFLA_LINKINFO, kind)
    _change(_NEWLINK, whole, _CREATE | _EXCLUSIVE)


def remove_link(name: str) -> None:
    _change(_DELLINK, _LINK.pack(0, 0, socket.if_nametoindex(name), 0, 0))


def set_up(name: str) -> None:
    _change(_NEWLINK, _LINK.pack(0, 0, socket.if_nametoindex(name), _IFF_UP, _IFF_UP))


def add_address(name: str, address: str) -> None:
    """Add `10.0.0.1/16`. An IPv6 address skips duplicate detection, because no other host can have it."""
    interface = ipaddress.ip_interface(address)
    packed = interface.ip.packed
    body = _ADDRESS.pack(_family(packed), interface.network.prefixlen, _IFA_NODAD, 0, socket.if_nametoindex(name))
    attributes = _attribute(_IFA_LOCAL, packed) + _attribute(_IFA_ADDRESS, packed)
    _change(_NEWADDR, body + attributes, _CREATE | _EXCLUSIVE)


def add_route(destination: str, gateway: str) -> None:
    network, via = ipaddress.ip_network(destination), ipaddress.ip_address(gateway).packed
    body = _ROUTE.pack(_family(via), network.prefixlen, 0, 0, _MAIN_TABLE, _BOOT, _UNIVERSE, _UNICAST, 0)
    attributes = _attribute(_RTA_DST, network.network_address.packed) + _attribute(_RTA_GATEWAY, via)
    _change(_NEWROUTE, body + attributes, _CREATE | _EXCLUSIVE)


def links() -> list[Described]:
    """Name, index, kind, hardware address, up, master. `peer` is the index of a veth's other end, which is in another
    namespace if `peer_elsewhere`.
    """
    found = []
    for data in _dump(_GETLINK, _LINK.pack(0, 0, 0, 0, 0)):
        _, _, index, flags, _ = _LINK.unpack_from(data)
        values = dict(_attributes(data[_LINK.size :]))
        info = dict(_attributes(values.get(_IFLA_LINKINFO, b"")))
        found.append(
            {
                "name": _text(values[_IFLA_IFNAME]),
                "index": index,
                "kind": _text(info.get(_INFO_KIND, b"")),
                "mac": values.get(_IFLA_ADDRESS, b"").hex(":"),
                "up": bool(flags & _IFF_UP),
                "master": _number(values.get(_IFLA_MASTER)),
                "peer": _number(values.get(_IFLA_LINK)),
                "peer_elsewhere": _IFLA_LINK_NETNSID in values,
            }
        )
    return found


def addresses() -> list[Described]:
    found = []
    for data in _dump(_GETADDR, _ADDRESS.pack(0, 0, 0, 0, 0)):
        _, length, _, scope, index = _ADDRESS.unpack_from(data)
        values = dict(_attributes(data[_ADDRESS.size :]))
        packed = values.get(_IFA_LOCAL, values.get(_IFA_ADDRESS, b""))
        text = f"{ipaddress.ip_address(packed)}/{length}"
        found.append({"index": index, "address": text, "link_local": scope == _LINK_SCOPE})
    return found


def routes() -> list[Described]:
    """Routes of the main table with a gateway or device: `destination` is `default` or a network."""
    found = []
    for data in _dump(_GETROUTE, _ROUTE.pack(0, 0, 0, 0, 0, 0, 0, 0, 0)):
        family, length, _, _, table, _, _, kind, _ = _ROUTE.unpack_from(data)
        values = dict(_attributes(data[_ROUTE.size :]))
        if table != _MAIN_TABLE or kind != _UNICAST:
            continue
        gateway, packed = values.get(_RTA_GATEWAY), values.get(_RTA_DST)
        found.append(
            {
                "destination": "default" if packed is None else f"{ipaddress.ip_address(packed)}/{length}",
                "gateway": "" if gateway is None else str(ipaddress.ip_address(gateway)),
                "index": _number(values.get(_RTA_OIF)),
                "ipv6": family == socket.AF_INET6,
            }
        )
    return found


# -- messages ---------------------------------------------------------------------------------------------------


def _change(kind: int, body: bytes, flags: int = 0) -> None:
    for _ in _exchange(kind, body, flags | _ACK):
        pass


def _dump(kind: int, body: bytes) -> Iterator[bytes]:
    return _exchange(kind, body, _DUMP)


def _exchange(kind: int, body: bytes, flags: int) -> Iterator[bytes]:
    """Send a request; return the bodies of all responses, or raise the error."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(_HEADER.pack(_HEADER.size + len(body), kind, flags | _REQUEST, 1, 0) + body)
        while True:
            data = netlink.recv(1 << 16)
            while data:
                length, answer, _, _, _ = _HEADER.unpack_from(data)
                content, data = data[_HEADER.size : length], data[(length + 3) & ~3 :]
                if answer == _DONE:
                    return
                if answer == _ERROR:
                    number = -struct.unpack_from("=i", content)[0]
                    if number:
                        raise OSError(number, os.strerror(number), "rtnetlink")
                    return
                yield content


def _attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def _name(name: str) -> bytes:
    return _attribute(_IFLA_IFNAME, name.encode() + b"\0")


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[(max(length, 4) + 3) & ~3 :]


def _family(packed: bytes) -> int:
    return socket.AF_INET6 if len(packed) == 16 else socket.AF_INET


def _number(data: bytes | None) -> int:
    return 0 if data is None else int(_NUMBER.unpack(data)[0])


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode()
