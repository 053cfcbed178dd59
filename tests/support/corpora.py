"""The recorded cases and stories that the project keeps."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent.parent / "conformance" / "data"
CORPORA = sorted(DATA.glob("*.jsonl.gz"))


# Cases that need something that is not installed: plugins of a newer version than the distribution's.
NOT_RUNNABLE = {"real_chain": 3}
STORIES = sorted((DATA / "traces").glob("*.json.gz"))
WORKLOADS = sorted((DATA / "workloads").glob("*.json.gz"))
# Stories that hang on chance: no seed of the first ten reproduces them, and why.
BY_CHANCE = {
    "rollout-25": "which of several equally old pods goes first hangs on their random uids, eight times in a row",
}
