"""Runtimes of other distributions: found by entry point, refused in one line if they cannot be used."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from kubesim.errors import UsageError
from kubesim.scenario.language.document import Spec
from kubesim.scenario.runtimes import RuntimePlugin, finding

HERE = "tests.scenario.runtimes.test_finding"


class Broken(RuntimePlugin):
    def __init__(self, spec: Spec) -> None:
        raise OSError("no such device")


class Picky(RuntimePlugin):
    def __init__(self, spec: Spec) -> None:
        raise UsageError("picky needs a licence")


class NoPlugin:
    pass


def install(patch: pytest.MonkeyPatch, *pairs: tuple[str, str]) -> None:
    entries = [EntryPoint(name, value, finding.GROUP) for name, value in pairs]
    patch.setattr(finding, "entry_points", lambda group: entries)


def test_an_unknown_runtime_names_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("mine", f"{HERE}:Broken"))
    expected = (
        "there is no runtime podman: use one of simulated, cni, cri, mine, or install a distribution that provides it"
    )
    assert finding.unknown_runtime("podman") == expected
    assert finding.unknown_runtime("mine") == ""
    with pytest.raises(UsageError, match="there is no runtime podman"):
        finding.plugin_class("podman")


def test_the_name_of_a_bundled_runtime_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("cri", f"{HERE}:Broken"))
    assert finding.installed() == {}
    assert finding.plugin_class("cri").__name__ == "CriPlugin"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("no.such.module:Plugin", "cannot be loaded: ModuleNotFoundError: No module named 'no'"),
        (f"{HERE}:Nowhere", "cannot be loaded: AttributeError"),
        (f"{HERE}:NoPlugin", "is not a subclass of kubesim.scenario.runtimes.RuntimePlugin"),
    ],
)
def test_an_entry_point_that_is_wrong_is_one_line(monkeypatch: pytest.MonkeyPatch, value: str, problem: str) -> None:
    install(monkeypatch, ("mine", value))
    with pytest.raises(UsageError) as raised:
        finding.plugin_class("mine")
    assert str(raised.value).startswith(f"runtime mine ({value}) ")
    assert problem in str(raised.value)


def test_a_plugin_that_cannot_start_is_one_line() -> None:
    spec = Spec.model_construct(runtime="mine")
    with pytest.raises(UsageError, match=r"^runtime mine cannot be started: OSError: no such device$"):
        finding.made_plugin(Broken, spec)
    with pytest.raises(UsageError, match=r"^picky needs a licence$"):
        finding.made_plugin(Picky, spec)
