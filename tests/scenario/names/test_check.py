"""All names of an expectation are checked, also of one about a pod that does not exist."""

from __future__ import annotations

from kubesim.scenario.language.document import Spec
from kubesim.scenario.names.check import expectation_problems


def test_every_wrong_name_of_an_expectation_is_found() -> None:
    spec = Spec.model_validate({"duration": "30s", "expect": [{"pod": "web", "event": "Kiling", "by": "1m"}]})
    assert [problem.path for problem in expectation_problems(spec)] == [
        ("expect", 0, "by"), ("expect", 0, "pod"), ("expect", 0, "event"),
    ]  # fmt: skip
