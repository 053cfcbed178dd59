"""HTTP lifecycle hooks: the error if the pod's address is unknown."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Container, HTTPGetAction, Pod
from kubesim.clock import LoopClock, run_virtual
from kubesim.conformance.lives.lifecycle_script import NoNetwork
from kubesim.errors import RuntimeCallError
from kubesim.kubelet.containers.http_hook import HttpHook
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from tests.support.fakes.events import NoEvents
from tests.support.fakes.runtimes import OnePod

POD = Pod.from_json({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": []}})


LISTED = RuntimePod("u", "p", "ns")


@pytest.mark.parametrize(
    ("pods", "text"),
    [
        (OnePod(), "unable to get pod, event handlers may be invalid: pod sandboxes not found"),
        (OnePod(LISTED), "unable to get pod status, event handlers may be invalid: gone"),
        (OnePod(LISTED, RuntimePodStatus("u")), "failed to find networking container: p"),
    ],
)
def test_an_unknown_address_is_reported(pods: OnePod, text: str) -> None:
    """lifecycle/handlers.go runHTTPHandler."""

    async def main() -> None:
        hook = HttpHook(LoopClock(), NoNetwork(), NoEvents(), lambda: pods)
        await hook.run(POD, Container(name="c"), HTTPGetAction(port=80))

    with pytest.raises(RuntimeCallError) as caught:
        run_virtual(main)
    assert str(caught.value) == text
