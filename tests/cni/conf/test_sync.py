"""The configuration directory is watched by containerd's rules."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from asyncinotify import Mask

from kubesim.cni.conf.sync import NetConfSyncer, reaction
from kubesim.cni.exec.process import RealExec
from kubesim.cni.gocni import CNI, NetworkDirectories, with_default_conf, with_lo_network
from kubesim.errors import CniError


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (Mask.CREATE, "ignore"),
        (Mask.MOVED_TO, "ignore"),
        (Mask.ATTRIB, "ignore"),
        (Mask.IGNORED, "ignore"),
        (Mask.Q_OVERFLOW, "ignore"),
        (Mask.MODIFY, "reload"),
        (Mask.DELETE, "reload"),
        (Mask.DELETE | Mask.ISDIR, "reload"),
        (Mask.MOVED_FROM, "reload"),
        (Mask.DELETE_SELF, "stop"),
        (Mask.MOVE_SELF, "stop"),
    ],
)
def test_the_reaction_to_an_event(mask: Mask, expected: str) -> None:
    assert reaction(mask) == expected


def test_the_loop_follows_the_directory_until_it_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "cni" / "net.d"

    async def main() -> list[list[str]]:
        cni = CNI(NetworkDirectories(conf_dir=str(folder), min_networks=2), RealExec())
        syncer = NetConfSyncer(cni, with_lo_network, with_default_conf)
        seen = [[network.config.name for network in cni.networks]]
        loop = asyncio.create_task(syncer.sync_loop())
        handle = syncer.handle
        handled = asyncio.Event()

        async def handle_and_tell(mask: Mask) -> bool:
            try:
                return await handle(mask)
            finally:
                handled.set()

        syncer.handle = handle_and_tell  # type: ignore[method-assign]
        path = folder / "10-a.conflist"
        for change in (lambda: path.write_text(json.dumps({"name": "a", "plugins": [{"type": "x"}]})), path.unlink):
            handled.clear()
            change()
            while len(cni.networks) == len(seen[-1]):
                await handled.wait()
                handled.clear()
            seen.append([network.config.name for network in cni.networks])
        folder.rmdir()
        with pytest.raises(CniError, match="cni conf dir is removed, stop watching"):
            await loop
        syncer.close()
        return seen

    assert asyncio.run(main()) == [["cni-loopback"], ["cni-loopback", "a"], ["cni-loopback"]]
