"""Starting a container on a whole node: errors, and how they are reported."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import LoopClock, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.scenario.language.document import Scenario
from kubesim.trace.records import CriCall, EventRecorded
from tests.support.played import SERVER, Played, pod

PRIVATE = {"name": "r.example/app:1", "pullTime": "1s", "credentials": {"username": "me", "password": "secret"}}


def messages(story: Played, reason: str, name: str = "app") -> list[str]:
    found = [r for r in story.records if isinstance(r, EventRecorded) and r.pod == f"default/{name}"]
    return [r.message for r in found if r.reason == reason]


def pull_secret(name: str, user: str, password: str, place: str = "r.example") -> dict[str, Any]:
    auths = {"auths": {place: {"username": user, "password": password}}}
    data = {".dockerconfigjson": base64.b64encode(json.dumps(auths).encode()).decode()}
    kind = "kubernetes.io/dockerconfigjson"
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "data": data}


def private_pod(name: str, *secrets: str) -> dict[str, Any]:
    return pod(name, image="r.example/app:1", imagePullSecrets=[{"name": secret} for secret in secrets])


# -- credentials -------------------------------------------------------------------------------------------------------


def test_a_private_image_needs_a_secret() -> None:
    steps = [
        {"at": "0s", "apply": pull_secret("mine", "me", "secret")},
        {"at": "0s", "apply": private_pod("app")},
        {"at": "30s", "apply": private_pod("allowed", "mine")},
        {"at": "40s", "apply": private_pod("denied")},
    ]
    story = Played(*steps, images=[PRIVATE])
    full = "r.example/app:1"
    denied = (
        f'Failed to pull image "{full}": failed to pull and unpack image "{full}": failed to resolve reference '
        f'"{full}": pull access denied, repository does not exist or may require authorization: '
        "authorization failed: no basic auth credentials"
    )
    assert messages(story, "Failed")[0] == denied
    assert "Started" in story.events("allowed")
    # The image is on the node now, but access to it is restricted.
    assert messages(story, "Failed", "denied")[0] == denied
    pulls = [
        r for r in story.records if isinstance(r, CriCall) and r.call == "PullImage" and r.pod == "default/allowed"
    ]
    assert [r.args.get("secret") for r in pulls] == ["mine"]


def test_every_credential_is_tried_and_all_errors_are_reported() -> None:
    steps = [
        {"at": "0s", "apply": pull_secret("first", "me", "wrong")},
        {"at": "0s", "apply": pull_secret("second", "you", "secret")},
        {"at": "0s", "apply": pull_secret("third", "me", "secret")},
        {"at": "0s", "apply": private_pod("app", "first", "second")},
        {"at": "1s", "apply": private_pod("works", "first", "third")},
    ]
    story = Played(*steps, images=[PRIVATE])
    assert (
        "unexpected status from HEAD request to https://r.example/v2/app/manifests/1: 401"
        in messages(story, "Failed")[0]
    )
    assert story.calls("works").count("PullImage") == 2
    assert "Started" in story.events("works")


def test_a_missing_pull_secret_is_reported_at_each_sync_and_the_pull_is_tried_without_it() -> None:
    story = Played(
        {"at": "0s", "apply": pod("app", imagePullSecrets=[{"name": "gone"}, {"name": "lost"}])}, duration="5m"
    )
    reported = messages(story, "FailedToRetrieveImagePullSecret")
    text = "Unable to retrieve some image pull secrets (gone, lost); attempting to pull the image may not succeed."
    assert set(reported) == {text}
    assert len(reported) > 3
    assert "Started" in story.events("app")


def test_concurrent_pulls_and_the_rate_limit_of_the_registry() -> None:
    images = [{"name": "*", "pullTime": "5s"}]
    apply = [{"at": "0s", "apply": pod(f"p{n}", image=f"i{n}:1")} for n in range(3)]
    serial = Played(*apply, images=images)
    parallel = Played(*apply, images=images, kubeletConfiguration={"maxParallelImagePulls": 2})
    impatient = Played(
        *apply,
        images=images,
        kubeletConfiguration={"serializeImagePulls": False, "registryPullQPS": 1, "registryBurst": 1},
    )
    assert [story.when(CriCall, call="PullImage")[2] // 5 for story in (serial, parallel)] == [2, 1]
    assert any("pull QPS exceeded" in message for n in range(3) for message in messages(impatient, "Failed", f"p{n}"))


# -- the configuration of a container ----------------------------------------------------------------------------------

ROOT = "container has runAsNonRoot and image will run as root"
NAMED = "container has runAsNonRoot and image has non-numeric user (nginx), cannot verify user is non-root"


@pytest.mark.parametrize(
    ("image_user", "of_pod", "own", "problem"),
    [
        ("", {"runAsNonRoot": True}, {}, ROOT),
        ("0", {"runAsNonRoot": True}, {}, ROOT),
        ("0:0", {}, {"runAsNonRoot": True}, ROOT),
        ("nginx", {"runAsNonRoot": True}, {}, NAMED),
        ("101", {"runAsNonRoot": True}, {}, ""),
        ("", {"runAsNonRoot": True, "runAsUser": 1000}, {}, ""),
        (
            "101",
            {"runAsNonRoot": True, "runAsUser": 1000},
            {"runAsUser": 0},
            "container's runAsUser breaks non-root policy",
        ),
        ("", {"runAsNonRoot": True}, {"runAsNonRoot": False}, ""),
        (
            str(1 << 31),
            {"runAsNonRoot": True},
            {},
            "container has runAsNonRoot and image has an invalid user id (2147483648)",
        ),
    ],
)
def test_run_as_non_root(image_user: str, of_pod: Any, own: Any, problem: str) -> None:
    container = {"name": "main", "image": "app", "command": SERVER, "securityContext": own}
    manifest = pod("app", containers=[container], securityContext=of_pod)
    story = Played({"at": "0s", "apply": manifest}, images=[{"name": "app", "present": True, "user": image_user}])
    if not problem:
        assert "Started" in story.events("app")
        return
    assert messages(story, "Failed")[0].startswith(f"Error: {problem}")
    assert messages(story, "Failed")[0].endswith(", container: main)")
    assert "CreateContainer" not in story.calls("app")


def test_an_ephemeral_container_targets_a_process_namespace() -> None:
    def debug(name: str, target: str) -> dict[str, Any]:
        body = {"name": name, "image": "busybox:1", "command": SERVER, "targetContainerName": target}
        return {"pod": "app", "subresource": "ephemeralcontainers", "patch": {"spec": {"ephemeralContainers": [body]}}}

    late = {"name": "late", "image": "slow:1", "command": SERVER}
    main = {"name": "main", "image": "busybox:1", "command": SERVER}
    steps = [
        {"at": "0s", "apply": pod("app", containers=[main, late])},
        {"at": "5s", "patch": debug("sees", "main")},
        {"at": "6s", "patch": debug("waits", "late")},
    ]
    images = [{"name": "slow:1", "missing": True}, {"name": "*", "present": True}]
    story = Played(*steps, images=images)
    started = [r.container for r in story.records if isinstance(r, EventRecorded) and r.reason == "Started"]
    assert started == ["main", "sees"]
    assert "Error: unable to find target container late" in messages(story, "Failed")


@pytest.mark.parametrize(
    ("gate", "image", "own", "signal"),
    [
        (True, "", "SIGUSR1", "SIGUSR1"),
        (True, "SIGQUIT", None, "SIGQUIT"),
        (True, "SIGQUIT", "SIGUSR1", "SIGUSR1"),
        (True, "", None, "SIGTERM"),
        (False, "SIGQUIT", None, "SIGQUIT"),
    ],
)
def test_the_signal_that_stops_a_container(gate: bool, image: str, own: str | None, signal: str) -> None:
    program = "trap 'echo USR1; exit 3' USR1; trap 'echo QUIT; exit 4' QUIT; trap 'exit 5' TERM; sleep 1000 & wait"
    container: dict[str, Any] = {"name": "main", "image": "app", "command": ["sh", "-c", program]}
    if own:
        container["lifecycle"] = {"stopSignal": own}
    steps = [
        {"at": "0s", "apply": pod("app", containers=[container], os={"name": "linux"}, restartPolicy="Never")},
        {"at": "10s", "delete": {"pod": "app"}},
    ]
    images = [{"name": "app", "present": True, "stopSignal": image}]
    story = Played(*steps, images=images, featureGates={"ContainerStopSignals": gate})
    code = {"SIGUSR1": 3, "SIGQUIT": 4, "SIGTERM": 5}[signal]
    assert any(f"container main ended with exit code {code}" in note for note in story.notes())


# -- hooks -------------------------------------------------------------------------------------------------------------


def hooked(hook: dict[str, Any], program: list[str] | None = None) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox:1", "command": program or SERVER, "lifecycle": hook}
    return pod("app", containers=[container])


WEB = ["sh", "-c", "httpd -f -p 8080 & trap 'exit 0' TERM; wait"]


def test_an_http_hook_uses_the_current_address_of_the_pod() -> None:
    """Right after the first start the pod has not been listed yet."""
    story = Played({"at": "0s", "apply": hooked({"postStart": {"httpGet": {"port": 8080}}}, WEB)}, seed=3)
    assert not messages(story, "FailedPostStartHook")
    refused = Played({"at": "0s", "apply": hooked({"postStart": {"httpGet": {"port": 8081}}}, WEB)}, seed=3)
    assert messages(refused, "FailedPostStartHook")


def test_any_response_is_a_success_and_http_replaces_https() -> None:
    hook = {"preStop": {"httpGet": {"port": 8080, "path": "/no/such/page", "scheme": "HTTPS"}}}
    story = Played({"at": "0s", "apply": hooked(hook, WEB)}, {"at": "10s", "delete": {"pod": "app"}})
    assert not messages(story, "FailedPreStopHook")
    reported = messages(story, "LifecycleHTTPFallback")
    assert len(reported) == 1
    assert reported[0].endswith(":8080 got HTTP response, retry with HTTP succeeded")


def test_a_pre_stop_hook_without_a_response_takes_the_whole_grace_period() -> None:
    silent = ["sh", "-c", "nc -lk -p 8080 & trap 'exit 0' TERM; wait"]
    steps = [
        {"at": "0s", "apply": hooked({"preStop": {"httpGet": {"port": 8080}}}, silent)},
        {"at": "10s", "delete": {"pod": "app"}},
    ]
    stop = Played(*steps).when(CriCall, call="StopContainer")[0]
    assert 15 <= stop < 15.1


def test_the_code_of_a_runtime_error_is_not_in_container_messages() -> None:
    assert (
        RuntimeCallError("rpc error: code = Unknown desc = no space left desc = x").message == "no space left desc = x"
    )
    assert RuntimeCallError("plain").message == "plain"


def test_a_container_that_could_not_be_created_because_the_runtime_stopped() -> None:
    spec = {"images": [{"name": "busybox:1", "present": True}]}
    scenario = Scenario.model_validate({"metadata": {"name": "cut-off"}, "spec": spec})
    seen: list[str] = []

    class Sink:
        def record(self, record: object) -> None:
            if isinstance(record, EventRecorded) and record.reason == "Failed":
                seen.append(record.message)

    async def main() -> None:
        async with TaskSet() as tasks:
            raise_failures_of_callbacks(tasks)
            simulation = Simulation(scenario, 0, tasks, [Sink()])
            await tasks.run_until(play(simulation))

    async def play(simulation: Simulation) -> None:
        clock: LoopClock = simulation.clock
        node = simulation.nodes["node-1"]
        node.start()
        await clock.sleep(60_000_000)
        simulation.recorder.add(Sink())
        node.runtime.on_change(lambda uid: stop() if uid and node.runtime.knows_pod(uid) else None)

        def stop() -> None:
            if node.service.up:  # the sandbox exists; the next call is interrupted
                clock.call_at(clock.now() + 10_000, node.stop_runtime)

        simulation.world.ensure_namespace("default")
        simulation.world.apply(pod("app"))
        await clock.sleep(5_000_000)
        await node.close()

    run_virtual(main)
    assert seen == ["Error: error reading from server: EOF"]
