"""Parses the node's resolv.conf and computes the kubelet's warnings about it.

Mirrors: pkg/kubelet/network/dns/dns.go parseResolvConf, appendOptions, CheckLimitsForResolvConf
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.errors import KubesimError
from kubesim.golang.text import quoted
from kubesim.values import value_object

MAX_SEARCH_PATHS = 32
MAX_SEARCH_LIST_CHARS = 2048
MAX_SEARCH_PATH_CHARS = 253
CLUSTER_SEARCH_PATHS = 3  # search domains of the cluster that a ClusterFirst pod gets before the node's
MAX_LENGTH = 10 << 20  # bytes


class ResolvConfError(KubesimError):
    """A resolv.conf that cannot be read."""


@value_object
class ResolvConf:
    servers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


def parse_resolv_conf(text: str) -> ResolvConf:
    """Name servers accumulate, the last search line wins, later options replace earlier ones of the same name.

    Go uses a map for options; here they keep the order of first appearance. Raises ResolvConfError.
    """
    if len(text.encode()) > MAX_LENGTH:
        raise ResolvConfError("the read limit is reached")
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    options: dict[str, str] = {}
    problem = ""
    for line in text.split("\n"):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        if fields[0] == "nameserver":
            if len(fields) > 1:
                servers.append(fields[1])
            else:
                problem = "nameserver list is empty "  # once for many lines: Go's aggregate drops duplicates
        elif fields[0] == "search":
            searches = tuple(name.removesuffix(".") for name in fields[1:] if name != ".")
        elif fields[0] == "options":
            add_options(options, fields[1:])
    if problem:
        raise ResolvConfError(problem)
    return ResolvConf(tuple(servers), searches, tuple(options.values()))


def add_options(options: dict[str, str], added: Iterable[str]) -> None:
    for option in added:
        options[option.split(":")[0]] = option


def resolv_conf_problem(path: str, searches: tuple[str, ...], cluster_domain: str) -> str:
    """Why the node's search line leaves too little room for a pod's; empty if it does not."""
    limit = MAX_SEARCH_PATHS - (CLUSTER_SEARCH_PATHS if cluster_domain else 0)
    if len(searches) > limit:
        return f"Resolv.conf file '{path}' contains search line consisting of more than {limit} domains!"
    if any(len(search) > MAX_SEARCH_PATH_CHARS for search in searches):
        return (
            f"Resolv.conf file {quoted(path)} contains a search path which length is more than allowed "
            f"{MAX_SEARCH_PATH_CHARS} chars!"
        )
    if len(" ".join(searches)) > MAX_SEARCH_LIST_CHARS:
        return (
            f"Resolv.conf file '{path}' contains search line which length is more than allowed "
            f"{MAX_SEARCH_LIST_CHARS} chars!"
        )
    return ""
