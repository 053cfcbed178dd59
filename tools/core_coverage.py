"""Coverage of the pure core by recordings of real components, and with the hand-written tests.

`make coverage` runs it. The recordings are the corpora of the real kubelet, libcni and containerd, the stories of real
pods (replayed and observed), and requests to a real API server (replayed in the store and over HTTP).

The pure core consists of the decisions, functions of a pod, a status and a time, and the `api` below them: types,
defaults, quantities, Go's JSON and YAML. The recordings must cover 89 % of the decisions: the rest are rules of other
versions, and of devices, CPUs and claims, which were not recorded. Kinds other than pods and validation have rules for
every field, of which recordings break only some. Everything that recordings miss has hand-written tests of upstream's
behaviour: no line may be without either.

The random test of validation is excluded: it covers much, but has no expected answers.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import coverage

ROOT = Path(__file__).parent.parent
NEEDED_BY_CORPORA = 89.0

DECISIONS = (
    "sources/mux.py", "sources/manifests/static_pod.py",
    "podworkers/state.py", "podworkers/sync_status.py", "podworkers/updates.py", "podworkers/requeue.py",
    "runtime/kuberuntime/naming.py", "runtime/kuberuntime/labels.py", "runtime/kuberuntime/hash_text.py",
    "runtime/kuberuntime/container_hash.py", "runtime/kuberuntime/decide/*.py", "runtime/allocation/cgroups.py",
    "kubelet/pleg/records.py", "kubelet/probes/worker_rules.py", "kubelet/admission/predicates.py",
    "kubelet/admission/node_admission.py", "kubelet/admission/sysctls.py", "cluster/scheduling/fit.py",
    "cluster/scheduling/node_*.py", "cluster/scheduling/taints.py", "kubelet/status/generate/*.py",
    "kubelet/status/containers/*.py", "kubelet/status/manager_rules.py", "kubelet/status/terminate.py",
    "golang/*.py",
)  # fmt: skip
API, VALIDATION = "api", "api/validation"
# Rules about image names and users: recorded pods use one kind of image, so hand-written tests cover them.
UNRECORDED = ("runtime/kuberuntime/decide/non_root.py", "api/images.py")

CORPORA = ("kubesim", "conformance", "tests/conformance/data")
STORIES = (
    "pytest", "-q", "tests/cluster/registry/test_stories.py", "tests/cluster/served/test_http_stories.py",
    "tests/attach/shadow/test_shadow_stories.py", "-k", "test_story or test_short_story or test_a_real_kubelet",
)  # fmt: skip
HAND_TESTED = ("golang", "api", "features", "cluster", "sources", "podworkers", "runtime", "kubelet")
HAND_TESTS = (
    "pytest", "-q", *(f"tests/{name}" for name in HAND_TESTED),
    "--ignore=tests/api/validation/test_whatever_can_be_decoded.py",
)  # fmt: skip


@dataclass
class Reach:
    """Lines and branches of some files, and the missed ones."""

    files: int = 0
    lines: int = 0
    branches: int = 0
    reached: int = 0
    missed: list[str] = field(default_factory=list)

    def add(self, path: str, measured: dict[str, Any]) -> None:
        summary = measured["summary"]
        self.files += 1
        self.lines += summary["num_statements"]
        self.branches += summary["num_branches"]
        self.reached += summary["covered_lines"] + summary["covered_branches"]
        lines = measured["missing_lines"]
        branches = [pair for pair in measured["missing_branches"] if not set(lines) & set(pair)]
        # A branch to a negative line leaves the function.
        shown = [f"{source}->{target if target > 0 else 'exit'}" for source, target in branches]
        if lines or shown:
            self.missed.append(f"kubesim/{path}: {', '.join([*_ranges(lines), *shown])}")

    @property
    def percent(self) -> float:
        return 100 * self.reached / (self.lines + self.branches)


def _ranges(lines: list[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(lines), lambda numbered: numbered[1] - numbered[0]):
        first, *_, last = [line for _, line in run] * 2
        yield f"{first}-{last}" if first != last else str(first)


def main() -> int:
    with TemporaryDirectory() as folder:
        corpora, stories, hand = (Path(folder, name) for name in ("corpora", "stories", "hand"))
        playing = _measure(corpora, CORPORA)
        for data, arguments in ((stories, STORIES), (hand, HAND_TESTS)):
            if _measure(data, arguments).wait():
                playing.kill()
                print(f"{' '.join(arguments)} failed", file=sys.stderr)
                return 1
        # Its exit code reports failing cases; tests check for new ones.
        playing.wait()
        alone, both = _packages([corpora, stories]), _packages([corpora, stories, hand])
    return _report(alone, both)


def _measure(data: Path, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "coverage", "run", "--branch", "--source=kubesim", f"--data-file={data}", "-m"]
    return subprocess.Popen([*command, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)


def _packages(data: list[Path]) -> dict[str, Reach]:
    """Coverage by package; a file that two patterns match counts once."""
    measure = coverage.Coverage(data_file=None, branch=True, source=["kubesim"])
    measure.combine([str(path) for path in data], keep=True)
    packages: dict[str, Reach] = {}
    for path, measured in sorted(_files(measure)):
        packages.setdefault(_package(path), Reach()).add(path, measured)
    return packages


def _package(path: str) -> str:
    return VALIDATION if path.startswith(VALIDATION) else path.split("/")[0]


def _files(measure: coverage.Coverage) -> Iterator[tuple[str, dict[str, Any]]]:
    with TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        patterns = [f"{ROOT}/kubesim/{name}" for name in (*DECISIONS, f"{API}/*")]
        unrecorded = [f"{ROOT}/kubesim/{name}" for name in UNRECORDED]
        measure.json_report(outfile=str(report), include=patterns, omit=unrecorded)
        for path, measured in json.loads(report.read_text())["files"].items():
            yield path.removeprefix("kubesim/"), measured


def _sum(packages: Sequence[Reach]) -> Reach:
    total = Reach()
    for package in packages:
        for name in ("files", "lines", "branches", "reached"):
            setattr(total, name, getattr(total, name) + getattr(package, name))
    return total


def _report(alone: dict[str, Reach], both: dict[str, Reach]) -> int:
    decisions = [name for name in alone if name not in (API, VALIDATION)]
    core = [*decisions, API]
    rows = [*((name, [name]) for name in decisions), ("decisions", decisions), (API, [API]), ("pure core", core)]
    rows += [(VALIDATION, [VALIDATION]), ("all", list(alone))]
    print(f"{'package':16}{'files':>6}{'lines':>7}{'branches':>10}{'by corpora':>15}{'and by tests':>17}")
    for name, packages in rows:
        left, right = (_sum([reached[package] for package in packages]) for reached in (alone, both))
        print(f"{name:16}{left.files:6}{left.lines:7}{left.branches:10}{left.percent:13.1f} %{right.percent:15.1f} %")
    print("\nBy corpora: the real kubelet's cases, the stories of real pods, a real API server's exchanges.")
    missed = [line for package in both.values() for line in package.missed]
    print("\nReached by neither:", *(missed or ["nothing"]), sep="\n  ")
    enough = _sum([alone[package] for package in decisions]).percent >= NEEDED_BY_CORPORA
    return 0 if enough and not missed else 1


if __name__ == "__main__":
    sys.exit(main())
