"""The fixtures `kubesim_up` and `kubesim_node`: a test with its own client in ten lines, as in docs/up.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PAGE = Path(__file__).parents[2] / "docs" / "up.md"
TESTS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("\n\n".join(TESTS))
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_a_cluster_that_fails_to_start_reports_the_error(tmp_path: Path) -> None:
    from kubesim.testing.served import ServedCluster

    with pytest.raises(RuntimeError, match=r"up does not start: kubesim: error: --nodes 5001: give a number from 0"):
        ServedCluster(tmp_path / "kubeconfig", "--nodes", "5001")
