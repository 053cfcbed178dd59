"""A scenario and a pod for nodes whose sandboxes a test creates itself."""

from __future__ import annotations

SCENARIO = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: x}
spec:
  images: [{name: "*", present: true}]
"""


POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
}
