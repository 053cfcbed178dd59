"""The minimal permissions for `kubesim attach`: it only gets, lists and watches.

Pods and Events are in every namespace, so they need a ClusterRole; the Lease of a node is in one namespace. No
permission covers only metadata: a client that may check whether a ConfigMap or a Secret exists may also read it. This
is why the reference check needs a flag. It needs the permission to get objects, not to list them.
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
{references}{configz}---
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

_REFERENCES = """\
- apiGroups: [""]
  resources: [configmaps, secrets]  # for --references: only their metadata is requested
  verbs: [get]
"""


# Kubernetes has no narrower permission: get on nodes/proxy covers every path of the kubelet, including logs and exec.
_CONFIGZ = """\
- apiGroups: [""]
  resources: [nodes/proxy]  # for --configz: one GET of the node's /configz; this right opens the whole kubelet API
  verbs: [get]
"""


_CLAIMS = """\
- apiGroups: [""]
  resources: [persistentvolumeclaims]  # for --agent with --references: only the metadata is requested
  verbs: [get]
"""


def rbac(
    name: str = NAME,
    namespace: str = NAMESPACE,
    *,
    with_references: bool = False,
    with_claims: bool = False,
    with_configz: bool = False,
) -> str:
    """The manifests for kubectl apply."""
    references = (_REFERENCES if with_references else "") + (_CLAIMS if with_claims else "")
    configz = _CONFIGZ if with_configz else ""
    return _RBAC.format(name=name, namespace=namespace, references=references, configz=configz)
