"""`python -m tools.report_screens`: screenshots of the report for docs/, from real runs in a browser."""

from __future__ import annotations

import tempfile
from pathlib import Path

from kubesim.cli.main import main
from tests.support.browser.chromium import Chromium

ROOT = Path(__file__).parent.parent
PICTURES = {  # name -> arguments of kubesim, position in the report, colours
    "report-light": (["run", "-q", "scenarios/crashloop.yaml"], "#seq=56", "light"),
    "report-dark": (["run", "-q", "scenarios/probes.yaml"], "#t=20&tab=kubectl", "dark"),
    "report-diff": (["diff", "--profile", "v1.30", "--profile", "v1.36", "scenarios/crashloop.yaml"], "", "light"),
}
SIZE = 1280, 800


def draw() -> None:
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        page = browser.page(*SIZE)
        for name, (arguments, fragment, scheme) in PICTURES.items():
            path = Path(folder) / f"{name}.html"
            main([*arguments, "--report", str(path)])
            page.prefer(scheme)
            page.open(path, fragment)
            (ROOT / "docs" / f"{name}.png").write_bytes(page.screenshot())


if __name__ == "__main__":
    draw()
