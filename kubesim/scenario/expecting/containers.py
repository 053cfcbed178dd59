"""Questions about the containers of a pod: their states, exit codes and restarts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesim.api.pod import ContainerState, ContainerStatus, Pod
from kubesim.scenario.expecting.answers import Answer, counted
from kubesim.scenario.language.expect_items import ObjectQuestion


def container_statuses(pod: Pod, name: str = "") -> list[ContainerStatus]:
    """The statuses of the container with this name, or of all containers."""
    status = pod.status
    all_of_them = (
        *status.init_container_statuses,
        *status.container_statuses,
        *status.ephemeral_container_statuses,
    )
    return [each for each in all_of_them if name in ("", each.name)]


def ask_container(question: ObjectQuestion, pod: Pod) -> Answer:
    statuses = container_statuses(pod, question.container)
    if not statuses:
        missing = f"container {question.container} has" if question.container else "its containers have"
        return Answer(False, f"{missing} no status", known=False)
    if question.restart_count is not None:
        most = max(status.restart_count for status in statuses)
        fits = any(question.restart_count.hold(status.restart_count) for status in statuses)
        return Answer(fits, f"there {'was' if most == 1 else 'were'} {counted(most, 'restart')}", number=most)
    states = [state for status in statuses for state in _states(question, status)]
    seen = "; ".join(f"{status.name} is {in_words(status.state)}" for status in statuses)
    return Answer(any(_fits(question, state) for state in states), seen)


def _states(question: ObjectQuestion, status: ContainerStatus) -> Iterator[ContainerState]:
    """The current state, and also the last state if the question is only about an exit code."""
    yield status.state
    if question.asked == "exit_code":
        yield status.last_state


def _fits(question: ObjectQuestion, state: ContainerState) -> bool:
    name, reason, message, code = _parts(state)
    if question.waiting is not None:
        fits = name == "waiting" and reason == question.waiting
    else:
        fits = name == (question.state or "terminated")
        fits = fits and question.exit_code in (None, code) and question.reason in ("", reason)
    return fits and (question.message is None or question.message.fits(message))


def _parts(state: ContainerState) -> tuple[str, str, str, int | None]:
    """The name, reason, message and exit code of a state."""
    if state.waiting is not None:
        return "waiting", state.waiting.reason, state.waiting.message, None
    if state.terminated is not None:
        ended = state.terminated
        return "terminated", ended.reason, ended.message, ended.exit_code
    return ("running", "", "", None) if state.running is not None else ("", "", "", None)


def in_words(state: ContainerState) -> str:
    """A container state in words: `waiting (CrashLoopBackOff)`, `terminated (Error, exit code 1)`."""
    name, reason, _, code = _parts(state)
    details = ", ".join(part for part in (reason, "" if code is None else f"exit code {code}") if part)
    return (name or "in no state") + (f" ({details})" if details else "")


def has_started(statuses: Iterable[ContainerStatus]) -> bool:
    """Whether a container has ever run, so that it could have written output."""
    for status in statuses:
        for state in (status.state, status.last_state):
            if state.running is not None or state.terminated is not None:
                return True
    return False
