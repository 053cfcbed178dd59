"""What becomes of the operator's pods on a node."""

import pytest
from cache_operator import pod_of

CACHE = {"metadata": {"name": "users"}, "spec": {"warmUpSeconds": 8, "flushSeconds": 20}}


def test_a_cache_is_ready_once_it_is_warm(kubesim):
    kubesim.apply(pod_of(CACHE))
    assert kubesim.wait_for(pod="users", condition="Ready", within="30s") > 8
    assert kubesim.logs("users") == "warm\n"


def test_a_cache_can_write_its_data_back(kubesim):
    kubesim.apply(pod_of(CACHE))
    kubesim.wait_for(pod="users", condition="Ready")
    kubesim.delete("pod/users")
    kubesim.clock.advance("19s")
    kubesim.expect(pod="users", phase="Running")  # it is still busy
    kubesim.expect(pod="users", gone=True, by="10s")
    kubesim.trace.assert_has("cri.call call=StopContainer pod=users args.timeout=25", count=1)


def test_a_restart_of_the_kubelet_restarts_no_cache(kubesim):
    kubesim.apply(pod_of(CACHE))
    kubesim.wait_for(pod="users", condition="Ready")
    kubesim.nodes["node-1"].restart("kubelet", down_for="10s")
    kubesim.clock.advance("1m")
    assert kubesim.get("pod/users")["status"]["containerStatuses"][0]["restartCount"] == 0
    kubesim.trace.assert_has("cri.call call=StartContainer pod=users", count=1)


@pytest.mark.kubesim(seed=3, images=[{"name": "busybox:*", "present": True}])
def test_the_life_of_a_cache(kubesim):
    kubesim.apply(pod_of(CACHE))
    kubesim.wait_for(pod="users", condition="Ready")
    kubesim.trace.assert_order("cri.call call=RunPodSandbox", "cri.call call=StartContainer", "log text=warm")
    kubesim.snapshot()
