"""Networks, loaded and attached as in go-cni."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubesim.clock import run_virtual
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.gocni import CNI, Namespace, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.cni.info import crictl_info, network_condition, status_problem
from kubesim.cni.libcni import GCAttachment
from kubesim.errors import CniError

POD = Namespace("id", "/netns")


class Gated:
    """An Exec whose plugins wait until the test lets them continue, and fail on request."""

    def __init__(self, *failing: str) -> None:
        self.begun: list[str] = []
        self.failing = failing
        self.gate = asyncio.Event()
        self.gate.set()

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return f"/bin/{plugin}"

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        call = f"{environ['CNI_COMMAND']} {json.loads(stdin)['type']} {environ['CNI_IFNAME']}"
        self.begun.append(call)
        await self.gate.wait()
        if call in self.failing:
            raise plugin_failure("exit status 1", b"", call.encode())
        return b'{"cniVersion": "1.0.0"}'


def conf(name: str, *types: str, version: str = "1.0.0") -> str:
    return json.dumps({"cniVersion": version, "name": name, "plugins": [{"type": type} for type in types]})


def loaded(folder: Path, exec: Gated, *, max_conf_num: int = 0) -> CNI:
    settings = NetworkDirectories(
        conf_dir=str(folder), max_conf_num=max_conf_num, min_networks=2, cache_dir=str(folder / "cache")
    )
    cni = CNI(settings, exec)
    cni.load_now(with_lo_network, with_default_conf)
    return cni


def test_all_networks_are_attached_concurrently_and_all_are_awaited(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "first", "second"))
    (tmp_path / "20-b.conflist").write_text(conf("b", "third"))

    async def main() -> list[str]:
        exec = Gated("ADD loopback lo")
        cni = loaded(tmp_path, exec)
        exec.gate.clear()
        setup = asyncio.create_task(cni.setup(POD))
        for _ in range(5):
            await asyncio.sleep(0)
        assert sorted(exec.begun) == ["ADD first eth0", "ADD loopback lo", "ADD third eth1"]
        exec.gate.set()
        with pytest.raises(CniError, match="loopback"):
            await setup
        return exec.begun

    assert "ADD second eth0" in run_virtual(main)


def test_sequential_attachment_stops_at_the_first_error(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "first"))

    async def main() -> list[str]:
        exec = Gated("ADD loopback lo")
        with pytest.raises(CniError, match="loopback"):
            await loaded(tmp_path, exec).setup_serially(POD)
        return exec.begun

    assert asyncio.run(main()) == ["ADD loopback lo"]


def test_removal_is_in_reverse_order_within_a_network_and_stops_at_an_error(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "first", "second"))
    (tmp_path / "20-b.conflist").write_text(conf("b", "third"))

    async def main(*failing: str) -> list[str]:
        exec = Gated(*failing)
        cni = loaded(tmp_path, exec)
        try:
            await cni.remove(POD)
        except CniError:
            exec.begun.append("error")
        return exec.begun

    order = ["DEL loopback lo", "DEL second eth0", "DEL first eth0", "DEL third eth1"]
    assert asyncio.run(main()) == order
    assert asyncio.run(main("DEL second eth0")) == [*order[:2], "error"]


def test_a_reload_waits_for_calls_in_progress_and_blocks_new_ones(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "old"))

    async def main() -> list[str]:
        exec = Gated()
        cni = loaded(tmp_path, exec)
        exec.gate.clear()
        first = asyncio.create_task(cni.setup(POD))
        await asyncio.sleep(0)
        (tmp_path / "10-a.conflist").write_text(conf("a", "new"))
        reload = asyncio.create_task(cni.load(with_lo_network, with_default_conf))
        await asyncio.sleep(0)
        second = asyncio.create_task(cni.setup(POD))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not any("new" in call for call in exec.begun)
        exec.gate.set()
        await asyncio.gather(first, reload, second)
        return [call for call in exec.begun if "lo" not in call.split()]

    assert run_virtual(main) == ["ADD old eth0", "ADD new eth0"]


def test_a_failed_reload_leaves_only_loopback(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "first"))
    cni = loaded(tmp_path, Gated())
    (tmp_path / "10-a.conflist").write_text("{")
    with pytest.raises(CniError, match="unexpected end of JSON input: invalid cni config: failed to load cni config"):
        asyncio.run(cni.load(with_lo_network, with_default_conf))
    assert [network.config.name for network in cni.networks] == ["cni-loopback"]
    for call in (cni.setup, cni.remove, cni.check):
        with pytest.raises(CniError, match=r"^cni plugin not initialized$"):
            asyncio.run(call(POD))


def test_output_for_crictl_and_the_kubelet(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "first", version="1.1.0"))
    well = loaded(tmp_path, Gated())
    assert asyncio.run(status_problem(well)) is None
    reported: dict[str, Any] = crictl_info(well, None, "OK")
    assert [network["IFName"] for network in reported["cniconfig"]["Networks"]] == ["lo", "eth0"]
    assert reported["status"]["conditions"][1] == {"type": "NetworkReady", "status": True, "reason": "", "message": ""}

    ill = loaded(tmp_path, Gated("STATUS first "))
    problem = asyncio.run(status_problem(ill))
    assert str(network_condition(problem)) == (
        "NetworkReady=false reason:NetworkPluginNotReady "
        'message:Network plugin returns error: netplugin failed: "STATUS first "'
    )


def test_plugins_from_1_1_on_get_the_valid_attachments_while_nothing_is_attached(tmp_path: Path) -> None:
    (tmp_path / "10-a.conflist").write_text(conf("a", "old", version="1.0.0"))
    (tmp_path / "20-b.conflist").write_text(conf("b", "new", version="1.1.0"))

    async def main() -> list[str]:
        exec = Gated()
        cni = loaded(tmp_path, exec)
        exec.gate.clear()
        attaching = asyncio.create_task(cni.setup(POD))
        await asyncio.sleep(0)
        await cni.gc(valid)  # an attachment is in progress, so not now
        exec.gate.set()
        await attaching
        exec.begun.clear()
        await cni.gc(valid)
        return exec.begun

    def valid() -> list[GCAttachment]:
        return [GCAttachment("id", "eth1")]

    assert run_virtual(main) == ["GC new "]
