"""Scenario objects with expectations: a running pod, a crashing one, and a Deployment."""

from __future__ import annotations

EXPECTED_PODS = """\
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "busybox:1", command: [sh, -c, "echo hello; trap 'exit 0' TERM; sleep 100000 & wait"]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec: {containers: [{name: main, image: "busybox:1", command: [sh, -c, "echo ouch; sleep 1; exit 3"]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: server, image: nginx}]}
"""
