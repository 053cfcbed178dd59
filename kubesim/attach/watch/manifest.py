"""The manifest deploy/attach.yaml: a Deployment with the permissions that `kubesim attach --print-rbac` prints.

python -m kubesim.attach.watch.manifest > deploy/attach.yaml
"""

from __future__ import annotations

import sys

from kubesim.attach.watch.rbac import NAME, NAMESPACE, rbac

HEAD = f"""\
# kubesim attach inside a cluster: watches one node, serves /metrics and /healthz, writes nothing.
# Put the node's name and your image in, then: kubectl apply -f deploy/attach.yaml
# Made by `python -m kubesim.attach.watch.manifest`; the rights are what `kubesim attach --print-rbac` prints.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {NAME}
  namespace: {NAMESPACE}
---
"""

DEPLOYMENT = f"""\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {NAME}
  namespace: {NAMESPACE}
spec:
  replicas: 1
  selector:
    matchLabels: {{app: {NAME}}}
  template:
    metadata:
      labels: {{app: {NAME}}}
    spec:
      serviceAccountName: {NAME}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65534
        runAsGroup: 65534
        seccompProfile: {{type: RuntimeDefault}}
      containers:
      - name: attach
        image: kubesim:latest
        imagePullPolicy: IfNotPresent
        args: [attach, --node, NODE-NAME, -o, jsonl, --serve, "0.0.0.0:9100"]
        ports:
        - {{name: metrics, containerPort: 9100}}
        readinessProbe:
          httpGet: {{path: /healthz, port: metrics}}
          periodSeconds: 10
        resources:
          requests: {{cpu: 50m, memory: 128Mi}}
          limits: {{memory: 384Mi}}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {{drop: [ALL]}}
"""


def manifest() -> str:
    return HEAD + rbac() + DEPLOYMENT


if __name__ == "__main__":
    sys.stdout.write(manifest())
