"""The fixture `kubesim_up`: a test with its own client in ten lines, as in docs/up.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PAGE = Path(__file__).parents[2] / "docs" / "up.md"
(TEST,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_ten_lines_are_sufficient(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=1)


def test_a_cluster_that_fails_to_start_reports_the_error(tmp_path: Path) -> None:
    from kubesim.testing.served import ServedCluster

    with pytest.raises(RuntimeError, match=r"does not start: kubesim: error: --nodes 0: give a number from 1 to 5000"):
        ServedCluster(tmp_path / "kubeconfig", "--nodes", "0")
