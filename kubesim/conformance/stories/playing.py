"""Runs a story in virtual time: the common part of node stories and cluster stories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

from kubesim.app import raise_failures_of_callbacks
from kubesim.clock import run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import KubesimError

Story = Mapping[str, Any]


class CannotPlay(KubesimError):
    """The story needs something that is not simulated."""


class StoryStage(Protocol):
    async def run(self) -> dict[str, Any]:
        """The outcome, in the format of the stories."""
        ...


def play_story(
    story: Story, seed: int, actions: Collection[str], stage: Callable[[Story, int, TaskSet], StoryStage]
) -> dict[str, Any]:
    """Run a story. `actions` are the actions that can be carried out."""
    unknown = next((action["do"] for action in story["actions"] if action["do"] not in actions), None)
    if unknown is not None:
        raise CannotPlay(f"story {story['name']}: the action {unknown!r} is not simulated")

    async def main() -> dict[str, Any]:
        async with TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            return await tasks.run_until(stage(story, seed, tasks).run())  # type: ignore[no-any-return]

    return run_virtual(main)
