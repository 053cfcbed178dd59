"""Programs outside of kubesim follow a node by `kubesim.attach.agent.Agent`: the name and its parameters stay."""

from __future__ import annotations

import inspect

from kubesim.attach.agent import Agent
from kubesim.attach.watch.node_follower import NodeFollower


def test_the_agent_is_the_part_that_follows_a_node() -> None:
    assert Agent is NodeFollower
    assert list(inspect.signature(Agent).parameters)[:4] == ["clock", "transport", "node_name", "viewer"]
    assert list(inspect.signature(Agent.start).parameters) == ["self", "tasks", "chance"]
