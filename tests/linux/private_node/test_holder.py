"""A private node: the requests to it, and that nothing of it remains."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.cni.exec.context import with_timeout
from kubesim.cni.exec.process import RealExec
from kubesim.errors import PluginError
from kubesim.linux import process_tree
from kubesim.linux.private_node import holder_messages as messages
from kubesim.linux.private_node.holder_client import NodeGone, PrivateNode, Underlay
from tests.support.machine.unprivileged import ROOT, unprivileged

NETNS = "/var/run/netns/one"


@pytest.fixture
def underlay() -> Iterator[Underlay]:
    underlay = Underlay()
    yield underlay
    underlay.close()


@pytest.fixture
def node(underlay: Underlay) -> Iterator[PrivateNode]:
    node = underlay.new_node()
    yield node
    node.close()


def links(node: PrivateNode, netns: str = "") -> list[str]:
    return [link["name"] for link in node.network(netns)["links"]]


def script(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def output(node: PrivateNode, program: str) -> str:
    environ = {"PATH": os.environ["PATH"]}
    return asyncio.run(RealExec(spawn=node.spawn).exec_plugin(program, b"given", environ)).decode()


def test_namespaces_are_created_bound_and_removed(node: PrivateNode) -> None:
    node.new_netns(NETNS)
    assert not node.is_closed(NETNS)
    assert "lo" in links(node, NETNS)
    assert "eth0" not in links(node, NETNS)
    with pytest.raises(FileExistsError):
        node.new_netns(NETNS)
    node.remove_netns(NETNS)
    assert node.is_closed(NETNS)
    node.remove_netns(NETNS)
    assert not os.path.exists(NETNS)  # here, that is
    with pytest.raises(FileNotFoundError):
        node.network(NETNS)


def test_a_program_runs_in_the_node(node: PrivateNode, tmp_path: Path) -> None:
    said = output(node, script(tmp_path, "cat; echo; id -u; ls /run /var/lib/cni; ls /proc/sys/net/ipv4/conf"))
    assert said.split()[:6] == ["given", "0", "/run:", "kubesim", "netns", "/var/lib/cni:"]
    assert {"eth0", "lo"} <= set(said.split()[6:])


def test_everything_outside_the_node_is_read_only(node: PrivateNode, tmp_path: Path) -> None:
    writes = f"touch {tmp_path}/x /var/lib/cni/y && exit; echo refused; echo z > /proc/sys/kernel/hostname || echo too"
    assert output(node, script(tmp_path, f"({writes}) 2>&1")).splitlines()[0].endswith("Read-only file system")
    assert os.listdir(tmp_path) == ["program"]


def test_a_program_that_hangs_is_killed_with_all_its_children(node: PrivateNode, tmp_path: Path) -> None:
    async def run() -> str:
        with with_timeout(0.3) as ctx:
            try:
                await RealExec(spawn=node.spawn).exec_plugin(hanging, b"", {"PATH": os.environ["PATH"]}, ctx)
            except PluginError as error:
                return str(error)
        return ""

    hanging = script(tmp_path, "setsid sleep 4741 & sleep 4741")
    assert asyncio.run(run()) == "netplugin failed with no error message: signal: killed"
    lists = script(tmp_path, 'for each in /proc/[0-9]*/cmdline; do tr "\\0" " " < $each; done')
    assert "sleep" not in output(node, lists)


def test_an_ordinary_users_path_includes_the_directories_of_root(node: PrivateNode, tmp_path: Path) -> None:
    program = script(tmp_path, "echo $PATH")
    reported = asyncio.run(RealExec(spawn=node.spawn).exec_plugin(program, b"", {"PATH": "/bin:/sbin"})).decode()
    assert reported.strip() == "/bin:/sbin:/usr/local/sbin:/usr/sbin"


def test_the_end_of_the_holder_ends_all_its_programs(tmp_path: Path) -> None:
    """This includes children of a plugin, because the next command may revert what the plugin did."""
    for _ in range(10):
        underlay = Underlay("host")
        reported, tell = os.pipe()
        program = script(tmp_path, "(trap '' TERM; while :; do :; done) &\necho $! $$\nwait")
        with open(os.devnull) as nothing:
            child = underlay.host_node().spawn(program, {}, (nothing.fileno(), tell, tell))
        os.close(tell)
        with open(reported) as output:
            pids = [int(word) for word in output.readline().split()]
        underlay.close()
        child.close()
        assert len(pids) == 2
        assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def test_everything_ends_when_kubesim_exits_before_it_read_a_response(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The kernel reports a broken connection to the holder, not its end."""
    underlay = Underlay("host")
    node = underlay.host_node()
    reported, tell = os.pipe()
    program = script(tmp_path, "echo $$; sleep 4744")
    with open(os.devnull) as nothing:
        child = node.spawn(program, {}, (nothing.fileno(), tell, tell))
    os.close(tell)
    with open(reported) as output:
        pid = int(output.readline())
    messages.send(node._socket, {"do": "network", "path": ""})
    select.select([node._socket], [], [])
    underlay.close()
    child.close()
    assert not Path(f"/proc/{pid}").exists()
    assert capfd.readouterr().err == ""


