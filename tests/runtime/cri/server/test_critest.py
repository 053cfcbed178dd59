"""critest's specifications of a runtime, each with the tests here that check the same; or what it needs of a kernel.

The titles are shortened. Those of one group are in critest's order (cri-tools v1.36, pkg/validate).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from kubesim.values import value_object
from tests.support.cri_node import BUSYBOX, CriClient, container_message, sandbox_message, with_client

IMAGES = "gcr.io/k8s-staging-cri-tools/"


# -- specifications without another test ------------------------------------------------------------------------------


def test_a_sandbox_is_ready_stopped_and_gone() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        assert (await client.sandbox_status(sandbox)).state == cri.SANDBOX_READY
        await client.call("StopPodSandbox", pod_sandbox_id=sandbox)
        assert (await client.sandbox_status(sandbox)).state == cri.SANDBOX_NOTREADY
        await client.call("RemovePodSandbox", pod_sandbox_id=sandbox)
        assert not (await client.call("ListPodSandbox", filter=cri.PodSandboxFilter(id=sandbox))).items

    with_client(story)


def test_a_container_is_removed_in_every_state() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        created = await client.create(sandbox, container_message("sh", "-c", "top", name="created"))
        running = await client.run(sandbox, "sh", "-c", "top", name="running")
        stopped = await client.run(sandbox, "sh", "-c", "top", name="stopped")
        await client.call("StopContainer", container_id=stopped, timeout=60)
        for identifier in (created, running, stopped):
            await client.call("RemoveContainer", container_id=identifier)
            assert not (await client.call("ListContainers", filter=cri.ContainerFilter(id=identifier))).containers

    with_client(story)


def test_no_process_is_left_of_a_command_that_took_too_long() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top")
        with pytest.raises(CriError) as failed:
            await client.exec(identifier, "sleep", "4321", timeout=1)
        assert failed.value.code == "DeadlineExceeded"
        assert await client.exec(identifier, "sh", "-c", "pgrep sleep || true") == (0, "", "")

    with_client(story)


def test_stats_are_listed_by_id_by_label_and_all() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        ids = [await client.run(sandbox, "top", name=name, labels={"name": name}) for name in ("a", "b", "c")]

        async def listed(given: cri.ContainerStatsFilter | None) -> list[str]:
            stats = (await client.call("ListContainerStats", filter=given)).stats
            assert all(each.cpu.timestamp and each.memory.timestamp for each in stats)
            return [each.attributes.id for each in stats]

        assert await listed(None) == ids
        assert await listed(cri.ContainerStatsFilter(id=ids[1])) == [ids[1]]
        assert await listed(cri.ContainerStatsFilter(label_selector={"name": "c"})) == [ids[2]]
        assert await listed(cri.ContainerStatsFilter(label_selector={"name": "d"})) == []
        assert (await client.call("ContainerStats", container_id=ids[0])).stats.attributes.id == ids[0]

    with_client(story)


def test_a_volume_behind_a_link_is_mounted(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "volume")

    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        for name in ("volume", "link"):
            path = str(tmp_path / name)
            mount = cri.Mount(host_path=path, container_path=path, selinux_relabel=True)
            identifier = await client.run(sandbox, "sh", "-c", "top", name=name, mounts=[mount])
            assert await client.exec(identifier, "ls", "-A", path) == (0, "file\n", "")

    with_client(story)


def test_a_pull_without_enough_time_exceeds_its_deadline() -> None:
    async def story(client: CriClient) -> None:
        request = cri.PullImageRequest(image=cri.ImageSpec(image=f"{IMAGES}test-image-tag:test"))
        with pytest.raises(CriError) as failed:
            await client.calls.call("PullImage", request, 1000)
        assert failed.value.code == "DeadlineExceeded"

    with_client(story)


def test_an_image_is_found_by_its_id_tags_and_digests() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.pull(f"{IMAGES}test-image-tag:all")
        (whole,) = (await client.call("ListImages")).images
        for name in (identifier, *whole.repo_tags, *whole.repo_digests):
            assert (await client.call("ImageStatus", image=cri.ImageSpec(image=name))).image == whole

    with_client(story)


def test_an_image_is_seen_once_it_is_pulled_and_until_it_is_removed() -> None:
    async def story(client: CriClient) -> None:
        spec = cri.ImageSpec(image=f"{IMAGES}test-image-1:latest")
        for _ in range(3):
            await client.pull(spec.image)
            assert (await client.call("ImageStatus", image=spec)).image.id
            assert len((await client.call("ListImages")).images) == 1
            await client.call("RemoveImage", image=spec)
            await client.call("RemoveImage", image=spec)
            assert not (await client.call("ImageStatus", image=spec)).HasField("image")
            assert not (await client.call("ListImages")).images

    with_client(story)


def test_containers_of_a_pod_have_their_own_logs_and_commands(tmp_path: Path) -> None:
    async def story(client: CriClient) -> None:
        config = sandbox_message(log_directory=str(tmp_path))
        sandbox = await client.sandbox(config)
        image = "registry.k8s.io/e2e-test-images/httpd:2.4.39-4"
        server = await client.run(sandbox, name="httpd", image=image, log_path="httpd.log", config=config)
        script = "echo hello World; sleep 1000"
        other = await client.run(sandbox, "sh", "-c", script, name="busybox", log_path="busybox.log", config=config)
        await client.clock.sleep(SECOND)
        assert "httpd" in (tmp_path / "httpd.log").read_text()
        assert " stdout F hello World\n" in (tmp_path / "busybox.log").read_text()
        assert (await client.exec(server, "echo", "httpd"))[1] == "httpd\n"
        assert (await client.exec(other, "wget", "-qO-", "http://127.0.0.1:80/"))[0] == 0

    with_client(story)


# -- the table --------------------------------------------------------------------------------------------------------


@value_object
class Spec:
    """`proof` is the file and the name of a test, or what our simulated containers do not have."""

    group: str
    title: str
    proof: str


def rows(group: str, *entries: tuple[str, str]) -> list[Spec]:
    return [Spec(group, title, proof) for title, proof in entries]


MOUNTS = "mounts that the kernel propagates between this machine and a container"
SELINUX, APPARMOR = "a kernel with SELinux", "a kernel with AppArmor, and its profiles"
SPECS = [
    *rows(
        "Runtime info",
        ("version", "test_info::test_the_version_is_one_that_kubelets_accept"),
        ("conditions", "test_info::test_runtime_and_network_are_ready"),
    ),
    *rows(
        "PodSandbox",
        ("run", "test_critest::test_a_sandbox_is_ready_stopped_and_gone"),
        ("stop", "test_critest::test_a_sandbox_is_ready_stopped_and_gone"),
        ("remove", "test_critest::test_a_sandbox_is_ready_stopped_and_gone"),
        ("attributes", "test_sandboxes::test_a_sandbox_keeps_its_attributes"),
        ("safe sysctls", "test_security::test_sysctls_dns_and_host_name_of_the_sandbox"),
        ("unsafe sysctls", "test_security::test_sysctls_dns_and_host_name_of_the_sandbox"),
    ),
    *rows(
        "Container",
        ("create", "test_containers::test_a_container_keeps_its_attributes"),
        ("attributes", "test_containers::test_a_container_keeps_its_attributes"),
        ("start", "test_containers::test_a_life_from_created_to_exited"),
        ("stop", "test_containers::test_a_container_stops_by_its_signal_or_by_force"),
        ("remove, created", "test_critest::test_a_container_is_removed_in_every_state"),
        ("remove, running", "test_critest::test_a_container_is_removed_in_every_state"),
        ("remove, stopped", "test_critest::test_a_container_is_removed_in_every_state"),
        ("command", "test_containers::test_commands_report_output_and_exit_code"),
        ("command with a timeout", "test_critest::test_no_process_is_left_of_a_command_that_took_too_long"),
        ("stats", "test_critest::test_stats_are_listed_by_id_by_label_and_all"),
        ("stats of started containers", "test_critest::test_stats_are_listed_by_id_by_label_and_all"),
        ("stats without a filter", "test_critest::test_stats_are_listed_by_id_by_label_and_all"),
        ("stats of three containers", "test_critest::test_stats_are_listed_by_id_by_label_and_all"),
        ("stats by labels", "test_critest::test_stats_are_listed_by_id_by_label_and_all"),
        ("volume", "test_critest::test_a_volume_behind_a_link_is_mounted"),
        ("volume behind a link", "test_critest::test_a_volume_behind_a_link_is_mounted"),
        ("log", "test_logs::test_output_is_written_with_time_and_stream"),
        ("reopened log", "test_logs::test_a_log_is_reopened_after_its_file_was_renamed"),
        ("private mounts", MOUNTS),
        ("shared mounts", MOUNTS),
        ("slave mounts", MOUNTS),
        ("out of memory", "test_security::test_a_container_that_takes_more_memory_than_it_may_is_killed"),
        ("read-only mounts", "test_logs::test_mounts_that_contradict_themselves_are_refused"),
        ("recursive read-only mounts", "test_logs::test_mounts_that_contradict_themselves_are_refused"),
        ("recursive read-only, slave", "test_logs::test_mounts_that_contradict_themselves_are_refused"),
        ("recursive read-only, shared", "test_logs::test_mounts_that_contradict_themselves_are_refused"),
        ("recursive read-only, writable", "test_logs::test_mounts_that_contradict_themselves_are_refused"),
    ),
    *rows(
        "Idempotence",
        ("stop a sandbox", "test_sandboxes::test_stopping_and_removing_are_idempotent"),
        ("remove a sandbox", "test_sandboxes::test_stopping_and_removing_are_idempotent"),
        ("stop a container", "test_containers::test_stopping_and_removing_are_idempotent"),
        ("remove a container", "test_containers::test_stopping_and_removing_are_idempotent"),
        ("remove an image", "test_images::test_removing_an_image_that_does_not_exist_succeeds"),
    ),
    *rows(
        "Image",
        ("tag", "test_images::test_a_pulled_image_has_the_references_of_its_name"),
        ("timeout", "test_critest::test_a_pull_without_enough_time_exceeds_its_deadline"),
        ("no tag", "test_images::test_a_pulled_image_has_the_references_of_its_name"),
        ("digest", "test_images::test_a_pulled_image_has_the_references_of_its_name"),
        ("all references", "test_critest::test_an_image_is_found_by_its_id_tags_and_digests"),
        ("users", "test_images::test_an_image_tells_its_user"),
        ("three images", "test_images::test_different_names_are_different_images"),
        ("three tags", "test_images::test_references_to_the_same_image_are_one_image"),
        ("remove by one tag", "test_images::test_references_to_the_same_image_are_one_image"),
        ("remove from two registries", "test_images::test_references_to_the_same_image_are_one_image"),
        ("gone after its removal", "test_critest::test_an_image_is_seen_once_it_is_pulled_and_until_it_is_removed"),
        ("there after its pull", "test_critest::test_an_image_is_seen_once_it_is_pulled_and_until_it_is_removed"),
        ("removed twice at once", "test_critest::test_an_image_is_seen_once_it_is_pulled_and_until_it_is_removed"),
        ("one id in all answers", "test_containers::test_the_image_of_a_container_is_the_same_in_all_answers"),
        ("one id for two registries", "test_images::test_references_to_the_same_image_are_one_image"),
        ("image volume", "test_logs::test_an_image_volume_names_its_image_in_the_status"),
        ("image volume is read-only", "test_permissions::test_an_image_volume_is_read_only"),
    ),
    *rows(
        "Multiple containers",
        ("network", "test_critest::test_containers_of_a_pod_have_their_own_logs_and_commands"),
        ("log", "test_critest::test_containers_of_a_pod_have_their_own_logs_and_commands"),
        ("command", "test_critest::test_containers_of_a_pod_have_their_own_logs_and_commands"),
    ),
    *rows(
        "Networking",
        ("DNS", "test_security::test_sysctls_dns_and_host_name_of_the_sandbox"),
        ("host name", "test_security::test_sysctls_dns_and_host_name_of_the_sandbox"),
        ("container port", "test_streams::test_the_ports_of_a_pod_are_open_at_its_address"),
        ("host port", "test_streams::test_a_host_port_leads_to_the_port_of_the_pod"),
    ),
    *rows(
        "Streaming",
        ("exec", "test_streams::test_exec_keeps_output_error_and_exit_code_apart"),
        ("exec with a terminal", "test_streams::test_exec_with_a_terminal_and_input"),
        ("attach", "test_streams::test_attach_answers_each_line_before_the_input_ends"),
        ("port forwarding", "test_streams::test_port_forward_reaches_the_program_that_listens"),
        ("port forwarding to the host", "test_streams::test_port_forward_on_the_network_of_the_host"),
    ),
    *rows(
        "Security context",
        ("HostPID", "test_permissions::test_containers_in_the_process_namespace_of_the_node_see_each_other"),
        ("HostIPC", "test_permissions::test_the_namespaces_of_the_node_show_its_ports_and_shared_memory"),
        ("no HostIPC", "test_permissions::test_the_namespaces_of_the_node_show_its_ports_and_shared_memory"),
        ("PodPID", "test_security::test_the_first_process_depends_on_the_process_namespace"),
        ("ContainerPID", "test_security::test_the_first_process_depends_on_the_process_namespace"),
        ("HostNetwork", "test_permissions::test_the_namespaces_of_the_node_show_its_ports_and_shared_memory"),
        ("no HostNetwork", "test_permissions::test_the_namespaces_of_the_node_show_its_ports_and_shared_memory"),
        ("supplemental groups", "test_security::test_a_container_runs_as_its_user"),
        ("user", "test_security::test_a_container_runs_as_its_user"),
        ("user name", "test_security::test_a_container_runs_as_its_user"),
        ("group", "test_security::test_a_container_runs_as_its_user"),
        ("group without user", "test_security::test_a_security_context_that_is_refused"),
        ("writable root", "test_security::test_the_root_may_be_read_only"),
        ("read-only root", "test_security::test_the_root_may_be_read_only"),
        ("privileged", "test_permissions::test_a_program_needs_its_capability"),
        ("not privileged", "test_permissions::test_a_program_needs_its_capability"),
        ("added capability", "test_permissions::test_a_program_needs_its_capability"),
        ("dropped capability", "test_permissions::test_a_program_needs_its_capability"),
        ("all capabilities", "test_security::test_proc_shows_the_limits_of_a_container"),
        ("no capabilities", "test_security::test_proc_shows_the_limits_of_a_container"),
        ("masked paths", "test_permissions::test_a_program_needs_its_capability"),
        ("read-only paths", "test_security::test_paths_can_be_read_only_or_masked"),
        ("groups of the image", "test_security::test_the_groups_of_the_image_are_added_or_not"),
        ("strict groups", "test_security::test_the_groups_of_the_image_are_added_or_not"),
        ("unconfined seccomp", "test_security::test_proc_shows_the_limits_of_a_container"),
        ("seccomp of a file", "test_permissions::test_a_seccomp_profile_of_this_machine_blocks_system_calls"),
        ("default seccomp", "test_security::test_proc_shows_the_limits_of_a_container"),
        ("no seccomp", "test_security::test_proc_shows_the_limits_of_a_container"),
        ("new host name", "test_permissions::test_a_program_needs_its_capability"),
        ("blocked host name", "test_permissions::test_a_seccomp_profile_of_this_machine_blocks_system_calls"),
        ("privileged host name", "test_permissions::test_a_seccomp_profile_of_this_machine_blocks_system_calls"),
        ("no new privileges", "test_permissions::test_a_set_user_id_program_gains_privileges_or_not"),
        ("new privileges", "test_permissions::test_a_set_user_id_program_gains_privileges_or_not"),
        ("user namespace", "test_security::test_the_users_of_a_user_namespace_are_mapped"),
        ("users of the host", "test_security::test_a_container_has_the_users_of_the_host"),
        ("two mappings", "test_sandboxes::test_wrong_user_namespaces_are_refused"),
        ("root not mapped", "test_sandboxes::test_wrong_user_namespaces_are_refused"),
        ("user namespace of a container", "test_sandboxes::test_wrong_user_namespaces_are_refused"),
        ("user namespace of a target", "test_sandboxes::test_wrong_user_namespaces_are_refused"),
    ),
    *rows("SELinux", ("all", SELINUX)),
    *rows("AppArmor", ("all", APPARMOR)),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.group}: {spec.title}")
def test_every_specification_has_its_test_or_needs_a_kernel(spec: Spec) -> None:
    file, separator, name = spec.proof.partition("::")
    if not separator:
        assert spec.proof in (MOUNTS, SELINUX, APPARMOR)
        return
    here = Path(__file__)
    (path,) = [*here.parent.glob(f"{file}.py"), *(here.parents[3] / "up" / "cri").glob(f"{file}.py")]
    assert f"\ndef {name}(" in path.read_text()


def test_the_images_of_the_specifications_can_be_pulled() -> None:
    async def story(client: CriClient) -> None:
        names = ["nginx:1.14-2", "httpd:2.4.39-4", "nonewprivs:1.3", "busybox:1.29-2"]
        for name in (*(f"registry.k8s.io/e2e-test-images/{name}" for name in names), f"{IMAGES}test-image-latest"):
            assert (await client.pull(name)).startswith("sha256:")
        assert BUSYBOX.endswith(names[-1])

    with_client(story)
