"""The termination message of a container.

Upstream has no table for it. The limits are those of pkg/kubelet/container/runtime.go, the rules those of
kuberuntime_container.go getTerminationMessage and convertToKubeContainerStatus; TestStatusNormalizationEnforcesMaxBytes
of pkg/kubelet/status is here with real containers.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Container
from kubesim.runtime.simulated.containers.termination_message import termination_message
from kubesim.shell import Log
from kubesim.trace.records import LogOutput
from tests.support.played import Played, container, pod

FILE = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
FALLBACK = {**FILE, "terminationMessagePolicy": "FallbackToLogsOnError"}


def message(fields: dict[str, Any], written: str, exit_code: int = 1, log: str = "") -> str:
    output = Log(lambda: 0)
    output.write("stdout", log)
    return termination_message(Container.from_json({"name": "c", **fields}), written, exit_code, output)


@pytest.mark.parametrize(
    ("fields", "written", "exit_code", "expected"),
    [
        pytest.param(FILE, "because", 1, "because", id="file"),
        pytest.param(FILE, "because", 0, "because", id="file of a container that succeeded"),
        pytest.param(FILE, "", 1, "", id="nothing written"),
        pytest.param(FALLBACK, "because", 1, "because", id="the file is preferred to the log"),
        pytest.param(FALLBACK, "", 1, "log\n", id="log"),
        pytest.param(FALLBACK, "", 0, "", id="no log of a container that succeeded"),
        pytest.param({**FILE, "terminationMessagePath": ""}, "because", 1, "", id="no path"),
        pytest.param({**FALLBACK, "terminationMessagePath": ""}, "", 1, "log\n", id="no path, but a log"),
    ],
)
def test_file_or_log(fields: dict[str, Any], written: str, exit_code: int, expected: str) -> None:
    assert message(fields, written, exit_code, "log\n") == expected


def test_the_last_4096_bytes_of_a_file_are_read() -> None:
    assert message(FILE, "a" + "b" * 4096) == "b" * 4096
    assert message(FILE, "é" + "b" * 4095) == "\ufffd" + "b" * 4095  # half of the character


def test_the_last_80_lines_of_a_log_and_their_last_2048_bytes_are_read() -> None:
    assert message(FALLBACK, "", log="".join(f"{n}\n" for n in range(100))) == "".join(f"{n}\n" for n in range(20, 100))
    assert message(FALLBACK, "", log="x" * 3000 + "\nend\n") == "x" * (2048 - 5) + "\nend\n"


def printed(story: Played, name: str) -> list[str]:
    """The output of its containers."""
    return [r.text for r in story.records if isinstance(r, LogOutput) and r.pod == f"default/{name}"]


def test_the_file_exists_and_is_empty_for_every_start_even_at_a_custom_path() -> None:
    script = "wc -c < /var/run/why; echo again >> /var/run/why; exit 1"
    main = container("main", script, terminationMessagePath="/var/run/why")
    story = Played(objects=[pod("web", containers=[main], restartPolicy="OnFailure")], duration="20s")
    assert printed(story, "web")[:2] == ["0", "0"]


def test_a_relative_path_starts_at_the_root() -> None:
    main = container("main", "echo gone > /tmp/why; exit 1", terminationMessagePath="tmp/why")
    path = "status.containerStatuses[0].state.terminated.message"
    expect = [{"object": "Pod/web", "field": path, "equals": "gone\n"}]
    story = Played(objects=[pod("web", containers=[main], restartPolicy="Never")], expect=expect)
    assert story.result.ok, story.result.expectations_failed


def test_the_messages_of_all_containers_of_a_pod_fit_into_12_kib() -> None:
    """With four containers each has 3072 bytes, the first ones of what was read."""
    line = "0123456789abcdef" * 8
    script = f"n=0; while [ $n -lt 32 ]; do echo {line} >> /dev/termination-log; n=$((n+1)); done; exit 1"
    text = f"{line}\n" * 32
    containers = [container(name, script) for name in "abcd"]
    wanted = text[-4096:][:3072]
    expect = [
        {"object": "Pod/web", "field": f"status.containerStatuses[{n}].state.terminated.message", "equals": wanted}
        for n in range(4)
    ]
    story = Played(objects=[pod("web", containers=containers, restartPolicy="Never")], expect=expect)
    assert story.result.ok, story.result.expectations_failed


def test_a_message_survives_a_power_failure() -> None:
    main = container("main", "echo so far > /dev/termination-log", "sleep 100000")
    expect = [
        {
            "object": "Pod/web",
            "field": "status.containerStatuses[0].lastState.terminated.message",
            "equals": "so far\n",
        },
        {"object": "Pod/web", "field": "status.containerStatuses[0].lastState.terminated.exitCode", "equals": 255},
    ]
    story = Played({"at": "10s", "reboot": {"downFor": "5s"}}, objects=[pod("web", containers=[main])], expect=expect)
    assert story.result.ok, story.result.expectations_failed
