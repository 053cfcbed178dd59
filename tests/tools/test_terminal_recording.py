"""`docs/recording.svg`: the lines of a real run, in a picture animated by CSS alone."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from kubesim.cli.main import main
from tools.terminal_recording import END, SCENARIO, recording

SVG = "{http://www.w3.org/2000/svg}"


def test_it_has_the_lines_of_the_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["run", SCENARIO]) == 0
    printed = [line.split() for line in capsys.readouterr().out.split("\n")]
    lines = [" ".join(text.itertext()).split() for text in ElementTree.fromstring(recording()).iter(f"{SVG}text")]
    command, *shown = lines
    assert command == ["$", "kubesim", "run", SCENARIO]
    assert shown == printed[: len(shown)]
    moments = [float(line[0]) for line in printed[len(shown) :] if line and re.fullmatch(r"[\d.]+", line[0])]
    assert moments[0] * 1_000_000 >= END


def test_it_is_static_for_readers_who_prefer_reduced_motion_and_loads_nothing() -> None:
    svg = recording()
    assert "prefers-reduced-motion: reduce) { * { animation: none !important; }" in svg
    assert not re.search(r"<script|<image|href|url\((?!#)|@import", svg)
    lines = len(re.findall(r"<text", svg))
    assert len(re.findall(r"^#l\d+ \{ animation", svg, re.MULTILINE)) == lines - 1
    shares = [float(share) for share in re.findall(r"([\d.]+)% \{ opacity: 1", svg)]
    assert shares == sorted(shares)
    assert shares[-1] < 100
