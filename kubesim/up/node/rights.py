"""The permissions of `kubesim node`: those of a kubelet, but not limited to one node."""

from __future__ import annotations

RIGHTS = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kubesim-node
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch, create]
- apiGroups: [""]
  resources: [nodes/status, pods/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [configmaps, secrets, serviceaccounts, services, persistentvolumeclaims, persistentvolumes]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [extension-apiserver-authentication]
  verbs: [get]
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
- apiGroups: [node.k8s.io]
  resources: [runtimeclasses]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, create, update]
"""
