"""How much of the pure core the real kubelet's cases reach: plays the corpora, and nothing else, under coverage.

`make coverage` runs it. The decision core must be reached to 95 %; what is left there has tests of its own: behaviour
behind feature gates that are off, and rules for what only a broken API object could bring. API types, defaults and
validation are much more than any corpus asks for, so they count apart; they are tested by hand, too.
"""

from __future__ import annotations

import sys
from pathlib import Path

import coverage

CORPORA = Path(__file__).parent / "conformance" / "data"
NEEDED = 95.0

DECISIONS = (
    "sources/mux.py", "sources/static_pod.py",
    "podworkers/state.py", "podworkers/sync_status.py", "podworkers/updates.py", "podworkers/requeue.py",
    "runtime/action*.py", "runtime/init_actions.py", "runtime/resize_actions.py", "runtime/restart_policy.py",
    "runtime/termination.py", "runtime/backoff.py", "runtime/gc.py", "runtime/naming.py", "runtime/labels.py",
    "runtime/container_hash.py", "runtime/hash_text.py", "runtime/cgroups.py",
    "kubelet/pleg_records.py", "kubelet/probes/worker_rules.py", "kubelet/admission/*",
    "kubelet/status/active_deadline.py", "kubelet/status/conditions.py", "kubelet/status/container_*.py",
    "kubelet/status/generate.py", "kubelet/status/manager_rules.py", "kubelet/status/phase.py",
    "kubelet/status/pod_*.py", "kubelet/status/probe_overlay.py", "kubelet/status/terminate.py",
    "kubelet/status/volume_mounts.py",
)  # fmt: skip
API = ("api/*",)


def main() -> int:
    measure = coverage.Coverage(data_file=None, branch=True, source=["kubesim"])
    measure.start()
    from kubesim.cli.main import main as kubesim

    kubesim(["conformance", str(CORPORA)])
    measure.stop()
    print("\nThe decision core:")
    decisions = measure.report(include=_paths(DECISIONS), show_missing=True, skip_covered=True)
    print("\nAPI types, defaults and validation:")
    api = measure.report(include=_paths(API))
    print(f"\nReached by the corpora alone, lines and branches: decision core {decisions:.1f} %, API {api:.1f} %")
    return 0 if decisions >= NEEDED else 1


def _paths(names: tuple[str, ...]) -> list[str]:
    return [f"kubesim/{name}" for name in names]


if __name__ == "__main__":
    sys.exit(main())
