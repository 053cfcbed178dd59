"""Values that must never be in a log."""

from __future__ import annotations

import base64

import pytest

from kubesim.trace.klog.line import Ref, info
from kubesim.trace.klog.redact import REDACTED, Redaction, confidential


def test_the_values_of_secrets_and_of_environments_are_confidential() -> None:
    encoded = base64.b64encode(b"hunter2!").decode()
    container = {
        "name": "main",
        "env": [{"name": "A", "value": "swordfish"}, {"name": "P", "value": "8080"}, {"name": "L"}],
    }
    content = {
        "objects": [
            {"kind": "Secret", "data": {"password": encoded, "bad": "%%"}, "stringData": {"pin": "12"}},
            {"kind": "ConfigMap", "data": {"open": "everyone"}},
            {"kind": "Pod", "spec": {"containers": [container]}},
        ]
    }
    assert set(confidential(content)) == {
        "hunter2!",
        encoded,
        "%%",
        "12",
        base64.b64encode(b"12").decode(),
        "swordfish",
    }


def test_the_parts_of_a_secret_are_confidential_too() -> None:
    config = '{"auths": {"registry.example": {"username": "joe-user", "password": "pass-word"}}}'
    found = set(
        confidential({"kind": "Secret", "stringData": {".dockerconfigjson": config, "key": "one-line\ntwo-line"}})
    )
    assert {"joe-user", "pass-word", config, "one-line", "two-line"} < found


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the password is hunter2!, truly", f"the password is {REDACTED}, truly"),
        ("pin 12 of 120", f"pin {REDACTED} of 120"),
        ("Authorization: Bearer abc.def-1", f"Authorization: Bearer {REDACTED}"),
        ("get https://joe:pw@host/path", f"get https://{REDACTED}@host/path"),
        ("token eyJhbGciOi.eyJzdWIi.c2lnbmF0 end", f"token {REDACTED} end"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert Redaction(["hunter2!", "12", ""]).text(text) == shown


def test_every_value_of_a_line_is_searched_except_names_of_objects() -> None:
    line = info("a/b.go:1", 2, "m", pod=Ref("default/open"), err="open", deep={"a": ["open", 1]}, pods=(Ref("open"),))
    shown = Redaction(["open"]).line(line)
    assert shown.pairs == {
        "pod": "default/open",
        "err": REDACTED,
        "deep": {"a": [REDACTED, 1]},
        "pods": ("open",),
    }
