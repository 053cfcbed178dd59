"""What programs of a container may do, and what they see of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.methods import CriError
from tests.support.cri_node import CriClient, container_message, sandbox_message, with_client

CriProfile = cri.SecurityProfile
ADMIN = cri.Capability(add_capabilities=["NET_ADMIN"])
SYSTEM = cri.Capability(add_capabilities=["SYS_ADMIN"])
NO_RAW = cri.Capability(drop_capabilities=["NET_RAW"])
RENAME, BRIDGE, PING = ("hostname", "New"), ("brctl", "addbr", "foobar"), ("ping", "-c", "1", "127.0.0.1")
PINGED = "PING 127.0.0.1 (127.0.0.1): 56 data bytes\n"


def of_pod(**fields: Any) -> Any:
    context = cri.LinuxSandboxSecurityContext(**fields)
    return sandbox_message(linux=cri.LinuxPodSandboxConfig(security_context=context))


def of_container(**fields: Any) -> cri.LinuxContainerConfig:
    return cri.LinuxContainerConfig(security_context=cri.LinuxContainerSecurityContext(**fields))


async def outcome(client: CriClient, command: tuple[str, ...], **fields: Any) -> tuple[int, str, str]:
    config = of_pod(privileged=fields.get("privileged", False))
    sandbox = await client.sandbox(config)
    identifier = await client.run(sandbox, "top", config=config, linux=of_container(**fields))
    return await client.exec(identifier, *command)


@pytest.mark.parametrize(
    ("fields", "command", "problem"),
    [
        ({}, BRIDGE, "brctl: bridge foobar: Operation not permitted\n"),
        ({"capabilities": ADMIN}, BRIDGE, ""),
        ({"privileged": True}, BRIDGE, ""),
        ({}, RENAME, "hostname: sethostname: Operation not permitted\n"),
        ({"capabilities": SYSTEM}, RENAME, ""),
        ({"capabilities": NO_RAW}, PING, "ping: permission denied (are you root?)\n"),
        ({}, PING, ""),
        ({"masked_paths": ["/bin/ls"]}, ("/bin/sh", "-c", "ls"), "/bin/sh: ls: Permission denied\n"),
        ({"masked_paths": ["/bin/ls"], "privileged": True}, ("/bin/sh", "-c", "ls /nothing || true"), None),
    ],
)
def test_a_program_needs_its_capability(fields: dict[str, Any], command: tuple[str, ...], problem: str | None) -> None:
    async def story(client: CriClient) -> None:
        code, out, error = await outcome(client, command, **fields)
        if problem is None:
            assert "Permission denied" not in error
            return
        assert (error, code > 0) == (problem, problem != "")
        assert out.startswith(PINGED if command is PING else "")

    with_client(story)


def test_a_new_host_name_is_that_of_the_pod() -> None:
    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        identifier = await client.run(sandbox, "top", linux=of_container(capabilities=SYSTEM))
        other = await client.run(sandbox, "top", name="other")
        await client.exec(identifier, *RENAME)
        assert await client.exec(other, "hostname") == (0, "New\n", "")

    with_client(story)


def profile(directory: Path, default: str = "SCMP_ACT_ALLOW", **actions: str) -> str:
    path = directory / "profile.json"
    rules = [{"names": [name], "action": action} for name, action in actions.items()]
    path.write_text(json.dumps({"defaultAction": default, "syscalls": rules}))
    return str(path)


BLOCKED, ALLOWED = "SCMP_ACT_ERRNO", "SCMP_ACT_ALLOW"
CHMOD = ("chmod", "400", "/")


@pytest.mark.parametrize(
    ("default", "actions", "command", "problem"),
    [
        (ALLOWED, {"chmod": BLOCKED}, CHMOD, "chmod: /: Operation not permitted\n"),
        (BLOCKED, {}, CHMOD, "chmod: /: Operation not permitted\n"),
        (BLOCKED, {"chmod": ALLOWED, "fchmodat": ALLOWED}, CHMOD, ""),
        (ALLOWED, {"sethostname": BLOCKED}, RENAME, "hostname: sethostname: Operation not permitted\n"),
        (ALLOWED, {"sethostname": BLOCKED}, CHMOD, ""),
    ],
)
def test_a_seccomp_profile_of_this_machine_blocks_system_calls(
    tmp_path: Path, default: str, actions: dict[str, str], command: tuple[str, ...], problem: str
) -> None:
    given = CriProfile(profile_type="Localhost", localhost_ref=profile(tmp_path, default, **actions))

    async def story(client: CriClient) -> None:
        for fields in ({"seccomp": given}, {"seccomp_profile_path": f"localhost/{given.localhost_ref}"}):
            code, _, error = await outcome(client, command, capabilities=SYSTEM, **fields)
            assert (error, code > 0) == (problem, problem != "")
            sandboxes = (await client.call("ListPodSandbox")).items
            await client.call("RemovePodSandbox", pod_sandbox_id=sandboxes[0].id)
        assert (await outcome(client, command, privileged=True, seccomp=given))[0] == 0

    with_client(story)


def test_a_seccomp_profile_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    broken, folder = tmp_path / "broken.json", tmp_path / "folder"
    broken.write_text('{"syscalls": 7}')
    folder.mkdir()

    async def story(client: CriClient) -> None:
        sandbox = await client.sandbox()
        for path, problem in ((broken, "decoding seccomp profile failed"), (folder, "not a regular file")):
            given = CriProfile(profile_type="Localhost", localhost_ref=str(path))
            with pytest.raises(CriError) as failed:
                await client.create(sandbox, container_message("top", linux=of_container(seccomp=given)))
            assert problem in failed.value.text
            assert not (await client.call("ListContainers")).containers

    with_client(story)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"seccomp_profile_path": "nonsense"}, 'failed to generate seccomp spec opts: invalid profile "nonsense"'),
        ({"apparmor_profile": "nonsense"}, 'failed to generate apparmor spec opts: invalid profile "nonsense"'),
        ({"apparmor_profile": "localhost/missing"}, "apparmor profile not found missing"),
        ({"seccomp": CriProfile(localhost_ref="/x")}, "LocalhostRef must only be set if ProfileType is Localhost"),
        ({"selinux_options": cri.SELinuxOption(level="wrong")}, "the format of 'level' \"wrong\" is not correct"),
    ],
)
def test_profiles_that_are_refused(fields: dict[str, Any], problem: str) -> None:
    async def story(client: CriClient) -> None:
        with pytest.raises(CriError) as failed:
            await client.create(await client.sandbox(), container_message("top", linux=of_container(**fields)))
        assert problem in failed.value.text

    with_client(story)


@pytest.mark.parametrize(("forbidden", "uid"), [(True, 1000), (False, 0)])
def test_a_set_user_id_program_gains_privileges_or_not(forbidden: bool, uid: int) -> None:
    async def story(client: CriClient) -> None:
        context = of_container(no_new_privs=forbidden, run_as_user=cri.Int64Value(value=1000))
        image = "registry.k8s.io/e2e-test-images/nonewprivs:1.3"
        sandbox = await client.sandbox()
        identifier = await client.run(sandbox, image=image, linux=context)
        other = await client.run(sandbox, "top", name="other", linux=context)
        assert await client.exec(other, "/nnp") == (0, f"Effective uid: {uid}\n", "")
        await client.clock.sleep(1)
        assert (await client.status(identifier)).state == cri.CONTAINER_EXITED

    with_client(story)


# -- the machine ------------------------------------------------------------------------------------------------------

TABLES = {
    "/proc/net/tcp": "sl local_address rem_address st\n 0: 0100007F:1F90 00000000:0000 0A\n 1: 0100007F:1F91 0 01\n",
    "/proc/sysvipc/shm": "key shmid perms size cpid lpid nattch uid\n 0 4242 666 1048576 1 1 0 0\n",
}


@pytest.mark.parametrize(("mode", "seen"), [("NODE", True), ("POD", False)])
def test_the_namespaces_of_the_node_show_its_ports_and_shared_memory(
    monkeypatch: pytest.MonkeyPatch, mode: str, seen: bool
) -> None:
    module = "kubesim.runtime.cri.server.containers.served_programs"
    monkeypatch.setattr(f"{module}.read_kernel_file", lambda path: TABLES.get(path, ""))

    async def story(client: CriClient) -> None:
        options = cri.NamespaceOption(network=mode, ipc=mode)
        config = of_pod(namespace_options=options)
        context = of_container(namespace_options=options)
        identifier = await client.run(await client.sandbox(config), "top", config=config, linux=context)
        ports, memory = await client.exec(identifier, "netstat", "-ln"), await client.exec(identifier, "ipcs", "-m")
        assert (ports[0], memory[0]) == (0, 0)
        assert ("127.0.0.1:8080 " in ports[1], " 4242 " in memory[1]) == (seen, seen)
        assert ":8081 " not in ports[1]

    with_client(story)


def test_containers_in_the_process_namespace_of_the_node_see_each_other() -> None:
    async def story(client: CriClient) -> None:
        options = cri.NamespaceOption(pid="NODE")
        config, context = of_pod(namespace_options=options), of_container(namespace_options=options)
        sandbox = await client.sandbox(config)
        server = await client.run(sandbox, image="nginx:1.27", config=config, linux=context)
        other = await client.run(sandbox, "top", config=config, name="other", linux=context)
        _, number, _ = await client.exec(server, "cat", "/var/run/nginx.pid")
        assert number.strip().isdigit()
        assert number.strip() in (await client.exec(other, "pidof", "nginx", "||", "true"))[1].split()

    with_client(story)


def test_a_server_listens_where_its_configuration_says() -> None:
    async def story(client: CriClient) -> None:
        identifier = await client.run(await client.sandbox(), image="gcr.io/k8s-staging-cri-tools/hostnet-nginx-amd64")
        assert (await client.exec(identifier, "wget", "-qO-", "http://127.0.0.1:12003/"))[0] == 0
        assert (await client.exec(identifier, "wget", "-qO-", "http://127.0.0.1:80/"))[0] == 1

    with_client(story)


def test_an_image_volume_is_read_only() -> None:
    async def story(client: CriClient) -> None:
        image = await client.pull()
        message = container_message("top")
        message.mounts.add(container_path="/volume", readonly=True, image=cri.ImageSpec(image=image))
        identifier = await client.create(await client.sandbox(), message)
        await client.call("StartContainer", container_id=identifier)
        assert (await client.exec(identifier, "touch", "/volume/x"))[2] == "touch: /volume/x: Read-only file system\n"

    with_client(story)
