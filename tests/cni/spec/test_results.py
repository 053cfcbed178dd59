"""Results of plugins, converted between versions of the specification."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.cni.gocni_result import create_result as merge
from kubesim.cni.spec.results import AnyResult, Result, Result020, convert, create_from_bytes, create_result
from kubesim.cni.spec.types import DNS, Interface, IPConfig, Route
from kubesim.cni.spec.versions import ALL
from kubesim.errors import CniError
from kubesim.golang.addresses import IP, IPNet, ip_from_text, parse_cidr
from kubesim.golang.json import dumps


def addresses(bits: int) -> st.SearchStrategy[IP]:
    prefix = bytes(10) + b"\xff\xff" if bits == 32 else b""
    return st.binary(min_size=bits // 8, max_size=bits // 8).map(lambda packed: IP(prefix + packed))


IPV4 = st.builds(IPNet, addresses(32), st.integers(0, 32))
IPV6 = st.builds(IPNet, addresses(128).filter(lambda ip: not ip.is_ipv4), st.integers(0, 128))
NETS = IPV4 | IPV6
WORDS = st.text("abc.-0", min_size=1, max_size=5)
RESULTS = st.builds(
    Result,
    st.just("1.1.0"),
    st.lists(st.builds(Interface, WORDS, WORDS, sandbox=WORDS), max_size=3).map(tuple),
    st.lists(st.builds(IPConfig, NETS, st.none() | addresses(32), st.none() | st.integers(0, 5)), max_size=3).map(
        tuple
    ),
    st.lists(st.builds(Route, NETS, st.none() | addresses(32)), max_size=3).map(tuple),
    st.builds(DNS, st.lists(WORDS, max_size=2).map(tuple), WORDS),
)


def read_again(result: AnyResult) -> AnyResult:
    return create_from_bytes(dumps(result.to_json()).encode())


@given(RESULTS, st.sampled_from(ALL))
def test_a_written_result_can_be_read_again(result: Result, version: str) -> None:
    if version in ("0.1.0", "0.2.0") and not result.ips:
        with pytest.raises(CniError, match="cannot convert: no valid IP addresses"):
            convert(result, version)
    else:
        converted = convert(result, version)
        assert read_again(converted) == converted


@given(RESULTS)
def test_from_1_0_to_0_4_and_back_nothing_is_lost(result: Result) -> None:
    for version in ("0.3.0", "0.3.1", "0.4.0", "1.0.0"):
        assert convert(convert(result, version), "1.1.0") == result


@given(RESULTS.filter(lambda result: len(result.ips) > 0))
def test_conversion_to_0_2_keeps_the_first_address_of_each_family(result: Result) -> None:
    old = convert(result, "0.2.0")
    assert isinstance(old, Result020)
    families = [ip.address.is_ipv4 for ip in result.ips if ip]
    assert (old.ip4 is not None, old.ip6 is not None) == (True in families, False in families)
    if old.ip4 is not None:
        first = next(ip.address for ip in result.ips if ip and ip.address.is_ipv4)
        assert old.ip4.ip == first


def test_a_missing_address_is_printed_as_in_go() -> None:
    result = create_result("1.0.0", b'{"cniVersion": "1.0.0", "ips": [{}], "routes": [{"gw": ""}]}')
    assert dumps(result.to_json()) == (
        '{"cniVersion":"1.0.0","ips":[{"address":"\\u003cnil\\u003e"}],"routes":[{"dst":"\\u003cnil\\u003e"}]}'
    )


def with_index(index: int, *interfaces: str) -> dict[str, Any]:
    ip = IPConfig(parse_cidr("10.0.0.2/24"), ip_from_text("10.0.0.1"), index)
    return merge([Result(interfaces=tuple(Interface(name) for name in interfaces), ips=(ip,))], "eth0").to_json()


def test_addresses_are_grouped_by_interface() -> None:
    reported = with_index(1, "veth", "eth0")["Interfaces"]
    assert reported["eth0"]["IPConfigs"] == [{"IP": "10.0.0.2", "Gateway": "10.0.0.1"}]
    assert reported["veth"]["IPConfigs"] is None


@pytest.mark.parametrize("index", [-1, 1, 2])
def test_an_address_of_a_missing_interface_is_an_error(index: int) -> None:
    """Upstream panics if the index is exactly one too high."""
    with pytest.raises(CniError, match=r"^invalid interface config: invalid IP configuration .*: invalid result$"):
        with_index(index, "eth0")
