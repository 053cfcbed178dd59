"""Other programs import `kubesim.attach.agent.Agent`: its name and parameters are stable."""

from __future__ import annotations

import inspect

from kubesim.attach.agent import Agent
from kubesim.attach.watch.node_follower import NodeFollower


def test_the_public_name_is_the_follower_of_a_node() -> None:
    assert Agent is NodeFollower
    assert list(inspect.signature(Agent).parameters)[:4] == ["clock", "transport", "node_name", "viewer"]
    assert list(inspect.signature(Agent.start).parameters) == ["self", "tasks", "chance"]
