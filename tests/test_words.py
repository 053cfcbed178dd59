"""Phrases that readers found hard to understand are banned from code, documentation, scenarios and messages."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each with a plain replacement.
BANNED = {
    r"anew": "again",
    r"for ever": "forever, until ...",
    r"meanwhile": "while ..., during ...",
    r"is (my|your|its|their|\w+'s) (own )?affair": "is handled by ...",
    r"go(es)? before (the (environment|scenario|file)|a scenario|what)": "overrides",
    r"goes without --\w*": "cannot be combined with",
    r"comes? along|brings? along": "is bundled, ships with",
    r"by hand": "hand-written, directly",
    r"held against": "compared with",
    r"in one piece": "at once, atomically",
    r"(the two|they) part": "the first difference is at",
    r"come to rest|at rest": "idle",
    r"a look at": "a check of, read",
    r"(is|are|was|were|been) told(?! apart)": "gets, is reported, is emitted",
    r"roused?": "wake",
    r"(expectation|it) (was|is) not met": "failed",
    r"last looked at": "at the last relist, at the last check",
    r"(sync|call|stop|start|pull)s? (that (is|was) )?under way": "in progress",
    r"takes as long as it takes": "has no time limit",
    r"not ours to": "name the component that does it",
    r"says so and stops": "stops with an error",
    r"(is|are|was|were) given back": "is released",
    r"(is|are|was|were) taken (away|back)": "is removed, is reverted",
    r"as Go (writes|holds|prints) (it|them)": "in Go's format",
    r"of (a|one|this|that) moment of a run|at a moment of a run": "at a given time of a run",
    r"hears? of": "is notified of, gets",
    r"tells? of": "reports",
    r"in vain": "without effect",
    r"for want of": "for lack of",
    r"no such corpus here": "is not a corpus",
    r"of today": "current",
    r"whoever": "any client, the caller that",
    r"somebody|everybody": "a user, a client, every learner",
    r"stays? behind": "remains",
    r"(run|line|loop|time|clock|test|program|nothing) (that )?(still )?goes on": "continues",
    r"stands? still": "stops",
    r"in a hurry": "as fast as possible",
    r"in one breath": "in the same chunk",
    r"of so many": "of this many",
    r"re-?tells?|re-?told": "is adapted from",
}
PATTERN = re.compile(rf"\b(?:{'|'.join(BANNED)})(?!\w)", re.IGNORECASE)
# Words of names: `test_a_mistake_is_told`, `_was_heard`.
BANNED_IN_NAMES = {"somebody", "hurry", "told", "anew", "meanwhile", "whoever", "affair", "rouse", "surroundings"}
NAME = re.compile(r"^ *(?:async )?(?:def|class) (\w+)", re.MULTILINE)
SUFFIXES = (".py", ".md", ".yaml", ".toml", "Makefile")
EXCEPT = ("CHANGELOG.md", "tests/test_words.py")  # history; this list


def files() -> list[Path]:
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git work tree")
    names = [name for name in listed.stdout.split("\n") if name.endswith(SUFFIXES) and not name.startswith(EXCEPT)]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def banned(text: str) -> list[str]:
    return [found.group().lower() for found in PATTERN.finditer(text)]


def test_the_banned_phrases_are_not_used() -> None:
    found = {str(path.relative_to(ROOT)): banned(path.read_text(encoding="utf-8")) for path in files()}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}


def banned_names(text: str) -> list[str]:
    return [name for name in NAME.findall(text) if {*name.lower().split("_")} & BANNED_IN_NAMES]


def test_no_name_contains_a_banned_word() -> None:
    found = {str(path.relative_to(ROOT)): banned_names(path.read_text()) for path in files() if path.suffix == ".py"}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_rule_detects_names() -> None:
    assert banned_names("def test_a_mistake_is_told() -> None:\nclass Report:") == ["test_a_mistake_is_told"]


@pytest.mark.parametrize("text", ["The API server is told.", "read anew", "Flags go before the environment"])
def test_the_rule_detects_phrases(text: str) -> None:
    assert banned(text)


@pytest.mark.parametrize("text", ["the two are told apart", "go forward", "a partial answer", "the rest of the list"])
def test_the_rule_allows_plain_words(text: str) -> None:
    assert not banned(text)
