"""The fixture `kubesim_up`: a cluster in a test in ten lines, with a client of one's own, as docs/up.md shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PAGE = Path(__file__).parents[2] / "docs" / "up.md"
(TEST,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_ten_lines_are_enough(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_cluster_that_does_not_start_says_why(tmp_path: Path) -> None:
    from kubesim.testing.served import ServedCluster

    with pytest.raises(RuntimeError, match=r"does not start: kubesim: error: --nodes 0: give a number from 1 to 5000"):
        ServedCluster(tmp_path / "kubeconfig", "--nodes", "0")
