"""The watch: a violation fails the run and says what led to it; a scenario turns invariants off or expects one."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubesim.app import run_scenario
from kubesim.cli.main import main
from kubesim.errors import InputError
from kubesim.runtime.simulated.addresses import Addresses
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.invariants.table import INVARIANTS, MODULES
from kubesim.scenario.language.document import NAMES
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import Expectation

TEXT = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: tale}
spec: {images: [{name: nginx, present: true}]%s}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: nginx}]}
"""

pytestmark = pytest.mark.violates_invariants


def play(given: str = "", **options: Any) -> RunResult:
    return run_scenario(parse_scenario(TEXT % (f", invariants: {given}" if given else ""), "tale.yaml"), **options)


@pytest.fixture
def leak(monkeypatch: pytest.MonkeyPatch) -> None:
    """No address is released."""
    monkeypatch.setattr(Addresses, "release", lambda *_: None)


def test_names_of_the_language_are_those_of_the_checkers() -> None:
    assert tuple(each.name for each in INVARIANTS) == NAMES


def test_each_says_what_it_means() -> None:
    for module in MODULES:
        first, _, rest = (module.__doc__ or "").partition("\n")
        assert first.endswith((".", ":"))
        assert len(rest.split()) > 5


def test_a_run_without_a_violation_is_fine() -> None:
    assert play().ok


@pytest.mark.usefixtures("leak")
def test_a_violation_fails_the_run_and_says_what_led_to_it() -> None:
    sink = MemorySink()
    result = play(sinks=(sink,))
    (failure,) = result.failures
    assert (failure.kind, failure.text, failure.pod) == ("invariant", "addresses: pod default/web", "default/web")
    assert failure.why.startswith("its sandbox has ended, but its address was not released, at 3")
    assert failure.at is not None
    reported = [re.sub(r"[0-9a-f]{12}", "ID", line.partition(" ")[2]) for line in failure.records]
    assert reported == [
        "sandbox ID is made",
        "container main starts as ID",
        "the phase is Running",
        "the pod is being deleted with a grace period of 30s",
        "container main is being stopped",
        "container main ends with 0",
        "sandbox ID ends",
    ]
    (record,) = [each for each in sink.records if isinstance(each, Expectation)]
    assert (record.pod, record.met, record.expectation) == (
        "default/web",
        False,
        "invariant addresses: pod default/web",
    )


@pytest.mark.usefixtures("leak")
@pytest.mark.parametrize("given", ["off", "{disabled: [addresses]}", "{violated: [addresses]}"])
def test_a_scenario_turns_it_off_or_expects_it(given: str) -> None:
    assert play(given).ok


@pytest.mark.usefixtures("leak")
@pytest.mark.parametrize("given", ["on", "{}", "{disabled: [probes]}", "{violated: []}"])
def test_others_stay_on(given: str) -> None:
    assert [failure.text for failure in play(given).failures] == ["addresses: pod default/web"]


def test_an_expected_violation_that_does_not_come_fails_the_run() -> None:
    (failure,) = play("{violated: [addresses]}").failures
    assert (failure.kind, failure.text) == ("invariant", "addresses")
    assert failure.why == "the scenario expects a violation (invariants.violated), and there was none"


@pytest.mark.parametrize(
    "given", ["{disabled: [adresses]}", "{violatd: [addresses]}", "maybe", "{disabled: [], violated: [x]}"]
)
def test_a_wrong_name_is_an_error(given: str) -> None:
    with pytest.raises(InputError, match=r"^tale.yaml:5: "):
        play(given)


@pytest.mark.usefixtures("leak")
def test_the_command_exits_with_1(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tale.yaml"
    file.write_text(TEXT % "")
    assert main(["run", str(file), "-q"]) == 1
    assert "invariant VIOLATED: addresses: pod default/web: its sandbox has ended" in capsys.readouterr().out


def test_watching_changes_nothing() -> None:
    on, off = MemorySink(), MemorySink()
    play(sinks=(on,))
    play("off", sinks=(off,))
    assert [record.to_json() for record in on.records] == [record.to_json() for record in off.records]
