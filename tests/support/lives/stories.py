"""Random pods and actions: containers, init containers, sidecars, probes, hooks, policies, rules; runtime faults,
kills, restarts, deletions.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kubesim.api.timestamps import MILLISECOND, SECOND
from tests.support.lives.life import Faults, Happening, Story
from tests.support.lives.rules import UP_AFTER, UP_FILE

PROMPT = "trap 'exit 0' TERM; sleep 100000 & wait"
DEAF = "trap '' TERM; sleep 100000"
SLOW = "trap 'sleep 3; exit 0' TERM; sleep 100000 & wait"
SLOW_START = f"trap 'exit 0' TERM; sleep {UP_AFTER // SECOND}; touch {UP_FILE}; sleep 100000 & wait"
ENDLESS = (PROMPT, DEAF, SLOW, SLOW_START)
FINITE = ("exit 0", "sleep 3", "sleep 5; exit 1", "exit 7", "sleep 2; exit 42", "sleep 1; tail /dev/zero")
NO_PROGRAM = "/no/such/program"  # cannot be started

TRUE: dict[str, Any] = {"exec": {"command": ["true"]}, "periodSeconds": 1}
FALSE: dict[str, Any] = {"exec": {"command": ["false"]}, "periodSeconds": 1, "failureThreshold": 2}
UP = {"exec": {"command": ["test", "-f", UP_FILE]}, "periodSeconds": 1, "failureThreshold": 20}
HTTP = {"httpGet": {"port": 8080}, "periodSeconds": 2, "timeoutSeconds": 1}
TCP = {"tcpSocket": {"port": 8080}, "periodSeconds": 2, "initialDelaySeconds": 1}
HUNG = {"exec": {"command": ["sleep", "1000"]}, "periodSeconds": 3, "timeoutSeconds": 2, "failureThreshold": 1}
own_grace = st.sampled_from([{}, {"terminationGracePeriodSeconds": 1}, {"terminationGracePeriodSeconds": 20}])
graces = st.sampled_from([0, 1, 2, 5, 30])

SHELL_HOOKS = ("true", "exit 1", "sleep 2", "sleep 2; exit 1", "sleep 50")


@st.composite
def probes(draw: st.DrawFn) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if draw(st.integers(0, 3)) == 0:
        made["readinessProbe"] = draw(st.sampled_from([TRUE, FALSE, UP, HTTP, TCP, HUNG]))
    if draw(st.integers(0, 4)) == 0:
        made["livenessProbe"] = {**draw(st.sampled_from([TRUE, FALSE, HTTP, HUNG])), **draw(own_grace)}
    if draw(st.integers(0, 4)) == 0:
        made["startupProbe"] = {**draw(st.sampled_from([TRUE, FALSE, UP, UP, TCP])), **draw(own_grace)}
    return made


@st.composite
def hooks(draw: st.DrawFn, grace_s: int) -> dict[str, Any]:
    handlers = st.one_of(
        st.sampled_from(SHELL_HOOKS).map(lambda command: {"exec": {"command": ["sh", "-c", command]}}),
        st.integers(0, grace_s).map(lambda seconds: {"sleep": {"seconds": seconds}}),
        st.just({"httpGet": {"port": 8080}}),
    )
    made = {}
    if draw(st.integers(0, 4)) == 0:
        made["postStart"] = draw(handlers)
    if draw(st.integers(0, 2)) == 0:
        made["preStop"] = draw(handlers)
    return {"lifecycle": made} if made else {}


def command(text: str) -> dict[str, Any]:
    return {"command": [text] if text == NO_PROGRAM else ["sh", "-c", text]}


@st.composite
def policies(draw: st.DrawFn, *, all_containers: bool) -> dict[str, Any]:
    """Sometimes a container's own policy and rules."""
    if draw(st.integers(0, 3)):
        return {}
    policy: dict[str, Any] = {"restartPolicy": draw(st.sampled_from(["Never", "OnFailure", "Always"]))}
    if draw(st.booleans()):
        action = draw(st.sampled_from(["Restart", "RestartAllContainers"])) if all_containers else "Restart"
        codes = {"operator": draw(st.sampled_from(["In", "NotIn"])), "values": [42]}
        if action == "RestartAllContainers":
            codes["operator"] = "In"  # otherwise every exit would restart all of them, immediately and forever
        policy["restartPolicyRules"] = [{"action": action, "exitCodes": codes}]
    return policy


