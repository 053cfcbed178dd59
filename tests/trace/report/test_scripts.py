"""The scripts of the report: their own tests, and rules that can be checked automatically."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kubesim.cluster.tables.ages import human_duration
from kubesim.trace.report.page_file import LIVE_SCRIPTS, SCRIPTS, STYLES
from tests.support.browser.node import FOLDER, run_node

PAGE = Path(__file__).parents[3] / "kubesim" / "trace" / "report" / "page"
SOURCES = sorted(PAGE.glob("*.js"))
SECOND, HOUR = 1_000_000, 3_600_000_000
AGES = [
    -5 * SECOND, -SECOND, 0, SECOND, 119 * SECOND, 120 * SECOND, 150 * SECOND, 600 * SECOND, 179 * 60 * SECOND,
    3 * HOUR, 3 * HOUR + 300 * SECOND, 8 * HOUR, 47 * HOUR, 48 * HOUR, 191 * HOUR, 192 * HOUR,
    729 * 24 * HOUR, 731 * 24 * HOUR, 8 * 365 * 24 * HOUR, 9 * 365 * 24 * HOUR,
]  # fmt: skip

ASKING = r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts)\b"
SERVED = set(LIVE_SCRIPTS) - set(SCRIPTS)  # not in a file: its server responds, if the page comes from one

# Calls that could treat text of a run as HTML or as a program, or leave the page; and calls that hide errors.
FORBIDDEN = {
    r"\b(innerHTML|outerHTML|insertAdjacentHTML)\b": "inserts HTML: use dom.js",
    r"\b(createContextualFragment|DOMParser|srcdoc)\b": "inserts HTML: use dom.js",
    r"\bdocument\.write": "inserts HTML: use dom.js",
    r"\b(eval|Function)\(": "executes text",
    ASKING: "the page has no network",
    r"https?://": "the page has no network",
    r"\b(localStorage|sessionStorage|document\.cookie)\b": "a file has nothing to remember",
    r"\bvar\b": "use const or let",
    r"[^=!]==[^=]|!=[^=]": "use === and !==",
    r"\bconsole\.": "left over",
    r"\t| +$": "tabs, or blanks at the end of a line",
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_script_is_tidy(path: Path) -> None:
    text = path.read_text()
    run_node("--check", str(path))
    found = [
        f"line {number}: {problem}: {line.strip()}"
        for number, line in enumerate(text.split("\n"), start=1)
        for pattern, problem in FORBIDDEN.items()
        if re.search(pattern, line) and not (path.name in SERVED and pattern == ASKING)
    ]
    assert not found
    lines = text.split("\n")
    assert len(lines) <= 320
    assert max(map(len, lines)) <= 120
    assert lines[0].startswith(("// ", '"use strict"')), "says what it is"


def test_the_rules_detect_violations() -> None:
    wrong = ("a.innerHTML = b", "fetch(x)", "eval(x)", "var x", "if (a == b)", "a != b", "x  ", "document.write(x)")
    for line in wrong:
        assert any(re.search(pattern, line) for pattern in FORBIDDEN), line
    for line in ("if (a === b || c !== d) {", "x => x <= 3", "evaluate(x)"):
        assert not any(re.search(pattern, line) for pattern in FORBIDDEN), line


def test_every_file_of_the_page_is_in_it() -> None:
    assert {*LIVE_SCRIPTS, *STYLES, "template.html"} == {path.name for path in PAGE.iterdir()}


def test_the_scripts_pass_their_own_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGES", json.dumps([(age, human_duration(age)) for age in AGES]))
    assert os.environ["AGES"]
    run_node("--test", str(FOLDER / "report" / "model.test.mjs"))
