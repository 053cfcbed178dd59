"""Feature gates whose defaults differ between versions, or that only some versions have, if a scenario shows the
difference.
"""

from __future__ import annotations

from typing import NamedTuple


class GateDifference(NamedTuple):
    gate: str
    what: str  # what a user sees of it
    scenario: str  # path below scenarios/


GATE_DIFFERENCES = (
    GateDifference(
        "BoundServiceAccountTokenVolume",
        "A pod gets its service account token in the projected volume `kube-api-access-...`, and the kubelet "
        "requests it. Without the gate, admission mounts the Secret `default-token-...` that all pods of the "
        "account share.",
        "versions/v1.12-token-secret.yaml",
    ),
    GateDifference(
        "RuntimeClass",
        "The kubelet asks the runtime for the handler that the RuntimeClass of a pod names. Without the gate, it "
        "asks for the default handler.",
        "versions/v1.12-runtime-class.yaml",
    ),
    GateDifference(
        "StartupProbe",
        "A container with a startup probe is not probed for liveness and readiness before it has started, and its "
        "status has the field `started`. Without the gate there is no such field, and liveness is probed from the "
        "start.",
        "versions/v1.12-startup-probe.yaml",
    ),
    GateDifference(
        "PLEGOnDemandRelist",
        "A sync that started a container lists the pod's containers again immediately. Without the gate, the next "
        "relist does.",
        "versions/v1.35-relist.yaml",
    ),
    GateDifference(
        "InPlacePodLevelResourcesVerticalScaling",
        "The resources of a whole pod are resized while it runs.",
        "versions/v1.35-pod-resize.yaml",
    ),
    GateDifference(
        "ResourceHealthStatus",
        "The status of a container has the health of its devices.",
        "versions/v1.35-device-health.yaml",
    ),
    GateDifference(
        "HugepageAwareEviction",
        "Memory reserved for huge pages does not count as available.",
        "versions/v1.37-huge-pages.yaml",
    ),
    GateDifference(
        "H2CContainerProbe",
        "A probe `httpGet` with `protocol: HTTP2` uses HTTP/2 in clear text. Kubelets without this gate do "
        "not have the field, and use HTTP/1.1.",
        "versions/v1.37-http2-probe.yaml",
    ),
    GateDifference(
        "GRPCContainerProbeTLS",
        "A probe `grpc` with `mode: TLS` connects by TLS, without verifying the certificate. Kubelets without this "
        "gate do not have the field, and connect in clear text.",
        "versions/v1.37-grpc-tls-probe.yaml",
    ),
)
