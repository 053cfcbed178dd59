"""Behaviour learned from real containers: how each attempt ended, whether it was ready, which images exist."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import ContainerStatus
from kubesim.runtime.simulated.containers.replayed import RealContainer, RealContainers, RealImages, learn
from kubesim.runtime.simulated.settings import ImageBehaviour
from tests.support.attach.pods import end, pod, running, terminated, waiting


def replayed(*statuses: dict[str, Any]) -> RealContainer:
    known: RealContainer | None = None
    for status in statuses:
        known = learn(known, ContainerStatus.from_json(status))
    assert known is not None
    return known


def codes(known: RealContainer, attempts: int) -> list[int | None]:
    ends = [known.end_of(attempt) for attempt in range(attempts)]
    return [None if found is None else found.exit_code for found in ends]


def test_a_running_attempt_has_no_exit_yet() -> None:
    assert codes(replayed(waiting("ContainerCreating")), 2) == [None, None]
    assert codes(replayed(running()), 2) == [None, None]


def test_an_exit_belongs_to_its_attempt_with_its_time() -> None:
    known = replayed(running(), terminated(7))
    found = known.end_of(0)
    assert found is not None
    assert (found.exit_code, found.ran_for) == (7, 3_000_000)
    assert codes(replayed(running(), waiting("CrashLoopBackOff", last=end(3)), running(restarts=1)), 2) == [3, None]


def test_the_first_attempt_corresponds_to_the_first_observed_one() -> None:
    first = running(restarts=5) | {"lastState": {"terminated": end(9)}}
    assert codes(replayed(first), 1) == [None]
    assert codes(replayed(first, terminated(2, restarts=5), running(restarts=6)), 2) == [2, None]


def test_an_unobserved_exit_is_like_the_next_observed_one() -> None:
    assert codes(replayed(running(), terminated(4, restarts=2)), 4) == [4, 4, 4, None]


def test_probes_return_the_results_of_the_real_container_and_fail_only_after_it_was_ready() -> None:
    assert replayed(running(ready=False, started=False)).answer(0, ready=False) == "wait"
    unready = running(ready=False)
    assert replayed(unready).answer(0, ready=True) == "wait"
    assert replayed(unready).answer(0, ready=False) == "success"
    assert replayed(unready, running()).answer(0, ready=True) == "success"
    assert replayed(running(), unready).answer(0, ready=True) == "failure"
    assert replayed(running(), terminated(1)).answer(0, ready=True) == "success"
    assert replayed(running()).answer(1, ready=True) == "wait"


def test_images_on_the_node_and_images_that_it_cannot_pull() -> None:
    containers = RealContainers()
    given = ImageBehaviour(size=1)
    images = RealImages({"docker.io/library/given:1": given}, containers)
    subject = pod(waiting("ErrImagePull"), spec={"containers": [{"name": "main", "image": "registry.local/x"}]})
    containers.see(subject)
    assert "not found" in images["registry.local/x:latest"].missing
    containers.forget(subject.metadata.uid)
    assert not images["registry.local/x:latest"].missing
    assert images["docker.io/library/given:1"] is given
