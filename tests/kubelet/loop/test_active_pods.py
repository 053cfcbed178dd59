"""Pods that may use resources; finished ones without a worker are skipped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.kubelet.context import PodSources, PodViews
from kubesim.kubelet.loop.pod_manager import PodManager


def pod(phase: str) -> Pod:
    return Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": "u"}, "status": {"phase": phase}})


@pytest.mark.parametrize(
    ("phase", "reported", "terminating_at", "terminated_at", "is_active"),
    [
        ("Running", None, None, None, True),
        ("Running", "Failed", None, None, False),
        ("Failed", None, None, None, False),
        ("Failed", None, 5, None, True),  # the pod is still being stopped
        ("Failed", None, 5, 6, False),
        ("Running", None, 5, 6, False),
    ],
)
def test_a_pod_is_active(
    phase: str, reported: str | None, terminating_at: int | None, terminated_at: int | None, is_active: bool
) -> None:
    manager = PodManager()
    manager.update(pod("Running"))
    manager.update(pod(phase))
    statuses = SimpleNamespace(get_pod_status=lambda uid: None if reported is None else PodStatus(phase=reported))
    states: Any = SimpleNamespace(
        statuses={} if terminating_at is None else {"u": None},
        is_pod_known_terminated=lambda uid: terminated_at is not None,
        is_pod_termination_requested=lambda uid: terminating_at is not None,
    )
    nothing = cast(Any, None)
    views = PodViews(manager, states, nothing, cast(Any, statuses), nothing, PodSources(lambda seen: True))
    assert bool(views.active_pods()) == is_active
    manager.remove(pod(phase))
    assert not manager.finished
