"""`make matrix`: the determinism, clock, concurrency and conformance tests on all supported versions of Python.

Each Python is from a Debian release, installed by debootstrap into the cache directory. Tests run in a mount namespace
with that release's /usr. Everything else is the machine's: network, pip's configuration, home, this tree. The trace
hashes of the shipped scenarios must be equal on all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.pins import files as pin_files
from tools.pins import pins

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubesim" / "matrix"
RELEASES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "forky"}  # the Python classifiers of pyproject.toml
VENV = {"3.11": ["python3.11-venv", "python3-distutils"]}  # debootstrap does not resolve virtual packages
TESTS = ("tests/test_determinism.py", "tests/clock", "tests/concurrency", "tests/conformance")
# This corpus executes CNI plugins and iptables, whose output differs between Debian releases.
BY_BOOKWORM = "tests/conformance/test_corpora.py::test_corpus[real_chain]"
SEEDS = range(1, 6)
SCRIPTS = Path("/usr/share/debootstrap/scripts")
ENTER = 'mount --bind "$0/usr" /usr && mount --bind "$0/etc/alternatives" /etc/alternatives && exec "$@"'

Hashes = dict[str, list[str]]  # by scenario, one hash per seed


class Python:
    """A version: its Debian release, and a virtual environment with the test dependencies."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.release = RELEASES[version]
        self.root = CACHE / self.release
        self.venv = CACHE / f"venv-{version}"

    def run(self, *command: str | Path, check: bool = True, show: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command with this release's /usr, from the top of this tree."""
        words = ["unshare", "--mount", "sh", "-c", ENTER, str(self.root), *map(str, command)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, cwd=ROOT, env=environment, text=True, capture_output=not show, check=False)
        if check and done.returncode != 0:
            sys.exit(f"{done.stdout or ''}{done.stderr or ''}matrix: Python {self.version}: {command[0]} failed")
        return done

    def install(self, packages: Sequence[str]) -> None:
        """Create the root and the environment, or reuse working, current ones."""
        python = f"/usr/bin/python{self.version}"
        venv = VENV.get(self.version, [f"python{self.version}-venv"])
        if not self.root.is_dir() or self.run(python, "-c", "import ensurepip, ssl", check=False).returncode != 0:
            debootstrap(self.release, self.root, [*venv, *packages])
        inputs = "".join(path.read_text() for path in pin_files())
        current, stamp = hashlib.sha256(inputs.encode()).hexdigest(), self.venv / "installed"
        works = self.run(self.venv / "bin" / "python", "-c", "import pytest", check=False).returncode == 0
        if works and stamp.is_file() and stamp.read_text() == current:
            return
        print(f"Python {self.version}: installing into {self.venv}", flush=True)
        self.run(python, "-m", "venv", "--clear", self.venv)
        done = self.pip("--require-hashes", "--requirement", str(ROOT / "requirements" / "test.txt"))
        if done.returncode != 0:
            pinned = [f"{name}=={version}" for path in pin_files() for name, version in pins(path.read_text())]
            missing = [pin for pin in pinned if self.pip("--no-deps", "--dry-run", pin).returncode != 0]
            sys.exit(f"matrix: no wheel for Python {self.version} of: {', '.join(missing) or done.stderr}")
        stamp.write_text(current)

    def pip(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        quiet = ("install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
        return self.run(self.venv / "bin" / "python", "-m", "pip", *quiet, *arguments, check=False)

    def test(self, jobs: str) -> tuple[bool, str]:
        """Whether all tests passed, and a summary line."""
        print(f"Python {self.version}: testing", flush=True)
        options = ["-q", "-p", "no:cacheprovider", "-n", jobs]
        options += [] if self.release == "bookworm" else ["--deselect", BY_BOOKWORM]
        done = self.run(self.venv / "bin" / "python", "-m", "pytest", *options, *TESTS, check=False)
        *output, summary = done.stdout.splitlines() or [""]
        if done.returncode != 0:
            print(*output, done.stderr, sep="\n")
        exact = self.run(self.venv / "bin" / "python", "-VV").stdout.strip().removeprefix("Python ")
        return done.returncode == 0, f"Python {exact}: {summary.strip('= ')}"

    def hashes(self) -> Hashes:
        printed = self.run(self.venv / "bin" / "python", "-m", "tools.matrix", "--hashes").stdout
        found: Hashes = json.loads(printed)
        return found


def debootstrap(release: str, root: Path, packages: Sequence[str]) -> None:
    """Install a minimal Debian. An existing root is complete, as it is renamed last."""
    print(f"Debian {release}: installing into {root}", flush=True)
    script = SCRIPTS / release
    new = root.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)
    new.parent.mkdir(parents=True, exist_ok=True)
    words = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", release, str(new), mirror()]
    words += [] if script.exists() else [str(SCRIPTS / "sid")]  # a release newer than this debootstrap
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}matrix: debootstrap of {release} failed")
    new.rename(root)


def mirror() -> str:
    """The Debian mirror of this machine's apt."""
    words = ["apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages", "Component: main"]
    for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
        release, uri = line.split()
        if release.isalpha():  # excludes bookworm-updates and bookworm-security
            return uri
    sys.exit("matrix: apt's configuration names no Debian mirror")


def print_hashes() -> None:
    from kubesim.app import run_scenario
    from kubesim.scenario.load.loader import load_scenario
    from kubesim.trace import HashSink

    print(
        json.dumps(
            {
                path.stem: [
                    run_scenario(load_scenario(str(path)), seed=seed, sinks=(HashSink(),)).trace_hash for seed in SEEDS
                ]
                for path in sorted((ROOT / "scenarios").glob("*.yaml"))
            }
        )
    )


def differences(found: dict[str, Hashes]) -> list[str]:
    """Print the hashes of each scenario; returns those that differ between Pythons."""
    wrong = []
    (first, reference), *others = found.items()
    for scenario, hashes in reference.items():
        print(f"{scenario:20}", *(value[:12] for value in hashes))
        for version, other in others:
            seeds = [seed for seed, one, two in zip(SEEDS, hashes, other[scenario], strict=True) if one != two]
            if seeds:
                wrong.append(f"{scenario}, seeds {seeds}: {version} and {first} differ")
    return wrong


def main() -> int:
    if sys.argv[1:] == ["--hashes"]:
        print_hashes()
        return 0
    jobs, *packages = sys.argv[1:]
    if os.geteuid() != 0:
        sys.exit("make matrix needs root: it installs Debian's Pythons with debootstrap and mounts them over /usr")
    for tool in ("debootstrap", "unshare", "apt-get"):
        if shutil.which(tool) is None:
            sys.exit(f"make matrix needs {tool}: run it on Debian, with debootstrap installed")
    pythons = [Python(version) for version in RELEASES]
    for python in pythons:
        python.install(packages)
    results = [python.test(jobs) for python in pythons]
    wrong = differences({python.version: python.hashes() for python in pythons})
    print(*(line for _, line in results), sep="\n")
    print(*wrong or [f"trace hashes are equal on {', '.join(RELEASES)}"], sep="\n")
    return 0 if not wrong and all(passed for passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
