"""A strict parser of the Prometheus text format, which raises an error where Prometheus would."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.+)\}})? (\+Inf|-?\d+(?:\.\d+)?(?:e[+-]\d\d+)?)")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "gauge": ("",), "counter": ("",)}


@dataclass
class Family:
    kind: str
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float] = field(default_factory=dict)

    def value(self, suffix: str = "", **labels: str) -> float:
        return self.samples[suffix, frozenset(labels.items())]


def read_metrics(text: str) -> Mapping[str, Family]:
    """The metrics by name; histograms must be complete with increasing buckets."""
    assert text.endswith("\n")
    families: dict[str, Family] = {}
    for line in text[:-1].split("\n"):
        if found := re.fullmatch(rf"# HELP ({_NAME}) (.+)", line):
            name = found[1]
            assert name not in families, f"{name} comes twice"
        elif found := re.fullmatch(r"# TYPE (\S+) (counter|gauge|histogram)", line):
            assert found[1] == name, f"the type of {found[1]} follows the help of {name}"
            families[name] = Family(found[2])
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, line
            suffix = found[1].removeprefix(name)
            assert suffix in _SUFFIXES[families[name].kind], line
            key = (suffix, frozenset(_labels(found[2] or "")))
            assert key not in families[name].samples, f"{line} comes twice"
            families[name].samples[key] = float(found[3])
    for name, family in families.items():
        assert family.samples, name
        if family.kind == "histogram":
            _check_histogram(family)
    return families


def _labels(text: str) -> list[tuple[str, str]]:
    found = _LABEL.findall(text)
    assert ",".join(f'{name}="{value}"' for name, value in found) == text, text
    assert len({name for name, _ in found}) == len(found), text
    return found


def _check_histogram(family: Family) -> None:
    def rest(sample: tuple[dict[str, str], float]) -> list[tuple[str, str]]:
        return sorted((name, value) for name, value in sample[0].items() if name != "le")

    buckets = [(dict(labels), value) for (suffix, labels), value in family.samples.items() if suffix == "_bucket"]
    for labels, group in groupby(sorted(buckets, key=rest), rest):
        counts = sorted((float(own["le"]), value) for own, value in group)
        values = [value for _, value in counts]
        assert values == sorted(values)
        assert counts[-1] == (float("inf"), family.samples["_count", frozenset(labels)])
        assert family.samples["_sum", frozenset(labels)] >= 0