@st.composite
def regular(draw: st.DrawFn, name: str, grace_s: int) -> dict[str, Any]:
    image = draw(st.sampled_from(["busybox:1"] * 4 + ["busybox:2", "absent:1"]))
    program = command(draw(st.sampled_from((*ENDLESS, *FINITE, *FINITE, NO_PROGRAM))))
    own = draw(policies(all_containers=True))
    return {"name": name, "image": image, **program, **own, **draw(probes()), **draw(hooks(grace_s))}


@st.composite
def init(draw: st.DrawFn, name: str, grace_s: int) -> dict[str, Any]:
    image = draw(st.sampled_from(["busybox:1"] * 4 + ["busybox:2"]))
    made = {"name": name, "image": image}
    if draw(st.booleans()):
        program = command(draw(st.sampled_from((*ENDLESS, SLOW_START, "sleep 4", "sleep 4; exit 1"))))
        return {**made, **program, "restartPolicy": "Always", **draw(probes()), **draw(hooks(grace_s))}
    program = command(draw(st.sampled_from(["true", "true", "sleep 2", "exit 1", "sleep 1; exit 42"])))
    own = draw(policies(all_containers=True))
    return {**made, **program, **({} if own.get("restartPolicy") == "Always" else own)}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    grace_s = draw(graces)
    spec: dict[str, Any] = {
        "restartPolicy": draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        "terminationGracePeriodSeconds": grace_s,
        "containers": [draw(regular(f"main{number}", grace_s)) for number in range(draw(st.integers(1, 3)))],
        "initContainers": [draw(init(f"init{number}", grace_s)) for number in range(draw(st.integers(0, 3)))],
    }
    if draw(st.integers(0, 5)) == 0:
        spec["activeDeadlineSeconds"] = draw(st.integers(1, 60))
    return spec


@st.composite
def faults(draw: st.DrawFn) -> Faults:
    pull_errors = draw(st.integers(0, 3))
    if draw(st.integers(0, 2)):
        return Faults(pull_errors=pull_errors)
    share = st.sampled_from([0, 0, 0.03, 0.1, 0.3])
    return Faults(draw(share), draw(st.sampled_from([0, 0, 0.02])), draw(share), pull_errors)


@st.composite
def activity_count(draw: st.DrawFn) -> Happening:
    kinds = ["kill", "kill sandbox", "kill sandbox", "image", "delete", "delete", "evict",
             "restart kubelet", "restart runtime"]  # fmt: skip
    what = draw(st.sampled_from(kinds))
    number = draw(st.sampled_from([0, 1, 3, 10, 60]) if what in ("delete", "evict") else st.integers(0, 4))
    at = draw(st.integers(0, 80 * 1000)) * MILLISECOND
    return Happening(at, what, number, draw(st.sampled_from(["KILL", "TERM"])))


@st.composite
def stories(draw: st.DrawFn) -> Story:
    spec = draw(specs())
    happens = draw(st.lists(activity_count(), max_size=4))
    return Story(
        seed=draw(st.integers(0, 1000)),
        spec=spec,
        faults=draw(faults()),
        activity_count=tuple(sorted(happens, key=lambda happening: happening.at)),
        ends_by_itself=ends_by_itself(spec, happens),
        every_tick=draw(st.integers(0, 7)) == 7,
    )


def ends_by_itself(spec: dict[str, Any], happens: list[Happening]) -> bool:
    """Whether the pod terminates by itself: it has a deadline, or each container exits and is not restarted."""
    if "activeDeadlineSeconds" in spec:
        return True
    if spec["restartPolicy"] != "Never" or any("restartPolicyRules" in c or _restarts(c) for c in spec["containers"]):
        return False
    # If the sandbox is lost before all containers have run, the pod is terminated, but stays Pending.
    if any(happening.what == "kill sandbox" for happening in happens):
        return False
    inits_pass = all("restartPolicy" not in c for c in spec["initContainers"])
    finite = [["sh", "-c", text] for text in FINITE]
    return inits_pass and all(c["image"] != "absent:1" and c["command"] in finite for c in spec["containers"])


def _restarts(container: dict[str, Any]) -> bool:
    return bool(container.get("restartPolicy", "Never") != "Never")
