"""Summaries of `kubesim cni status` and `gc`, and the remaining time of `bench`."""

from __future__ import annotations

import json
from typing import Any

from kubesim.cli.cni.summaries import gc_summary, permission_hint, status_summary
from kubesim.cni.bench import time_left
from kubesim.cni.conf.network_lists import NetworkConfigList, network_conf_from_bytes


def network(version: str = "1.1.0", **more: Any) -> NetworkConfigList:
    plugins = [{"type": "bridge"}, {"type": "portmap"}]
    return network_conf_from_bytes(
        json.dumps({"cniVersion": version, "name": "n", "plugins": plugins, **more}).encode()
    )


def executed(command: str, plugin: str, container: str = "", *, delegated: bool = False) -> dict[str, Any]:
    environ = {"CNI_COMMAND": command, "CNI_CONTAINERID": container, "CNI_IFNAME": "eth0"}
    return {"plugin": plugin, "env": environ, "delegated": delegated}


ASKED = [executed("STATUS", "bridge"), executed("STATUS", "host-local", delegated=True), executed("STATUS", "portmap")]


def test_status_names_the_executed_plugins() -> None:
    assert status_summary(network(), ASKED) == "network n is ready: bridge, portmap would accept an ADD"


def test_status_of_an_old_network_executes_no_plugin() -> None:
    assert status_summary(network("0.4.0"), []) == (
        "network n: no plugin was asked: plugins know STATUS from version 1.1.0 on, and the network has 0.4.0"
    )


def test_gc_names_each_detached_attachment_once() -> None:
    deleted = [executed("DEL", "portmap", "a"), executed("DEL", "bridge", "a"), executed("DEL", "portmap", "b")]
    collected = [executed("GC", "bridge"), executed("GC", "portmap")]
    assert gc_summary(network(), [*deleted, *collected]) == "network n: DEL for a/eth0, b/eth0; GC by bridge, portmap"


def test_gc_disabled_by_the_configuration_does_nothing() -> None:
    assert gc_summary(network(disableGC=True), []) == "network n: nothing was done: the configuration has disableGC"


def test_only_permission_errors_of_a_user_get_a_hint() -> None:
    refused = "failed to create bridge: operation not permitted"
    assert "unshare -rnm" in permission_hint(refused, 1000)
    assert "kubesim run --runtime cni" in permission_hint(refused, 1000)
    assert permission_hint(refused, 0) == ""
    assert permission_hint("no IP addresses available", 1000) == ""


def test_the_remaining_time_is_that_of_the_previous_pairs() -> None:
    assert time_left(1, 33, 2.0) == "cni bench: 1 of 33 pairs of runs, about 64 s left"
    assert time_left(33, 33, 66.0) == "cni bench: 33 of 33 pairs of runs, about 0 s left"
