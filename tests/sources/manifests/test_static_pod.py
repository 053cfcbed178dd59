"""Manifests: valid ones become static pods, others are errors of the source."""

from __future__ import annotations

import pytest

from kubesim.api.meta import CONFIG_HASH
from kubesim.features import FeatureGates
from kubesim.features.table import PROFILES
from kubesim.sources.manifests.static_pod import Manifest, StaticPods, fnv1a_128, read_manifest

PLAIN = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: img}]}\n"


def read(text: str, source: str = "file", path: str = "/m/a.yaml", node: str = "n1") -> StaticPods:
    return read_manifest(Manifest("file" if source == "file" else "url", path, node, text))


def uid(text: str = PLAIN, source: str = "file", path: str = "/m/a.yaml", node: str = "n1") -> str:
    [pod] = read(text, source, path, node).pods
    return pod.metadata.uid


def with_spec(spec: str) -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: {{containers: [{{name: c, image: i}}], {spec}}}\n"
    )


def test_a_pod_of_this_node() -> None:
    [pod] = read(PLAIN).pods
    assert (pod.metadata.name, pod.metadata.namespace, pod.spec.node_name) == ("web-n1", "default", "n1")
    assert pod.metadata.annotations == {CONFIG_HASH: pod.metadata.uid}
    assert pod.status.phase == "Pending"
    assert pod.spec.containers[0].image_pull_policy == "Always"
    assert [t.to_json() for t in pod.spec.tolerations] == [{"operator": "Exists", "effect": "NoExecute"}]


def test_a_node_name_with_capitals_makes_every_static_pod_invalid() -> None:
    assert 'spec.nodeName: Invalid value: "N1"' in read(PLAIN, node="N1").error


def test_a_toleration_with_an_end_is_replaced_by_one_without() -> None:
    text = with_spec("tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}]")
    [pod] = read(text).pods
    assert [t.to_json() for t in pod.spec.tolerations] == [{"effect": "NoExecute", "operator": "Exists"}]
    assert read(text, "url").pods[0].spec.tolerations[0].toleration_seconds == 5


def test_the_uid_depends_on_content_path_and_node() -> None:
    assert uid() == uid(PLAIN.replace("{name: web}", "{name: 'web'}")), "only what it says, not how it is written"
    assert (
        len({uid(), uid(PLAIN.replace("img", "img2")), uid(path="/m/b.yaml"), uid(node="n2"), uid(source="url")}) == 5
    )
    assert uid(source="url", node="n1") == uid(source="url", node="n2"), "a url is the same everywhere"
    assert uid(PLAIN.replace("{name: web}", "{name: web, uid: given}")) == "given"


def test_each_version_computes_a_different_uid() -> None:
    manifest = Manifest("file", "/m/a.yaml", "n1", PLAIN)
    uids = [read_manifest(manifest, FeatureGates(profile=profile)).pods[0].metadata.uid for profile in PROFILES]
    assert len(set(uids)) == len(PROFILES)


def test_fnv() -> None:
    assert f"{fnv1a_128(b''):032x}" == "6c62272e07bb014262b821756295c58d"
    assert f"{fnv1a_128(b'foobar'):032x}" == "343e1662793c64bf6f0d3597ba446f18"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Object 'Kind' is missing in 'null'"),
        ("a: 1\n", "Object 'Kind' is missing in '{\"a\":1}'"),
        ("kind: Pod\n", "Object 'apiVersion' is missing in '{\"kind\":\"Pod\"}'"),
        ("kind: Pod\napiVersion: a/b/c\n", "unexpected GroupVersion string: a/b/c"),
        (
            "kind: Pod\napiVersion: apps/v1\n",
            'no kind "Pod" is registered for version "apps/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ("a: b: c\n", "yaml: mapping values are not allowed in this context"),
        (
            with_spec("volumes: [{name: 5}]"),
            "json: cannot unmarshal number into Go struct field Volume.spec.volumes.name of type string",
        ),
        (
            PLAIN.replace("image: img", "image: 5"),
            "json: cannot unmarshal number into Go struct field Container.spec.containers.image of type string",
        ),
        (
            with_spec("os: x, volumes: [{fc: x}]"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.os of type v1.PodOS",
        ),
    ],
)
def test_content_other_than_a_pod(text: str, reason: str) -> None:
    result = read(text)
    assert not result.parsed
    assert result.error == f"/m/a.yaml: couldn't parse as pod({reason}), please check config file"


