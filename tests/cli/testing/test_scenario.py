"""`kubesim scenario new|validate|fmt|schema|list`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.testing.cases import collect
from kubesim.testing.playing import play_case
from tests.support.scenario_files import write_scenario

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_scenario_is_valid_formatted_and_passes(capsys: Capture) -> None:
    assert main(["scenario", "new", "web"]) == 0
    assert capsys.readouterr().out == "web.yaml\n"
    assert main(["scenario", "validate", "web.yaml"]) == 0
    assert main(["scenario", "fmt", "--check", "web.yaml"]) == 0
    [case] = collect(["web.yaml"]).cases
    result = play_case(case)
    assert (result.status, result.met) == ("passed", 4), result.lines()


def test_a_file_is_overwritten_only_on_request(capsys: Capture, folder: Path) -> None:
    (folder / "web.yaml").write_text("mine\n")
    assert main(["scenario", "new", "web"]) == 2
    assert capsys.readouterr().err == "kubesim: error: web.yaml: exists already; --force overwrites it\n"
    assert main(["scenario", "new", "web", "--force"]) == 0
    assert (folder / "web.yaml").read_text().startswith("# What this scenario is about")
    assert main(["scenario", "new", "Web"]) == 2
    assert main(["scenario", "new", "web", "--dir", "absent"]) == 2


def test_all_errors_are_reported_with_line_column_and_path(capsys: Capture, folder: Path) -> None:
    bad = write_scenario(folder, "bad")
    bad.write_text(bad.read_text().replace("duration: 10s", "duration: 10\n  sed: 1"))
    write_scenario(folder, "good")
    assert main(["scenario", "validate", "."]) == 2
    reported = capsys.readouterr()
    assert reported.out.splitlines() == [
        "./bad.yaml:8:3: spec.duration: a duration needs its unit: 10s",
        "./bad.yaml:9:3: spec.sed: unknown field; did you mean seed?",
    ]
    assert reported.err == "kubesim: 2 files, 2 mistakes\n"
    assert main(["scenario", "validate", "bad.yaml", "absent.yaml", "-o", "json"]) == 2
    found = json.loads(capsys.readouterr().out)["problems"]
    assert [(each["file"], each["line"], each["column"], each["path"]) for each in found] == [
        ("bad.yaml", 8, 3, "spec.duration"),
        ("bad.yaml", 9, 3, "spec.sed"),
        ("absent.yaml", None, None, ""),
    ]


def test_files_are_formatted_in_place_or_checked(capsys: Capture, folder: Path) -> None:
    good = write_scenario(folder, "good")
    nice = good.read_text()
    ugly = nice.replace("  images:\n    - {", "  images:\n  -   {")
    good.write_text(ugly)
    assert main(["scenario", "fmt", "--check", "."]) == 1
    assert good.read_text() == ugly
    reported = capsys.readouterr()
    assert (reported.out, reported.err) == ("./good.yaml\n", "kubesim: 1 file, 1 to format\n")
    assert main(["scenario", "fmt", "good.yaml"]) == 0
    assert good.read_text() == nice
    assert main(["scenario", "fmt", "--check", "good.yaml"]) == 0


def test_the_schema_is_json(capsys: Capture) -> None:
    assert main(["scenario", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"] == "http://json-schema.org/draft-07/schema#"


def test_scenarios_are_listed_with_a_description(capsys: Capture, folder: Path) -> None:
    write_scenario(folder, "web")
    assert main(["scenario", "list", "."]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAME  LENGTH  EXPECTS  LOOK AT",
        "web     10s        1  the phase.",
    ]
    assert main(["scenario", "list", "-o", "json"]) == 0
    bundled = {each["name"]: each for each in json.loads(capsys.readouterr().out)["scenarios"]}
    assert bundled["crashloop"]["shows"].startswith("the first restart does not wait")
    assert all(each["shows"] for each in bundled.values())