def test_a_missing_program_is_reported(node: PrivateNode) -> None:
    with pytest.raises(PluginError, match="fork/exec /nowhere: no such file or directory"):
        output(node, "/nowhere")


def test_sockets_are_open_in_the_node_and_in_its_sandboxes(node: PrivateNode) -> None:
    async def reach() -> None:
        loop = asyncio.get_running_loop()
        for port in (80, 8080):  # root there may use low ports
            with node.socket(listen=("127.0.0.1", port)) as listening, node.socket() as client:
                await loop.sock_connect(client, ("127.0.0.1", port))
                (await loop.sock_accept(listening))[0].close()
        with pytest.raises(OSError, match="Cannot assign requested address"):
            node.socket(listen=("192.0.2.1", 80))
        node.new_netns(NETNS)
        refused = pytest.raises(ConnectionRefusedError)
        with node.socket(NETNS, listen=("0.0.0.0", 80)), node.socket() as outside, refused:
            await loop.sock_connect(outside, ("127.0.0.1", 80))

    asyncio.run(reach())


def test_two_nodes_reach_each_other(underlay: Underlay) -> None:
    one, two = underlay.new_node(), underlay.new_node()
    one.join(["10.0.0.1/16", "fd00::1/64"], [("10.88.1.0/24", "10.0.0.2")])
    two.join(["10.0.0.2/16", "fd00::2/64"], [("10.88.0.0/24", "10.0.0.1")])

    async def reach() -> None:
        loop = asyncio.get_running_loop()
        for ipv6, address in ((False, "10.0.0.2"), (True, "fd00::2")):
            with two.socket(ipv6=ipv6, listen=(address, 80)) as listening, one.socket(ipv6=ipv6) as client:
                await loop.sock_connect(client, (address, 80))
                (await loop.sock_accept(listening))[0].close()

    asyncio.run(reach())
    assert {"destination": "10.88.1.0/24", "gateway": "10.0.0.2"}.items() <= {
        key: value for route in one.network()["routes"] if route["gateway"] for key, value in route.items()
    }.items()
    one.close()
    two.close()


def test_the_state_directory_can_be_used_from_outside(node: PrivateNode, tmp_path: Path) -> None:
    Path(node.state_directory(), "note").write_text("kept")
    assert output(node, script(tmp_path, "cat /run/kubesim/note")) == "kept"
    assert not os.path.exists("/run/kubesim/note")


def test_a_node_ends_with_its_underlay(underlay: Underlay) -> None:
    node = underlay.new_node()
    underlay.close()
    with pytest.raises(NodeGone):
        looked_at_for_long(node)
    node.close()


def looked_at_for_long(node: PrivateNode) -> None:
    for _ in range(1000):  # it may have time for one or two responses
        node.network()


STAYS = """
import os, subprocess, sys
from kubesim.linux.private_node.holder_client import Underlay
underlay = Underlay()
node = underlay.new_node()
null = os.open(os.devnull, os.O_RDWR)
hangs = node.spawn("/bin/sh", {"PATH": os.environ["PATH"]}, (os.open(sys.argv[1], os.O_RDONLY), null, null))
print(os.geteuid(), hangs.pid, underlay._process.pid, flush=True)
sys.stdin.read()
os.wait()
"""


def dies_with(process: subprocess.Popen[str]) -> None:
    """Kill it; the processes that it reported must end as well."""
    assert process.stdout is not None
    uid, *pids = map(int, process.stdout.readline().split())
    assert uid == (65534 if process.args[1] == "-S" and os.geteuid() == 0 else os.geteuid())  # type: ignore[index]
    running = [os.pidfd_open(pid) for pid in pids]
    assert len(running) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    for pidfd in running:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        assert poll.poll(10_000), "it outlived kubesim"
        os.close(pidfd)


def test_everything_ends_when_kubesim_is_killed(tmp_path: Path) -> None:
    hangs = script(tmp_path, "trap '' TERM HUP\nsetsid sleep 4742 &\nsleep 4742")
    command = [sys.executable, "-c", STAYS, hangs]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        dies_with(process)


def test_everything_ends_for_an_unprivileged_user() -> None:
    with unprivileged() as user:
        (user.folder / "stays.py").write_text(STAYS)
        (user.folder / "hangs").write_text("sleep 4743")
        with user.start("stays.py", "hangs") as process:
            dies_with(process)


def test_only_a_program_holds_its_output_once_it_runs(node: PrivateNode) -> None:
    """A process that holds the output of a killed plugin is killed with it; that must never be the holder."""
    for _ in range(50):
        out, end = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        child = node.spawn("/bin/true", {}, (nothing, end, end))
        os.close(end)
        holders = set(process_tree._holders({os.readlink(f"/proc/self/fd/{out}")}))
        assert holders <= {child.pid}
        child.close()
        os.close(out)
        os.close(nothing)
