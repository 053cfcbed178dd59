"""`RuntimeContract`: a pytest class; a subclass provides the runtime under test as a `Subject`.

    class TestMine(RuntimeContract):
        def play(self, check):
            async def main():
                clock = LoopClock()
                subject = Subject(MyRuntime(clock), clock, "busybox:1", "nowhere.example/missing:1")
                try:
                    await check(subject)
                finally:
                    await subject.clean_up()

            run_virtual(main)

`Subject.runtime` is any implementation of `Runtime` (kubesim/runtime/protocol.py): a runtime in this process, or the
client of one behind a wire. Each test is one check of `sandboxes.py`, `containers.py`, `commands.py` or `images.py`. It
waits on the subject's clock, so it works in virtual and in real time. Class attributes declare optional features; all
other tests are required.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubesim.testing.runtime_contract import commands, containers, images, sandboxes
from kubesim.testing.runtime_contract.subject import Subject

Check = Callable[[Subject], Awaitable[None]]


class RuntimeContract:
    """Subclass it with a name that begins with `Test`, and implement `play`."""

    has_container_events = True  # False: GetContainerEvents fails, and the kubelet falls back to listing
    reports_resources = True  # False: a status has no resources

    def play(self, check: Check) -> None:
        """Run the check with a new subject. Runs of one class may share a runtime."""
        raise NotImplementedError("a subclass of RuntimeContract implements play")

    def test_a_running_runtime_reports_no_problem(self) -> None:
        self.play(sandboxes.no_problem)

    def test_a_sandbox_is_ready_with_an_address_and_its_configuration(self) -> None:
        self.play(sandboxes.ready)

    def test_a_stopped_sandbox_is_not_ready_and_stop_is_idempotent(self) -> None:
        self.play(sandboxes.stopped)

    def test_a_removed_sandbox_is_gone_and_remove_is_idempotent(self) -> None:
        self.play(sandboxes.removed)

    def test_a_listing_of_one_pod_excludes_others(self) -> None:
        self.play(sandboxes.listed_by_pod)

    def test_a_removed_sandbox_removes_its_containers(self) -> None:
        self.play(sandboxes.removed_with_containers)

    def test_an_unknown_sandbox_or_container_is_not_found(self) -> None:
        self.play(sandboxes.unknown)

    def test_a_container_is_created_runs_and_exits_with_its_code(self) -> None:
        self.play(containers.life)

    def test_a_status_has_the_configuration_of_the_container(self) -> None:
        self.play(containers.status)

    def test_a_second_attempt_is_listed_with_the_first(self) -> None:
        self.play(containers.attempts)

    def test_a_name_and_attempt_are_unique(self) -> None:
        self.play(containers.reserved_name)

    def test_a_missing_program_is_an_error_and_leaves_an_exited_container(self) -> None:
        self.play(containers.start_error)

    def test_stopping_sends_the_stop_signal_and_waits_for_the_exit(self) -> None:
        self.play(containers.stopped)

    def test_stopping_kills_after_the_timeout(self) -> None:
        self.play(containers.killed)

    def test_a_stopped_sandbox_ends_its_containers(self) -> None:
        self.play(containers.ended_with_sandbox)

    def test_a_removed_container_is_gone_and_remove_is_idempotent(self) -> None:
        self.play(containers.removed)

    def test_a_container_has_its_environment(self) -> None:
        self.play(commands.environment)

    def test_a_command_has_an_exit_code_stdout_and_stderr(self) -> None:
        self.play(commands.outputs)

    def test_a_command_that_takes_too_long_exceeds_its_deadline(self) -> None:
        self.play(commands.deadline)

    def test_a_command_needs_a_running_container(self) -> None:
        self.play(commands.not_running)

    def test_resources_can_be_updated(self) -> None:
        self.play(containers.updated if self.reports_resources else containers.updates)

    def test_listeners_are_notified_of_a_change_by_the_next_listing(self) -> None:
        self.play(containers.changes)

    def test_container_events_follow_the_lifecycle(self) -> None:
        self.play(containers.events if self.has_container_events else containers.no_events)

    def test_a_present_image_has_an_id_and_is_listed(self) -> None:
        self.play(images.present)

    def test_a_missing_image_has_no_status_and_cannot_be_pulled(self) -> None:
        self.play(images.missing)
