"""The recorded cases and stories in the repository."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent.parent / "conformance" / "data"
CORPORA = sorted(DATA.glob("*.jsonl.gz"))


# Cases that need plugins newer than the distribution's.
NOT_RUNNABLE = {"real_chain": 3}
STORIES = sorted((DATA / "traces").glob("*.json.gz"))
WORKLOADS = sorted((DATA / "workloads").glob("*.json.gz"))
# Stories for which none of the first ten seeds reproduces when each pod was deleted, with the reason. Everything else
# is equal.
BY_CHANCE = {
    "rollout-25": "of several equally old pods the one with the lowest uid is deleted first, and uids are random",
}
