"""Random lives of pods with kubesim's own kubelet, recorded and followed: from the start and by late followers. The
kubelet follows its rules, whatever is killed, changed, deleted or restarted, so nothing is reported."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, Phase, given, seed, settings

from kubesim.api.timestamps import SECOND
from tests.support.attach.recorded_node import STAYS, followed
from tests.support.attach.store_recording import StoreRecording
from tests.support.lives.life import Faults, Happening, Story, live
from tests.support.lives.stories import stories
from tests.support.soak import LONG, rounds


def recorded(story: Story) -> StoreRecording:
    """The runtime answers in time: a delay by a slow one would be reported."""
    found: list[StoreRecording] = []
    quick = replace(story, faults=Faults(pull_errors=story.faults.pull_errors), every_tick=False)
    live(quick, begins=lambda simulation: found.append(StoreRecording(simulation)))
    return found[0]


@LONG
@seed(42)
@settings(
    max_examples=rounds(300),
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(stories())
def test_a_correct_kubelet_is_never_blamed(story: Story) -> None:
    lines = recorded(story).ended()
    for come_s in (0, 4, 30, 70):
        follower, notes = followed(lines, come_s * SECOND, None if come_s == 0 else STAYS)
        assert [one.says for one in notes.divergences] == [], come_s
        assert follower.observations or come_s


def test_a_count_that_restarts_with_a_lost_record_is_not_reported() -> None:
    """The kubelet evicts the pod, removes its dead container, and is restarted before it reports the eviction. The
    shadow infers the lost exit and counts it; the runtime counts from 0."""
    deaf = {"image": "busybox:1", "command": ["sh", "-c", "trap '' TERM; sleep 100000"]}
    probe = {"exec": {"command": ["test", "-f", "/tmp/up"]}, "periodSeconds": 1, "failureThreshold": 20}
    containers = [{"name": name, "startupProbe": probe, **deaf} for name in ("main0", "main1")]
    story = Story(
        seed=613,
        spec={"restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 1, "containers": containers},
        faults=Faults(pull_errors=3),
        activity_count=(
            Happening(at=1468000, what="image", number=2),
            Happening(at=3494000, what="evict", number=3),
            Happening(at=8884000, what="restart kubelet", number=2),
        ),
        ends_by_itself=False,
        every_tick=False,
    )
    _, notes = followed(recorded(story).ended(), 0, None)
    assert [one.says for one in notes.divergences] == []
