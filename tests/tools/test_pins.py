"""Pinned versions: their hashes in an index, and their advisories."""

from __future__ import annotations

import json

import pytest

from tools import audit, pins
from tools.index import hashes, setting

WHEEL, OLD, SOURCE, EGG = ("1" * 64, "2" * 64, "3" * 64, "4" * 64)
PAGE = f"""<!DOCTYPE html><html><body>
<a href="../files/two_words-1.10-py3-none-any.whl#sha256={WHEEL}" data-requires-python="&gt;=3.9">two_words-1.10-py3-none-any.whl</a>
<a href="../files/two_words-1.1-py3-none-any.whl#sha256={OLD}">two_words-1.1-py3-none-any.whl</a>
<a href="../files/two_words-1.10.tar.gz#sha256={SOURCE}">two_words-1.10.tar.gz</a>
<a href="../files/two_words-1.10-py2.7.egg#sha256={EGG}">two_words-1.10-py2.7.egg</a>
<a href="../files/two_words-1.10.zip">two_words-1.10.zip</a>
</body></html>"""  # noqa: E501 - as indexes write it


def test_hashes_are_those_of_all_files_of_the_release() -> None:
    assert hashes(PAGE, "1.10") == [WHEEL, SOURCE]
    assert hashes(PAGE, "1.1") == [OLD]
    assert hashes(PAGE, "2") == []


def test_new_hashes_replace_the_old_ones_and_the_rest_is_unchanged() -> None:
    text = f"# why\n-r other.txt\ntwo-words==1.10 \\\n    --hash=sha256:{OLD} \\\n    --hash=sha256:{EGG}\nb==2\n"
    assert pins.pins(text) == [("two-words", "1.10"), ("b", "2")]
    new = pins.renewed(text, lambda name, version: [WHEEL, SOURCE] if version == "1.10" else [EGG])
    assert new == (
        f"# why\n-r other.txt\ntwo-words==1.10 \\\n    --hash=sha256:{WHEEL} \\\n    --hash=sha256:{SOURCE}\n"
        f"b==2 \\\n    --hash=sha256:{EGG}\n"
    )
    assert pins.renewed(new, lambda name, version: [WHEEL, SOURCE] if version == "1.10" else [EGG]) == new


def test_no_version_is_pinned_twice() -> None:
    names = [name.lower() for path in pins.files() for name, _ in pins.pins(path.read_text())]
    assert len(names) == len(set(names)) > 50


@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("", ""),
        ("global.index-url='g'", "g"),
        ("global.index-url='g'\ninstall.index-url='i'", "i"),
        (":env:.index-url='e'\nglobal.index-url='g'\ninstall.index-url='i'", "e"),
    ],
)
def test_the_index_is_that_of_pip(listed: str, found: str) -> None:
    assert setting(listed, "index-url") == found


ADVISORY = {
    "id": "PYSEC-1",
    "aliases": ["CVE-1"],
    "fixed_in": ["1.11"],
    "summary": "reads\n\ntoo much",
    "withdrawn": None,
}


def test_an_advisory_is_one_line_and_a_withdrawn_one_is_none() -> None:
    answer = json.dumps({"info": {}, "vulnerabilities": [ADVISORY, {**ADVISORY, "withdrawn": "2026-01-01"}]})
    assert audit.advisories("a", "1.10", answer) == ["a 1.10: PYSEC-1, CVE-1: fixed in 1.11: reads too much"]
    unfixed = json.dumps({"vulnerabilities": [{"id": "X"}]})
    assert audit.advisories("a", "1", unfixed) == ["a 1: X: fixed in no version yet"]


@pytest.mark.parametrize("answer", ["", "<html>", "[]", '{"info": {}}', '{"vulnerabilities": null}'])
def test_a_response_without_advisories_is_not_a_good_one(answer: str) -> None:
    assert audit.advisories("a", "1", answer) is None
    assert audit.advisories("a", "1", '{"vulnerabilities": []}') == []


class Silent:
    def release(self, name: str, version: str) -> str:
        raise ConnectionRefusedError("nobody there")


class Clean:
    def release(self, name: str, version: str) -> str:
        return '{"vulnerabilities": []}'


class Vulnerable:
    def release(self, name: str, version: str) -> str:
        return json.dumps({"vulnerabilities": [ADVISORY] if name == "anyio" else []})


@pytest.mark.parametrize(
    ("index", "code", "said"), [(Silent, 3, "nothing is known"), (Clean, 0, ", 0 known"), (Vulnerable, 1, "CVE-1")]
)
def test_unknown_is_not_safe(
    index: type, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "Index", index)
    assert audit.main() == code
    assert said in capsys.readouterr().out
