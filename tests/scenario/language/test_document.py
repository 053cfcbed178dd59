"""The scenario language: random draws, short forms, and errors."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.expect_items import Expect
from kubesim.scenario.language.step_items import Step


def scenario(**spec: Any) -> Scenario:
    document = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "x"}, "spec": spec}
    return Scenario.model_validate(document)


def test_an_empty_spec_has_one_node_and_no_duration() -> None:
    spec = scenario().spec
    assert [node.name for node in spec.nodes] == ["node-1"]
    assert (spec.seed, spec.duration, spec.runtime, spec.profile) == (0, None, "simulated", "v1.36")


def test_a_plain_value_is_the_short_form_of_a_draw() -> None:
    items = scenario(behaviours=[{"runFor": "5s", "exitCode": 1, "log": ["one", {"text": "two", "after": "1s"}]}]).spec
    behaviour = items.behaviours[0]
    assert behaviour.run_for is not None
    assert (behaviour.run_for.value, behaviour.exit_code.value) == (5_000_000, 1)
    assert [(entry.after, entry.text) for entry in behaviour.log] == [(0, "one"), (1_000_000, "two")]


@pytest.mark.parametrize("draw", [{"min": "1s"}, {"min": "3s", "max": "1s"}, {"mean": "1s", "choices": ["1s"]}, {}])
def test_a_draw_has_one_distribution(draw: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        scenario(behaviours=[{"runFor": draw}])


def test_a_step_has_one_action() -> None:
    with pytest.raises(ValidationError, match="a step does one of"):
        Step.model_validate({"at": "1s"})
    with pytest.raises(ValidationError, match="a step does one of"):
        Step.model_validate({"at": "1s", "delete": {"pod": "a"}, "kill": {"pod": "a"}})


def test_a_pod_is_named_with_or_without_its_namespace() -> None:
    assert Expect.model_validate({"pod": "web", "phase": "Running"}).key == ("default", "web")
    assert Expect.model_validate({"pod": "shop/web", "phase": "Running"}).key == ("shop", "web")


def test_an_expectation_has_one_question() -> None:
    with pytest.raises(ValidationError, match="needs one of phase, condition, state"):
        Expect.model_validate({"pod": "web"})
    with pytest.raises(ValidationError, match="needs one of"):
        Expect.model_validate({"pod": "web", "phase": "Running", "gone": True})


def test_a_list_is_a_json_patch() -> None:
    step = Step.model_validate({"at": "1s", "patch": {"pod": "a", "patch": [{"op": "remove", "path": "/x"}]}})
    assert step.patch is not None
    assert step.patch.type == "json"


def test_only_known_gates_are_accepted() -> None:
    with pytest.raises(ValidationError, match="did you mean 'SidecarContainers'"):
        scenario(featureGates={"SidecarContainer": False})


def test_node_names_are_unique() -> None:
    with pytest.raises(ValidationError, match="there are two nodes"):
        scenario(nodes=[{"name": "a"}, {"name": "a"}])
