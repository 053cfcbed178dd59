"""The node's resolv.conf. Adapted from pkg/kubelet/network/dns/dns_test.go TestParseResolvConf, and the limits of
CheckLimitsForResolvConf, for which upstream has no table."""

from __future__ import annotations

import pytest

from kubesim.kubelet.sandbox.resolv_conf import ResolvConf, ResolvConfError, parse_resolv_conf, resolv_conf_problem

TWO = ("1.2.3.4", "5.6.7.8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ResolvConf()),
        (" ", ResolvConf()),
        ("\n", ResolvConf()),
        ("\t\n\t", ResolvConf()),
        ("#comment\n", ResolvConf()),
        (" #comment\n", ResolvConf()),
        ("#comment\n#comment", ResolvConf()),
        ("#comment\nnameserver 1.2.3.4\nsearch", ResolvConf(("1.2.3.4",))),
        ("nameserver 1.2.3.4", ResolvConf(("1.2.3.4",))),
        (" nameserver 1.2.3.4", ResolvConf(("1.2.3.4",))),
        ("\tnameserver 1.2.3.4", ResolvConf(("1.2.3.4",))),
        ("nameserver\t1.2.3.4", ResolvConf(("1.2.3.4",))),
        ("nameserver \t 1.2.3.4", ResolvConf(("1.2.3.4",))),
        ("nameserver 1.2.3.4\nnameserver 5.6.7.8", ResolvConf(TWO)),
        ("nameserver 1.2.3.4 #comment", ResolvConf(("1.2.3.4",))),
        ("search ", ResolvConf()),
        ("search .", ResolvConf()),
        ("search . foo", ResolvConf(searches=("foo",))),
        ("search foo .", ResolvConf(searches=("foo",))),
        ("search foo .  bar", ResolvConf(searches=("foo", "bar"))),
        ("search foo", ResolvConf(searches=("foo",))),
        ("search foo bar", ResolvConf(searches=("foo", "bar"))),
        ("search foo. bar", ResolvConf(searches=("foo", "bar"))),
        ("search foo bar bat\n", ResolvConf(searches=("foo", "bar", "bat"))),
        ("search foo\nsearch bar", ResolvConf(searches=("bar",))),
        ("nameserver 1.2.3.4\nsearch foo bar", ResolvConf(("1.2.3.4",), ("foo", "bar"))),
        ("nameserver 1.2.3.4\nsearch foo\nnameserver 5.6.7.8\nsearch bar", ResolvConf(TWO, ("bar",))),
        ("#comment\nnameserver 1.2.3.4\n#comment\nsearch foo\ncomment", ResolvConf(("1.2.3.4",), ("foo",))),
        ("options ", ResolvConf()),
        ("options ndots:5 attempts:2", ResolvConf(options=("ndots:5", "attempts:2"))),
        ("options ndots:1 ndots:5 attempts:2", ResolvConf(options=("ndots:5", "attempts:2"))),
        (
            "options ndots:1 edns0 attempts:2 single-request-reopen",
            ResolvConf(options=("ndots:1", "edns0", "attempts:2", "single-request-reopen")),
        ),
        ("options ndots:1\noptions ndots:5 attempts:3", ResolvConf(options=("ndots:5", "attempts:3"))),
        (
            "options ndots:1 timeout:3 timeout:1 attempts:3\noptions ndots:5",
            ResolvConf(options=("ndots:5", "timeout:1", "attempts:3")),
        ),
        (
            "options ndots:1 attempts:3\noptions ndots:1 attempts:3 ndots:5",
            ResolvConf(options=("ndots:5", "attempts:3")),
        ),
        (
            "nameserver 1.2.3.4\nsearch foo\nnameserver 5.6.7.8\nsearch bar\noptions ndots:5 attempts:4",
            ResolvConf(TWO, ("bar",), ("ndots:5", "attempts:4")),
        ),
    ],
)
def test_parse_resolv_conf(text: str, expected: ResolvConf) -> None:
    assert parse_resolv_conf(text) == expected


@pytest.mark.parametrize("text", ["#comment\nnameserver", "#comment\nnameserver\nsearch", "nameserver\nnameserver"])
def test_a_line_without_a_name_server_is_an_error(text: str) -> None:
    with pytest.raises(ResolvConfError) as raised:
        parse_resolv_conf(text)
    assert str(raised.value) == "nameserver list is empty "


def test_a_file_of_more_than_ten_megabytes_is_not_read() -> None:
    with pytest.raises(ResolvConfError, match="the read limit is reached"):
        parse_resolv_conf("#" * ((10 << 20) + 1))


@pytest.mark.parametrize(
    ("searches", "cluster_domain", "problem"),
    [
        (("a",) * 29, "cluster.local", ""),
        (("a",) * 32, "", ""),
        (("a",) * 30, "cluster.local", "'/r.conf' contains search line consisting of more than 29 domains!"),
        (("a",) * 33, "", "'/r.conf' contains search line consisting of more than 32 domains!"),
        (("a" * 253,), "cluster.local", ""),
        (("a" * 254,), "", '"/r.conf" contains a search path which length is more than allowed 253 chars!'),
        (("a" * 227,) * 9, "", "'/r.conf' contains search line which length is more than allowed 2048 chars!"),
    ],
)
def test_check_limits_for_resolv_conf(searches: tuple[str, ...], cluster_domain: str, problem: str) -> None:
    assert resolv_conf_problem("/r.conf", searches, cluster_domain) == (problem and f"Resolv.conf file {problem}")
