"""The least rights that `kubesim attach` runs with: it gets, lists and watches, and nothing else.

Pods and Events are in every namespace, so that a ClusterRole is needed; the Lease of a node is in one namespace.
"""

from __future__ import annotations

NAME = "kubesim-attach"
NAMESPACE = "kubesim"

_RBAC = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
rules:
- apiGroups: [""]
  resources: [pods, nodes, events]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {name}
subjects:
- kind: ServiceAccount
  name: {name}
  namespace: {namespace}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {name}
  namespace: kube-node-lease
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {name}
  namespace: kube-node-lease
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {name}
subjects:
- kind: ServiceAccount
  name: {name}
  namespace: {namespace}
"""


def rbac(name: str = NAME, namespace: str = NAMESPACE) -> str:
    """Manifests for kubectl apply."""
    return _RBAC.format(name=name, namespace=namespace)
