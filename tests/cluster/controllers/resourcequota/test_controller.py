"""The status of a ResourceQuota as objects come and go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.errors import ApiError
from tests.support.cluster.controlled import ControlledCluster, controlled


def pod(cluster: ControlledCluster, name: str) -> Pod:
    made = cluster.create(
        {
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "250m"}}}]},
        }
    )
    assert isinstance(made, Pod)
    return made


async def status(cluster: ControlledCluster) -> dict[str, Any]:
    await cluster.wait(0.1)
    (quota,) = cluster.all("ResourceQuota")
    return dict(quota.extra["status"])


def test_the_status_follows_the_objects() -> None:
    async def story(cluster: ControlledCluster) -> None:
        pod(cluster, "old")
        hard = {"pods": "2", "requests.cpu": "1", "count/ingresses.networking.k8s.io": "3"}
        cluster.create({"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})
        counted = await status(cluster)
        assert counted["hard"] == hard
        assert counted["used"] == {"count/ingresses.networking.k8s.io": "0", "pods": "1", "requests.cpu": "250m"}
        second = pod(cluster, "new")
        with pytest.raises(ApiError, match="exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"):
            pod(cluster, "more")
        cluster.set_phase(second, "Succeeded", ready=False)
        assert (await status(cluster))["used"]["pods"] == "1"
        cluster.delete("Pod", "old")
        assert (await status(cluster))["used"] == {
            "count/ingresses.networking.k8s.io": "0", "pods": "0", "requests.cpu": "0"
        }  # fmt: skip
        cluster.patch("ResourceQuota", "q", {"spec": {"hard": {"pods": "5"}}})
        assert (await status(cluster))["hard"]["pods"] == "5"

    controlled(story)
