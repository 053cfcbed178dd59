"""Replays recorded requests to a real API server and compares the responses: `python -m tools.api_stories [NAME ...]`.

Prints one line per story, and all differences of the named stories. Exits with 1 if there are differences.
"""

from __future__ import annotations

import sys

from tests.support.cluster.recordings import STORIES, short_replay, story_replay
from tests.support.cluster.short_stories import SHORT_STORIES

OVER_HTTP_ALONE = ("unauthorized",)


def main(names: list[str]) -> int:
    found = 0
    every = [(name, steps, story_replay) for name, steps in STORIES.items() if name not in OVER_HTTP_ALONE]
    every += [(name, steps, short_replay) for name, steps in SHORT_STORIES.items()]
    for name, steps, make in every:
        if names and name not in names:
            continue
        replay = make(name)
        replay.play(steps)
        found += bool(replay.problems)
        print(f"{'differs' if replay.problems else 'same':8} {len(steps):4}  {name}  {len(replay.problems) or ''}")
        for problem in replay.problems if names else ():
            print(f"    {problem}")
    print(f"{found} stories differ")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
