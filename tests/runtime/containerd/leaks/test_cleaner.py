"""Cleaning up while other pods start: their sandboxes are kept, and failed removals are retried."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubesim.cni.cache import RuntimeConf
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.libcni import CNIConfig
from kubesim.cni.pod_config import PodNetworkConfig
from kubesim.cni.spec.results import Result
from kubesim.runtime.containerd.home import Home
from kubesim.runtime.containerd.leaks.cleaner import Cleaner
from kubesim.runtime.containerd.leaks.ledger import Attachment, Ledger, NetworkEntry
from kubesim.runtime.containerd.sandbox import PodSandbox, SandboxRequest
from kubesim.runtime.containerd.sandbox_parts import sandbox_json, write_through

SOURCE = json.dumps({"cniVersion": "1.0.0", "name": "net", "plugins": [{"type": "one"}, {"type": "two"}]})


class Plugins:
    """Records requests; `during` runs in each, and those in `failing` fail."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failing: set[str] = set()
        self.during: Callable[[], object] = lambda: None

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return plugin

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        container_id, netns = environ["CNI_CONTAINERID"], environ["CNI_NETNS"]
        self.asked.append(f"{environ['CNI_COMMAND']} {path} {container_id} {netns}".strip())
        self.during()
        if path in self.failing:
            raise plugin_failure("exit status 1", b"", b"busy")
        return b""


class Files:
    """A node whose namespaces are plain files."""

    def files(self, directory: str) -> list[str]:
        return sorted(map(str, Path(directory).iterdir()))

    def is_closed(self, path: str) -> bool:
        return not Path(path).exists()

    def remove_netns(self, path: str) -> None:
        Path(path).unlink(missing_ok=True)


class Node:
    def __init__(self, folder: Path) -> None:
        self.home = Home(str(folder), netns_dir=str(folder / "netns"))
        (folder / "netns").mkdir()
        self.plugins, self.living = Plugins(), list[PodSandbox]()
        self.libcni = CNIConfig(["/bin"], self.plugins, self.home.cache)
        node: Any = Files()
        self.cleaner = Cleaner(node, self.home, self.libcni, lambda: self.living)
        self.ledger = Ledger(self.home.attachments)

    def attach(self, name: str) -> PodSandbox:
        """All files of a sandbox with a network."""
        pod = PodNetworkConfig(name, "default", name)
        netns = f"{self.home.netns_dir}/{name}"
        sandbox = PodSandbox(SandboxRequest(name, name, "default", name, 0, pod), name, netns_path=netns)
        write_through(f"{self.home.sandboxes}/{name}.json", sandbox_json(sandbox))
        Path(netns).touch()
        self.ledger.note(Attachment(name, f"default/{name}", netns, [NetworkEntry("net", "eth0", SOURCE)]))
        self.libcni.cache.add(Result(), SOURCE.encode(), "net", RuntimeConf(name, netns, "eth0"))
        return sandbox

    def on_disk(self) -> set[str]:
        files = (path for path in Path(self.home.directory).rglob("*") if path.is_file())
        return {str(path.relative_to(self.home.directory)) for path in files}


def of(name: str) -> set[str]:
    return {f"attachments/{name}.json", f"sandboxes/{name}.json", f"netns/{name}", f"cni/results/net-{name}-eth0"}


def test_an_unknown_sandbox_is_released_by_all_its_plugins(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.attach("lost")
    netns = f"{tmp_path}/netns/lost"
    assert asyncio.run(node.cleaner.clean()) == []
    assert node.plugins.asked == [f"DEL two lost {netns}", f"DEL one lost {netns}"]
    assert node.on_disk() == set()


def test_a_sandbox_that_starts_during_the_clean_up_is_unchanged(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.attach("lost")

    def come_up() -> None:
        if not node.living:
            node.living.append(node.attach("new"))

    node.plugins.during = come_up
    assert asyncio.run(node.cleaner.clean()) == []
    assert node.on_disk() == of("new")
    assert not any(" new " in call for call in node.plugins.asked)


def test_a_failed_del_keeps_everything_for_the_next_time_and_does_not_stop_others(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.attach("lost")
    node.plugins.failing = {"two"}
    left = asyncio.run(node.cleaner.clean())
    assert [(leak.kind, leak.name, leak.pod) for leak in left] == [("sandbox", "lost", "default/lost")]
    assert left[0].problem == 'plugin type="two" failed (delete): netplugin failed: "busy"'
    assert [call.split()[:2] for call in node.plugins.asked] == [["DEL", "two"], ["DEL", "one"]]
    assert node.on_disk() == of("lost")
    node.plugins.failing = set()
    assert asyncio.run(node.cleaner.clean()) == []
    assert node.on_disk() == set()


def test_an_attachment_known_only_to_the_cache_is_released(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.attach("lost")
    (tmp_path / "attachments" / "lost.json").unlink()
    assert asyncio.run(node.cleaner.clean()) == []
    assert len(node.plugins.asked) == 2
    assert node.on_disk() == set()


def test_a_missing_namespace_is_passed_as_empty(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.attach("lost")
    (tmp_path / "netns" / "lost").unlink()
    assert asyncio.run(node.cleaner.clean()) == []
    assert node.plugins.asked == ["DEL two lost", "DEL one lost"]
