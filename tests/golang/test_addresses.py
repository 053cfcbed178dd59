"""Addresses as Go reads and prints them.

Adapted from: net/ip_test.go parseIPTests, parseCIDRTests
"""

from __future__ import annotations

import pytest

from kubesim.golang.addresses import ip_from_text, parse_cidr


@pytest.mark.parametrize(
    ("text", "reported"),
    [("10.0.0.1/24", "10.0.0.1/24"), ("::ffff:10.0.0.1/120", "10.0.0.1/24"), ("2001:DB8:0:0::1/64", "2001:db8::1/64"),
     ("::/0", "::/0"), ("::ffff:0:0/90", "0.0.0.0/0"), ("::102:304/128", "::102:304/128")],
)  # fmt: skip
def test_addresses_in_gos_format(text: str, reported: str) -> None:
    assert str(parse_cidr(text)) == reported


@pytest.mark.parametrize(
    "text",
    [
        "",
        "10.0.0.1",
        "10.0.0.1/33",
        "10.0.0.01/8",
        "1.2.3/8",
        "::1%lo/64",
        "::1/129",
        "10.0.0.1/-1",
        "x/8",
        "1/1",
        "10.0.0.1/000000024",
    ],
)
def test_invalid_prefixes(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^invalid CIDR address: {text}$"):
        parse_cidr(text)


def test_an_empty_or_invalid_text_is_rejected() -> None:
    assert ip_from_text("") is None
    assert [str(ip_from_text(text)) for text in ("::ffff:1.2.3.4", "FE80::0:1")] == ["1.2.3.4", "fe80::1"]
    with pytest.raises(ValueError, match=r"^invalid IP address: 1\.2\.3\.04$"):
        ip_from_text("1.2.3.04")
