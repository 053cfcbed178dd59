"""Answers that differ in text but count as equal, and those that do not."""

from __future__ import annotations

from kubesim.conformance.cni_cases import judge_either
from kubesim.conformance.narrowing import (
    same_error,
    same_outcome_of_busy_plugin,
    without_generated_uids,
    without_nil,
)


def test_parser_errors_must_occur_but_their_text_may_differ() -> None:
    assert same_error("f: couldn't parse as pod(yaml: line 3: oops)", "f: couldn't parse as pod(yaml: line 4: no)")
    assert not same_error("f: couldn't parse as pod(yaml: line 3: oops)", "f: couldn't parse as pod(json: no)")
    assert not same_error("f: couldn't parse as pod(yaml: oops)", "g: couldn't parse as pod(yaml: oops)")


def test_a_printed_go_value_is_compared_by_its_type() -> None:
    assert same_error("x(invalid pod: &core.Service{TypeMeta:0xc000})", "x(invalid pod: &core.Service{...})")
    assert not same_error("x(invalid pod: &core.Service{TypeMeta:0xc000})", "x(invalid pod: &core.Node{...})")


def test_the_order_of_errors_is_free_only_within_maps() -> None:
    a, b = 'metadata.labels: Invalid value: "a": x', 'metadata.labels: Invalid value: "b": x'
    c, d = "spec.containers: Required value", "spec.dnsPolicy: Required value"
    assert same_error(f"invalid pod: [{a} {b} {c}]", f"invalid pod: [{b} {a} {c}]")
    assert not same_error(f"invalid pod: [{a} {c} {d}]", f"invalid pod: [{a} {d} {c}]")
    assert not same_error(f"invalid pod: [{a} {b}]", f"invalid pod: [{a} {a}]")


def test_generated_uids_get_placeholders_and_given_ones_do_not() -> None:
    uid = "0123456789abcdef" * 2
    pod = {"uid": uid, "annotations": {"hash": uid}, "pod": {"metadata": {"uid": uid}}}
    marked = {"uid": "<generated>", "annotations": {"hash": "<generated>"}, "pod": {"metadata": {"uid": "<generated>"}}}
    assert without_generated_uids(pod, "") == marked
    assert without_generated_uids(pod, uid) == pod


def test_null_equals_empty_where_go_has_nil() -> None:
    assert without_nil({"a": [], "b": {}, "c": [{}], "d": 0, "e": ""}) == {
        "a": None,
        "b": None,
        "c": [None],
        "d": 0,
        "e": "",
    }
    assert judge_either({}, {"a": None}, {"a": []}) == []
    assert judge_either({}, {"a": None}, {"a": [1]}) != []


def test_a_go_panic_must_be_an_error_and_the_output_before_it_must_be_equal() -> None:
    panicked = {"parsed": {"x": 1}, "panic": "nil pointer", "error": None}
    assert judge_either({}, panicked, {"parsed": {"x": 1}, "error": {"text": "whatever"}}) == []
    assert judge_either({}, panicked, {"parsed": {"x": 1}, "error": None}) != []
    assert judge_either({}, panicked, {"parsed": {"x": 2}, "error": {"text": "whatever"}}) != []


def test_either_text_of_gos_json_libraries_is_accepted() -> None:
    case = {"out_jsonv2": {"error": {"text": "new words"}}}
    old = {"error": {"text": "old words"}}
    assert judge_either(case, old, {"error": {"text": "new words"}}) == []
    assert judge_either(case, old, {"error": {"text": "other words"}}) != []


def test_a_busy_plugin_may_be_waited_for_but_not_fail_otherwise() -> None:
    gave_up = {"error": "netplugin failed with no error message: exec: already started", "result": None}
    assert same_outcome_of_busy_plugin(gave_up, {"error": None, "result": {}})
    assert same_outcome_of_busy_plugin(gave_up, {"error": "fork/exec x: text file busy", "result": None})
    assert not same_outcome_of_busy_plugin(gave_up, {"error": "something else", "result": None})
    assert not same_outcome_of_busy_plugin({"error": "something else"}, {"error": None, "result": {}})
