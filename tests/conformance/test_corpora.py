"""Recorded decisions of the real kubelet, libcni and containerd: kubesim decides the same in each case."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.conformance.frame import corpus_name
from kubesim.conformance.results import CorpusResult
from kubesim.conformance.runner import run_corpus
from tests.support.corpora import CORPORA, NOT_RUNNABLE


@pytest.mark.parametrize("path", CORPORA, ids=corpus_name)
def test_corpus(path: Path) -> None:
    result = run_corpus(path)
    assert result.not_judged == 0
    name = corpus_name(path)
    assert len(result.not_runnable) == NOT_RUNNABLE.get(name, 0), result.not_runnable
    assert result.failed == 0, _reported(result)


def _reported(result: CorpusResult) -> str:
    lines = [f"{result.failed} of {result.cases} cases of {result.name} fail"]
    for failure in result.failures[:5]:
        lines += [failure.case, *(f"    {line}" for line in failure.differences[:5])]
    return "\n".join(lines)


def test_all_corpora_are_present() -> None:
    assert len(CORPORA) == 24
