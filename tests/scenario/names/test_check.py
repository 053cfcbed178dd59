"""All names in an expectation are checked, even if its pod does not exist."""

from __future__ import annotations

from kubesim.scenario.language.document import Spec
from kubesim.scenario.names.check import expectation_problems


def test_every_unknown_name_in_an_expectation_is_found() -> None:
    spec = Spec.model_validate({"duration": "30s", "expect": [{"pod": "web", "event": "Kiling", "by": "1m"}]})
    assert [problem.path for problem in expectation_problems(spec)] == [
        ("expect", 0, "by"), ("expect", 0, "pod"), ("expect", 0, "event"),
    ]  # fmt: skip
