"""HTTP lifecycle hooks: what is said when the pod's address cannot be found out."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Container, HTTPGetAction, Pod
from kubesim.clock import LoopClock, run_virtual
from kubesim.conformance.lifecycle_script import NoNetwork
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.http_hook import HttpHook
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from tests.support.fakes.events import NoEvents

POD = Pod.from_json({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": []}})


class Pods:
    """A runtime that has this pod, and perhaps cannot tell its status."""

    def __init__(self, pod: RuntimePod | None = None, status: RuntimePodStatus | None = None) -> None:
        self._pod = pod
        self._status = status

    async def get_pod(self, uid: str) -> RuntimePod | None:
        return self._pod

    async def get_pod_status(self, pod: RuntimePod) -> RuntimePodStatus:
        if self._status is None:
            raise RuntimeCallError("gone")
        return self._status


LISTED = RuntimePod("u", "p", "ns")


@pytest.mark.parametrize(
    ("pods", "text"),
    [
        (Pods(), "unable to get pod, event handlers may be invalid: pod sandboxes not found"),
        (Pods(LISTED), "unable to get pod status, event handlers may be invalid: gone"),
        (Pods(LISTED, RuntimePodStatus("u")), "failed to find networking container: p"),
    ],
)
def test_what_is_missing_is_said(pods: Pods, text: str) -> None:
    """lifecycle/handlers.go runHTTPHandler."""

    async def main() -> None:
        hook = HttpHook(LoopClock(), NoNetwork(), NoEvents(), lambda: pods)
        await hook.run(POD, Container(name="c"), HTTPGetAction(port=80))

    with pytest.raises(RuntimeCallError) as caught:
        run_virtual(main)
    assert str(caught.value) == text
