"""What a scenario cannot request of real containers is refused, with the field and the remedy."""

from __future__ import annotations

import pytest

from kubesim.errors import UsageError
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.runtimes.limits import check_real_runtime
from kubesim.scenario.runtimes.paced import checked_plugin

HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: a}\nspec:\n"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("behaviours: [{pod: web, exitCode: 1}]", "spec.behaviours"),
        ("dependencies: [{name: db}]", "spec.dependencies"),
        ("nodes: [{name: a}, {name: b, imageFs: 10Gi}]", "spec.nodes[1].imageFs"),
        ("steps: [{at: 1s, reboot: {node: node-1}}]", "spec.steps[0].reboot"),
        ("steps: [{at: 1s, stop: kubelet}, {at: 2s, stop: runtime}]", "spec.steps[1].stop of runtime"),
        ("profile: v1.30", "spec.profile v1.30"),
    ],
)
def test_what_needs_simulated_containers_is_refused(line: str, field: str) -> None:
    spec = parse_scenario(f"{HEAD}  {line}\n", "a.yaml").spec
    with pytest.raises(UsageError) as raised:
        check_real_runtime(spec, "cri")
    assert str(raised.value).startswith(field)
    assert "runtime cri" in str(raised.value)


def test_what_real_containers_can_do_is_accepted() -> None:
    text = f"{HEAD}  steps: [{{at: 1s, restart: kubelet}}, {{at: 2s, kill: {{pod: web}}}}]\n"
    check_real_runtime(parse_scenario(text, "a.yaml").spec, "cri")


def test_real_containers_have_one_speed() -> None:
    scenario = parse_scenario(f"{HEAD}  duration: 1m\n", "a.yaml").with_runtime("cri", {})
    with pytest.raises(
        UsageError, match=r"^--speed 10: real containers of runtime cri run in real time: leave --speed"
    ):
        checked_plugin(scenario.spec, 10.0)
