"""The recorded cases and stories that the project keeps."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent.parent / "conformance" / "data"
CORPORA = sorted(DATA.glob("*.jsonl.gz"))


# Cases that need something that is not installed: plugins of a newer version than the distribution's.
NOT_RUNNABLE = {"real_chain": 3}
STORIES = sorted((DATA / "traces").glob("*.json.gz"))
WORKLOADS = sorted((DATA / "workloads").glob("*.json.gz"))
# Stories of which no seed of the first ten reproduces when each pod was deleted, and why. Everything else agrees.
BY_CHANCE = {
    "rollout-25": "of several equally old pods the one with the lowest uid is deleted first, and uids are random",
}