@pytest.mark.parametrize(
    ("spec", "resource"),
    [
        ("serviceAccount: x", "serviceaccounts"),
        ("imagePullSecrets: [{name: s}]", "secrets"),
        ("volumes: [{name: v, secret: {secretName: s, optional: true}}]", "secrets"),
        ("volumes: [{name: v, configMap: {name: s}}]", "configmaps"),
        ("volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]", "persistentvolumeclaims"),
        ("volumes: [{name: v, csi: {driver: d.example}}]", "csidrivers (via CSI volumes)"),
        ("volumes: [{name: v, glusterfs: {endpoints: e, path: p}}]", "endpoints (via glusterFS volumes)"),
        ("resourceClaims: [{name: r, resourceClaimName: x}]", "resourceclaims"),
    ],
)
def test_a_static_pod_must_not_use_api_objects(spec: str, resource: str) -> None:
    assert read(with_spec(spec)).error == f"static pods may not reference {resource}"


def test_projections_may_contain_only_fields_of_the_pod() -> None:
    own = "{downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}"
    bundle = "{clusterTrustBundle: {name: b, path: p}}"
    assert read(with_spec(f"volumes: [{{name: v, projected: {{sources: [{own}]}}}}]")).error == ""
    refused = read(with_spec(f"volumes: [{{name: v, projected: {{sources: [{own}, {bundle}]}}}}]"))
    assert refused.error == "static pods may not reference clustertrustbundles"


def test_a_projection_without_a_source_is_unknown() -> None:
    text = with_spec("volumes: [{name: v, projected: {sources: [{}]}}, {name: w, csi: {driver: d.example}}]")
    assert read(text).error == 'unknown source for projected volume "v"'


def test_before_the_gate_only_two_kinds_of_references_were_rejected() -> None:
    off = FeatureGates({"PreventStaticPodAPIReferences": False})

    def error(spec: str) -> str:
        return read_manifest(Manifest("file", "/m", "n", with_spec(spec)), off).error

    assert error("serviceAccountName: x") == ""
    assert error("resourceClaims: [{name: r, resourceClaimName: x}]") == "static pods may not use ResourceClaims"
    bundle = "volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {name: b, path: p}}]}}]"
    assert error(bundle) == "static pods may not use ClusterTrustBundle projected volume sources"


def test_only_a_url_may_contain_a_list() -> None:
    item = "{metadata: {name: a}, spec: {containers: [{name: c, image: i}]}}"
    text = f"apiVersion: v1\nkind: PodList\nitems: [{item}, {item.replace('name: a', 'name: b')}]\n"
    result = read(text, "url")
    assert result.is_list
    assert [pod.metadata.name for pod in result.pods] == ["a-n1", "b-n1"]
    assert "couldn't parse as pod(invalid pod: &core.PodList{" in read(text).error
    assert read("", "url").error == "zero-length data received from /m/a.yaml"


def test_yaml_is_parsed_as_in_kubernetes() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web, unknown: field}\n"
        "spec:\n  hostNetwork: yes\n  terminationGracePeriodSeconds: 0x10\n  containers: &c\n"
        "  - {name: c, image: img, resources: {requests: {cpu: 0.1, memory: 1e6}}}\n"
        "---\nkind: Never looked at\n"
    )
    [pod] = read(text).pods
    assert pod.spec.host_network is True
    assert pod.spec.termination_grace_period_seconds == 16
    assert pod.spec.containers[0].resources.requests == {"cpu": "100m", "memory": "1M"}
    assert "unknown" not in pod.to_json()["metadata"]


def test_deep_nesting_is_rejected_by_every_reader() -> None:
    """At some depths the text can be parsed, but not the object that it describes."""

    def nested(depth: int) -> str:
        fields = '{"a":' * depth + "1" + "}" * depth
        claim = f'{{"metadata": {{"name": "c", "managedFields": [{{"fieldsV1": {fields}}}]}}}}'
        volume = f'{{"name": "v", "ephemeral": {{"volumeClaimTemplate": {claim}}}}}'
        return (
            f'{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "web"}}, "spec": {{"volumes": [{volume}]}}}}'
        )

    pods = [nested(depth) for depth in (*range(500, 1000, 50), 100_000)]
    lists = [f'{{"apiVersion": "v1", "kind": "PodList", "items": [{pod}]}}' for pod in pods]
    for results in ([read(pod) for pod in pods], [read(pod, "url") for pod in [*pods, *lists]]):
        assert all(result.error for result in results)
        assert "exceeded max depth" in results[-1].error
        assert any("yaml: exceeded max depth of 10000" in result.error for result in results)


def test_a_negative_grace_period_becomes_one_second() -> None:
    [pod] = read(with_spec("terminationGracePeriodSeconds: -5")).pods
    assert pod.spec.termination_grace_period_seconds == 1
