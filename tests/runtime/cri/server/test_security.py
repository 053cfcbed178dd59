"""What a container shows of its security context, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import CriClient, container_message, sandbox_message, with_client

PREDEFINED = "gcr.io/k8s-staging-cri-tools/test-image-predefined-group"


def linux(**fields: Any) -> cri.LinuxContainerConfig:
    return cri.LinuxContainerConfig(security_context=cri.LinuxContainerSecurityContext(**fields))


def number(value: int) -> cri.Int64Value:
    return cri.Int64Value(value=value)


@pytest.mark.parametrize(
    ("fields", "command", "expected"),
    [
        ({"run_as_user": number(1001)}, ("id", "-u"), "1001\n"),
        ({"run_as_username": "nobody"}, ("id", "-nu"), "nobody\n"),
        ({"run_as_user": number(1001), "run_as_group": number(1002)}, ("id", "-g"), "1002\n"),
        ({"supplemental_groups": [1234, 5678]}, ("id", "-G"), "0 1234 5678\n"),
        ({"run_as_username": "www-data"}, ("id", "-u"), "33\n"),
    ],
)
def test_a_container_runs_as_its_user(fields: dict[str, Any], command: tuple[str, ...], expected: str) -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top", linux=linux(**fields))
        assert await client.exec(identifier, *command) == (0, expected, "")

    with_client(story)


@pytest.mark.parametrize(("policy", "groups"), [("Merge", [1000, 1234, 50000]), ("Strict", [1000, 1234])])
def test_the_groups_of_the_image_are_added_or_not(policy: str, groups: list[int]) -> None:
    async def story(client: CriClient) -> None:
        fields = {"run_as_user": number(1000), "supplemental_groups": [1234], "supplemental_groups_policy": policy}
        identifier = await client.run(await client.sandbox(), "top", image=PREDEFINED, linux=linux(**fields))
        user = (await client.status(identifier)).user.linux
        assert (user.uid, user.gid, sorted(user.supplemental_groups)) == (1000, 1000, groups)
        assert (await client.exec(identifier, "id", "-G"))[1] == f"{' '.join(map(str, groups))}\n"

    with_client(story)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"run_as_group": number(1002)}, 'user group "1002" is specified without user'),
        ({"run_as_username": "stranger"}, "no users found"),
        ({"privileged": True}, "no privileged container allowed in sandbox"),
        (
            {"seccomp": cri.SecurityProfile(profile_type="Localhost", localhost_ref="/no/such.json")},
            "cannot load seccomp",
        ),
    ],
)
def test_a_security_context_that_is_refused(fields: dict[str, Any], problem: str) -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.create(await client.sandbox(), container_message("top", linux=linux(**fields)))
        assert problem in failed.value.text

    with_client(story)


def capability(**fields: Any) -> cri.Capability:
    return cri.Capability(**fields)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "CapBnd:\t00000000a80425fb"),
        ({"capabilities": capability(drop_capabilities=["ALL"])}, "CapBnd:\t0000000000000000"),
        ({"capabilities": capability(add_capabilities=["ALL"])}, "CapBnd:\t000001ffffffffff"),
        ({"capabilities": capability(add_capabilities=["NET_ADMIN"])}, "CapBnd:\t00000000a80435fb"),
        ({"capabilities": capability(drop_capabilities=["NET_RAW"])}, "CapBnd:\t00000000a80405fb"),
        ({}, "Seccomp:\t0"),
        ({"seccomp": cri.SecurityProfile()}, "Seccomp:\t2"),
        ({"seccomp": cri.SecurityProfile(profile_type="Unconfined")}, "Seccomp:\t0"),
        ({"no_new_privs": True}, "NoNewPrivs:\t1"),
    ],
)
def test_proc_shows_the_limits_of_a_container(fields: dict[str, Any], line: str) -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top", linux=linux(**fields))
        code, out, _ = await client.exec(identifier, "cat", "/proc/self/status")
        assert code == 0
        assert line in out.splitlines()

    with_client(story)


@pytest.mark.parametrize(
    ("readonly", "code", "stderr"), [(True, 1, "touch: test.go: Read-only file system\n"), (False, 0, "")]
)
def test_the_root_may_be_read_only(readonly: bool, code: int, stderr: str) -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top", linux=linux(readonly_rootfs=readonly))
        assert await client.exec(identifier, "touch", "test.go") == (code, "", stderr)

    with_client(story)


def test_paths_can_be_read_only_or_masked() -> None:
    async def story(client: CriClient) -> None:
        context = linux(readonly_paths=["/tmp"], masked_paths=["/etc/hostname", "/opt"])
        identifier = await client.run(await client.sandbox(), "top", linux=context)
        written = await client.exec(identifier, "touch", "/tmp/test")
        assert written == (1, "", "touch: /tmp/test: Read-only file system\n")
        assert await client.exec(identifier, "cat", "/etc/hostname") == (0, "", "")
        assert await client.exec(identifier, "ls", "/opt") == (0, "", "")

    with_client(story)


def test_the_users_of_a_user_namespace_are_mapped() -> None:
    async def story(client: CriClient) -> None:
        mapping = cri.IDMapping(container_id=0, host_id=1000, length=100_000)
        options = cri.NamespaceOption(userns_options=cri.UserNamespace(mode="POD", uids=[mapping], gids=[mapping]))
        context = cri.LinuxSandboxSecurityContext(namespace_options=options)
        config = sandbox_message(linux=cri.LinuxPodSandboxConfig(security_context=context))
        sandbox = await client.sandbox(config)
        identifier = await client.run(sandbox, "top", config=config, linux=linux(namespace_options=options))
        assert (await client.exec(identifier, "cat", "/proc/self/uid_map"))[1].split() == ["0", "1000", "100000"]

    with_client(story)


@pytest.mark.parametrize(("pid", "expected"), [("POD", "/pause"), ("CONTAINER", "nginx: master process nginx")])
def test_the_first_process_depends_on_the_process_namespace(pid: str, expected: str) -> None:
    async def story(client: CriClient) -> None:
        options = cri.NamespaceOption(pid=pid)
        identifier = await client.run(
            await client.sandbox(), image="nginx:1.27", linux=linux(namespace_options=options)
        )
        assert (await client.exec(identifier, "cat", "/proc/1/cmdline"))[1].startswith(expected)

    with_client(story)


def test_sysctls_dns_and_host_name_of_the_sandbox() -> None:
    async def story(client: CriClient) -> None:
        config = sandbox_message(
            hostname="test-hostname",
            dns_config=cri.DNSConfig(servers=["10.10.10.10"], searches=["google.com"], options=["ndots:8"]),
            linux=cri.LinuxPodSandboxConfig(sysctls={"kernel.shm_rmid_forced": "1", "fs.mqueue.msg_max": "100"}),
        )
        identifier = await client.run(await client.sandbox(config), "top", config=config)
        assert (await client.exec(identifier, "hostname"))[1] == "test-hostname\n"
        dns = "search google.com\nnameserver 10.10.10.10\noptions ndots:8\n"
        assert (await client.exec(identifier, "cat", "/etc/resolv.conf"))[1] == dns
        paths = ("/proc/sys/kernel/shm_rmid_forced", "/proc/sys/fs/mqueue/msg_max")
        assert (await client.exec(identifier, "cat", *paths))[1] == "1\n100\n"

    with_client(story)


def test_a_container_that_takes_more_memory_than_it_may_is_killed() -> None:
    async def story(client: CriClient) -> None:
        resources = cri.LinuxContainerResources(memory_limit_in_bytes=15 << 20)
        command = ("sh", "-c", "dd if=/dev/zero of=/dev/null bs=20M")
        config = cri.LinuxContainerConfig(resources=resources)
        identifier = await client.run(await client.sandbox(), *command, linux=config)
        await client.clock.sleep(SECOND)
        status = await client.status(identifier)
        assert (status.exit_code, status.reason) == (137, "OOMKilled")

    with_client(story)


def test_a_container_has_the_users_of_the_host() -> None:
    host = Path("/proc/self/uid_map").read_text()

    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), "top")
        assert (await client.exec(identifier, "cat", "/proc/self/uid_map"))[1] == host

    with_client(story)
