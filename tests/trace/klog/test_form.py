"""klog's text and component-base's JSON of the same line."""

from __future__ import annotations

import json

from kubesim.trace.klog.form import as_json, as_text
from kubesim.trace.klog.line import KlogLine, Ref, error, info

AT = 1_763_406_944_123_456  # 2025-11-17 19:15:44.123456 UTC
HEAD = "I1117 19:15:44.123456       1 kubelet.go:2709] "


def text(line: KlogLine) -> str:
    return as_text(line, AT)


def test_a_header_has_severity_date_time_process_and_file() -> None:
    line = info(
        "kubelet/kubelet.go:2709", 2, "SyncLoop ADD", source="api", pods=(Ref("default/hello"), Ref("shop/web"))
    )
    assert text(line) == HEAD + '"SyncLoop ADD" source="api" pods=["default/hello","shop/web"]'


def test_an_error_comes_first_and_has_severity_e() -> None:
    line = error("kubelet/pod_workers.go:1338", 'no "x"', "Error syncing pod, skipping", pod=Ref("default/web"))
    said = 'E1117 19:15:44.123456       1 pod_workers.go:1338] "Error syncing pod, skipping" err="no \\"x\\"" '
    assert text(line) == said + 'pod="default/web"'


def test_values_other_than_strings_are_json() -> None:
    line = info("kubelet/kubelet.go:2709", 2, "m", n=3, yes=True, event={"ID": "u", "Data": "<c>"}, names=[], none=())
    assert text(line) == HEAD + r'"m" n=3 yes=true event={"ID":"u","Data":"\u003cc\u003e"} names=[] none=[]'


def test_a_text_of_several_lines_is_a_block() -> None:
    line = info("kubelet/kubelet.go:2709", 2, "m", output="one\ntwo\n", n=1)
    assert text(line) == HEAD + '"m" output=<\n\tone\n\ttwo\n > n=1'


def test_json_has_the_keys_of_component_base() -> None:
    line = info("kubelet/kubelet.go:2709", 2, "SyncLoop ADD", source="api", pods=(Ref("default/hello"),))
    pods = '[{"name":"hello","namespace":"default"}]'
    head = '{"ts":1763406944123.456,"caller":"kubelet/kubelet.go:2709","msg":"SyncLoop ADD","v":2,'
    assert as_json(line, AT) == head + f'"source":"api","pods":{pods}}}'


def test_a_json_error_ends_with_err_and_has_no_v() -> None:
    line = error("kubelet/pod_workers.go:1338", "no", "failed", node=Ref("node-1"))
    found = json.loads(as_json(line, AT - 456))
    assert list(found.items()) == [
        ("ts", 1_763_406_944_123),
        ("caller", "kubelet/pod_workers.go:1338"),
        ("msg", "failed"),
        ("node", {"name": "node-1"}),
        ("err", "no"),
    ]
