"""Defaults of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.images import image_tag
from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.features import FeatureGates

JsonObject = dict[str, Any]


def defaulted(container: JsonObject | None = None, spec: JsonObject | None = None) -> JsonObject:
    pod = {"spec": {"containers": [{"name": "c", "image": "img:1", **(container or {})}], **(spec or {})}}
    set_pod_defaults(pod)
    result: JsonObject = pod["spec"]
    return result


def first(spec: JsonObject) -> JsonObject:
    container: JsonObject = spec["containers"][0]
    return container


def test_defaults_of_an_empty_pod() -> None:
    assert defaulted() == {
        "containers": [
            {
                "name": "c",
                "image": "img:1",
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("busybox", "latest"),
        ("registry:5000/a/b", "latest"),
        ("a:1.27", "1.27"),
        ("a@sha256:" + "0" * 64, ""),
        ("a:x@sha256:" + "0" * 64, "x"),
        (" spaced", ""),
        ("Upper", ""),
        ("a@md5:" + "0" * 32, ""),
    ],
)
def test_the_tag_decides_the_pull_policy(image: str, tag: str) -> None:
    assert image_tag(image) == tag
    expected = "Always" if tag == "latest" else "IfNotPresent"
    assert first(defaulted({"image": image}))["imagePullPolicy"] == expected


def test_a_request_defaults_to_the_limit() -> None:
    resources = {"limits": {"cpu": "0.0001", "memory": "1Gi"}, "requests": {"memory": "1Mi"}}
    assert first(defaulted({"resources": resources}))["resources"] == {
        "limits": {"cpu": "1m", "memory": "1Gi"},
        "requests": {"cpu": "1m", "memory": "1Mi"},
    }


def test_resources_are_rounded_up_to_thousandths() -> None:
    limits = {"cpu": "1.0005", "memory": "10Ei", "example.com/a": "0.1u", "example.com/b": "-1u"}
    assert first(defaulted({"resources": {"limits": limits}}))["resources"]["limits"] == {
        "cpu": "1001m",
        "memory": "9223372036854775807",
        "example.com/a": "1m",
        "example.com/b": "-1m",
    }


def test_pod_level_requests_default_to_those_of_containers_or_limits() -> None:
    spec = defaulted(
        {"resources": {"requests": {"cpu": "100m"}, "limits": {"hugepages-2Mi": "4Mi"}}},
        {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
    )
    assert spec["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
        "requests": {"cpu": "100m", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
    }
    huge = {"resources": {"limits": {"hugepages-2Mi": "4Mi"}}}
    assert defaulted(huge, {"resources": {"claims": []}})["resources"] == {"claims": []}  # no pod-level amount
    pod = {"spec": {"containers": [], "resources": {"limits": {"cpu": "1"}}}}
    set_pod_defaults(pod, FeatureGates({"PodLevelResources": False}))
    assert pod["spec"]["resources"] == {"limits": {"cpu": "1"}}


def test_probes_and_hooks() -> None:
    container = first(
        defaulted(
            {
                "livenessProbe": {"httpGet": {"port": 80}, "failureThreshold": 7},
                "startupProbe": {"grpc": {"port": 1}},
                "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
            }
        )
    )
    assert container["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 7,
    }
    assert container["startupProbe"]["grpc"] == {"port": 1, "service": ""}
    assert container["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}


def test_host_network_ports() -> None:
    spec = defaulted({"ports": [{"containerPort": 80}]}, {"hostNetwork": True})
    assert first(spec)["ports"] == [{"containerPort": 80, "hostPort": 80, "protocol": "TCP"}]


def test_volumes() -> None:
    volumes = [
        {"name": "empty"},
        {"name": "h", "hostPath": {"path": "/x"}},
        {"name": "i", "image": {"reference": "a"}},
        {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "r", "rbd": {"image": "i", "user": "me"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    assert defaulted(spec={"volumes": volumes})["volumes"] == [
        {"name": "empty", "emptyDir": {}},
        {"name": "h", "hostPath": {"path": "/x", "type": ""}},
        {"name": "i", "image": {"reference": "a", "pullPolicy": "Always"}},
        {
            "name": "t",
            "projected": {
                "sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                "defaultMode": 0o644,
            },
        },
        {"name": "r", "rbd": {"image": "i", "user": "me", "pool": "rbd", "keyring": "/etc/ceph/keyring"}},
        {"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
    ]
