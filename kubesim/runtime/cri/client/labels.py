"""Labels and annotations that mark sandboxes and containers as ours, beside those of the kubelet.

A kubelet of ours lists by them, so it sees nothing of other clients of the runtime. They also contain the path of the
state of the run, so that a later `kubesim cri leaks` can find out whether the run is still active.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.runtime.kuberuntime.labels import POD_UID
from kubesim.values import value_object

STATE = "kubesim.dev/state"  # the id of the state directory
NODE = "kubesim.dev/node"
DIRECTORY = "kubesim.dev/state-directory"  # an annotation, because a path is no valid label


@value_object
class Owner:
    """The owner of sandboxes: the id and path of a state directory, and the name of a node in it."""

    state: str
    directory: str
    node: str

    @property
    def labels(self) -> dict[str, str]:
        return {STATE: self.state, NODE: self.node}

    def of_pod(self, uid: str | None) -> dict[str, str]:
        """The label selector of a listing."""
        return self.labels if uid is None else {**self.labels, POD_UID: uid}

    def added(self, labels: Mapping[str, str]) -> dict[str, str]:
        return {**labels, **self.labels}

    def annotated(self, annotations: Mapping[str, str]) -> dict[str, str]:
        return {**annotations, DIRECTORY: self.directory}
