"""Where two answers count as the same without being equal, and where they do not."""

from __future__ import annotations

from kubesim.conformance.narrowing import same_error, without_generated_uids


def test_a_parser_must_fail_but_its_words_are_its_own() -> None:
    assert same_error("f: couldn't parse as pod(yaml: line 3: oops)", "f: couldn't parse as pod(yaml: line 4: no)")
    assert not same_error("f: couldn't parse as pod(yaml: line 3: oops)", "f: couldn't parse as pod(json: no)")
    assert not same_error("f: couldn't parse as pod(yaml: oops)", "g: couldn't parse as pod(yaml: oops)")


def test_a_printed_go_value_is_compared_up_to_its_type() -> None:
    assert same_error("x(invalid pod: &core.Service{TypeMeta:0xc000})", "x(invalid pod: &core.Service{...})")
    assert not same_error("x(invalid pod: &core.Service{TypeMeta:0xc000})", "x(invalid pod: &core.Node{...})")


def test_the_order_of_errors_is_free_only_within_maps() -> None:
    a, b = 'metadata.labels: Invalid value: "a": x', 'metadata.labels: Invalid value: "b": x'
    c, d = "spec.containers: Required value", "spec.dnsPolicy: Required value"
    assert same_error(f"invalid pod: [{a} {b} {c}]", f"invalid pod: [{b} {a} {c}]")
    assert not same_error(f"invalid pod: [{a} {c} {d}]", f"invalid pod: [{a} {d} {c}]")
    assert not same_error(f"invalid pod: [{a} {b}]", f"invalid pod: [{a} {a}]")


def test_a_generated_uid_is_only_marked_and_a_given_one_is_not() -> None:
    uid = "0123456789abcdef" * 2
    pod = {"uid": uid, "annotations": {"hash": uid}, "pod": {"metadata": {"uid": uid}}}
    marked = {"uid": "<generated>", "annotations": {"hash": "<generated>"}, "pod": {"metadata": {"uid": "<generated>"}}}
    assert without_generated_uids(pod, "") == marked
    assert without_generated_uids(pod, uid) == pod
