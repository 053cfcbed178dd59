"""Projected volumes: Secrets, ConfigMaps, downward API, tokens, trust bundles, certificates.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateVolumes (projected and downward API parts);
names_test.go
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_volume, complaints, pod_with
from tests.support.validation.texts import FILE_MODE, KEY, LABEL, SUBDOMAIN

REQUIRED = "Required value"
SIGNER = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
FIELDS = (
    'supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"'
)
NAME_REF = {"fieldPath": "metadata.name"}


def about_source(source: JsonObject) -> list[str]:
    """Errors of the only source; those of the volume begin with `projected`."""
    volume = {"name": "v", "projected": {"sources": [source]}}
    pod = pod_with({"serviceAccountName": "sa", "volumes": [volume]})
    errors = [error.removeprefix("spec.volumes[0].") for error in complaints(pod)]
    return [error.removeprefix("projected.sources[0].") for error in errors]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"path": "f", "fieldRef": NAME_REF}, []),
        ({"path": "f", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}, "mode": 0o777}, []),
        ({"path": "..f", "fieldRef": NAME_REF}, ["path: Invalid value: \"..f\": must not start with '..'"]),
        ({"path": "/f", "fieldRef": NAME_REF}, ['path: Invalid value: "/f": must be a relative path']),
        ({}, [f"path: {REQUIRED}", f": {REQUIRED}: one of fieldRef and resourceFieldRef is required"]),
        (
            {"path": "f", "fieldRef": NAME_REF, "resourceFieldRef": {}},
            [': Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously'],
        ),
        (
            {"path": "f", "fieldRef": {"fieldPath": "status.podIP"}},
            [f'fieldRef.fieldPath: Unsupported value: "status.podIP": {FIELDS}'],
        ),
        (
            {"path": "f", "resourceFieldRef": {"resource": "limits.cpu"}},
            [f"resourceFieldRef.containerName: {REQUIRED}"],
        ),
        ({"path": "f", "fieldRef": NAME_REF, "mode": 0o1000}, [f"mode: Invalid value: 512: {FILE_MODE}"]),
    ],
)
@pytest.mark.parametrize("where", ["downwardAPI", "projected.sources[0].downwardAPI"])
def test_downward_api_files_are_reported_at_the_volume(where: str, item: JsonObject, expected: list[str]) -> None:
    source = {"downwardAPI": {"items": [item]}}
    found = about_volume(source if where == "downwardAPI" else {"projected": {"sources": [source]}})
    assert found == [f"{where}{error}" if error[0] == ":" else f"{where}.{error}" for error in expected]


@pytest.mark.parametrize("kind", ["downwardAPI", "projected"])
def test_modes(kind: str) -> None:
    assert about_volume({kind: {"defaultMode": 0o777}}) == []
    assert about_volume({kind: {"defaultMode": -1}}) == [f"{kind}.defaultMode: Invalid value: -1: {FILE_MODE}"]


@pytest.mark.parametrize("kind", ["secret", "configMap"])
def test_keys(kind: str) -> None:
    assert about_source({kind: {"name": "s", "items": [{"key": "k", "path": "f"}]}}) == []
    assert about_source({kind: {"items": [{"key": "k"}]}}) == [
        f"{kind}.name: {REQUIRED}",
        f"{kind}.items[0].path: {REQUIRED}",
    ]


def test_each_source_has_one_kind() -> None:
    source = {"secret": {"name": "s"}, "configMap": {"name": "c"}}
    assert about_source(source) == [
        "projected.sources[0]: Forbidden: may not specify more than 1 volume type per source"
    ]
    assert about_source({}) == []


def test_files_of_two_sources_must_differ() -> None:
    """The error quotes the name of the Secret or ConfigMap; for other sources, the path."""
    item, bundle = {"key": "k", "path": "f"}, {"name": "b", "path": "f"}
    certificate = {"signerName": "a.b/c", "keyType": "ED25519", "credentialBundlePath": "f", "keyPath": "f"}
    sources = [
        {"secret": {"name": "s", "items": [item]}},
        {"configMap": {"name": "c", "items": [item]}},
        {"downwardAPI": {"items": [{"path": "f", "fieldRef": NAME_REF}, {"fieldRef": NAME_REF}]}},
        {"clusterTrustBundle": bundle},
        {"podCertificate": certificate},
    ]
    assert about_volume({"projected": {"sources": sources}}) == [
        'projected: Invalid value: "c": conflicting duplicate paths',
        'projected: Invalid value: "f": conflicting duplicate paths',
        f"projected.sources[2].downwardAPI.path: {REQUIRED}",
        'projected: Invalid value: "f": conflicting duplicate paths',
        'projected: Invalid value: "f": conflicting duplicate paths',
        'projected: Invalid value: "f": conflicting duplicate paths',
    ]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ({"path": "t"}, []),
        ({"path": "t", "expirationSeconds": 1 << 32}, []),
        (
            {"path": "t", "expirationSeconds": 599},
            [
                "serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
            ],
        ),
        (
            {"path": "t", "expirationSeconds": (1 << 32) + 1},
            [
                "serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds",
            ],
        ),
        # The path is that of the volume.
        ({}, [f"projected.path: {REQUIRED}"]),
        ({"path": "../t"}, ["projected.path: Invalid value: \"../t\": must not contain '..'"]),
    ],
)
def test_tokens(token: JsonObject, expected: list[str]) -> None:
    assert about_source({"serviceAccountToken": token}) == expected


def test_a_token_needs_a_service_account() -> None:
    assert about_volume({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}) == [
        "projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set"
    ]


@pytest.mark.parametrize(
    ("bundle", "expected"),
    [
        ({"name": "root"}, []),
        ({"name": "example.com:signer:root"}, []),
        ({"signerName": "example.com/signer", "labelSelector": {"matchLabels": {"a": "b"}}}, []),
        ({"path": ""}, [f": {REQUIRED}: either name or signerName must be specified", f".path: {REQUIRED}"]),
        ({"name": "root", "path": "/f"}, ['.path: Invalid value: "/f": must be a relative path']),
        (
            {"name": "", "path": "f"},
            [
                f".name: {REQUIRED}: must be a valid object name",
                f'.name: Invalid value: "": not a valid clustertrustbundlename: {SUBDOMAIN}',
            ],
        ),
        (
            {"name": ":root"},
            [
                '.name: Invalid value: ":root": not a valid clustertrustbundlename: ClusterTrustBundle without signer name must not have ":" in its name',
            ],
        ),
        (
            {"name": "a.b/c:root"},
            [
                '.name: Invalid value: "a.b/c:root": not a valid clustertrustbundlename: ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:',
            ],
        ),
        (
            {"name": "a.b:c:Root"},
            [f'.name: Invalid value: "a.b:c:Root": not a valid clustertrustbundlename: {SUBDOMAIN}'],
        ),
        (
            {"name": "root", "labelSelector": {"matchLabels": {"b": "2", "a": "1"}}},
            [
                '.labelSelector: Invalid value: {"matchLabels":{"a":"1","b":"2"}}: labelSelector must be unset if name is specified',
            ],
        ),
        (
            {
                "name": "root",
                "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x"]}, {}]},
            },
            [
                '.labelSelector: Invalid value: {"matchExpressions":[{"key":"a","operator":"In","values":["x"]},{"key":"","operator":""}]}: labelSelector must be unset if name is specified',
            ],
        ),
        (
            {"name": "root", "signerName": "a.b/c", "labelSelector": {}, "optional": True},
            [
                ': Invalid value: {"Name":"root","SignerName":"a.b/c","LabelSelector":{},"Optional":true,"Path":"f"}: only one of name and signerName may be used',
            ],
        ),
        (
            {"name": "root", "signerName": "a.b/c"},
            [
                ': Invalid value: {"Name":"root","SignerName":"a.b/c","LabelSelector":null,"Optional":null,"Path":"f"}: only one of name and signerName may be used',
            ],
        ),
        ({"signerName": ""}, [f".signerName: {REQUIRED}: must be a valid signer name", f".signerName: {REQUIRED}"]),
        (
            {"signerName": "a.b/c", "labelSelector": {"matchExpressions": [{"key": "k", "operator": "Is"}]}},
            ['.labelSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator'],
        ),
    ],
)
def test_trust_bundles(bundle: JsonObject, expected: list[str]) -> None:
    found = about_source({"clusterTrustBundle": {"path": "f", **bundle}})
    where = "projected.sources[0].clusterTrustBundle"
    assert [error.removeprefix(where).removeprefix("clusterTrustBundle") for error in found] == expected


@pytest.mark.parametrize(
    ("signer", "expected"),
    [
        ("example.com/signer.name", []),
        ("", [REQUIRED]),
        ("example.com", [f'Invalid value: "example.com": {SIGNER}']),
        ("a.b/c/d", [f'Invalid value: "a.b/c/d": {SIGNER}']),
        ("a/c", ['Invalid value: "a": should be a domain with at least two segments separated by dots']),
        # Only the first invalid label of each part is reported.
        (
            "A.B.c/D.E",
            [
                f'Invalid value: "A.B.c": validating label "A": {LABEL}',
                f'Invalid value: "D.E": validating label "D": {SUBDOMAIN}',
            ],
        ),
        (f"{'a.' * 127}a/c", ["Too long: may not be more than 253 bytes"]),
        (
            f"a.b/{'c' * 600}",
            [
                f'Invalid value: "{"c" * 600}": validating label "{"c" * 600}": must be no more than 253 characters',
                "Too long: may not be more than 571 bytes",
            ],
        ),
    ],
)
def test_signers(signer: str, expected: list[str]) -> None:
    found = about_source({"podCertificate": {"signerName": signer, "keyType": "RSA3072", "keyPath": "k"}})
    assert [error.removeprefix("podCertificate.signerName: ") for error in found] == expected


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"maxExpirationSeconds": 3600, "userAnnotations": {"Example.com/K": "v"}}, []),
        ({"certificateChainPath": "c", "credentialBundlePath": "b"}, []),
        (
            {"keyPath": ""},
            [f": {REQUIRED}: specify at least one of credentialBundlePath, keyPath, and certificateChainPath"],
        ),
        ({"certificateChainPath": "../c"}, [".certificateChainPath: Invalid value: \"../c\": must not contain '..'"]),
        (
            {"keyType": "RSA1024"},
            [
                '.keyType: Unsupported value: "RSA1024": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
            ],
        ),
        (
            {"maxExpirationSeconds": 3599},
            [".maxExpirationSeconds: Invalid value: 3599: if provided, maxExpirationSeconds must be >= 3600"],
        ),
        ({"maxExpirationSeconds": 7862400}, []),
        (
            {"maxExpirationSeconds": 7862401},
            [".maxExpirationSeconds: Invalid value: 7862401: if provided, maxExpirationSeconds must be <= 7862400"],
        ),
        (
            {"maxExpirationSeconds": 86401, "signerName": "x.kubernetes.io/s"},
            [".maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400"],
        ),
        ({"userAnnotations": {"": "v"}}, [f".userAnnotations: {REQUIRED}"]),
        ({"userAnnotations": {"a b": "v"}}, [f'.userAnnotations: Invalid value: "a b": name part {KEY}']),
        (
            {"userAnnotations": {"Key": "v"}},
            ['.userAnnotations: Invalid value: "key": must be a domain-prefixed key (such as "acme.io/foo")'],
        ),
        (
            {"userAnnotations": {"a.io/k": "v" * 262144}},
            [".userAnnotations: Too long: may not be more than 262144 bytes"],
        ),
    ],
)
def test_certificates(more: JsonObject, expected: list[str]) -> None:
    found = about_source({"podCertificate": {"signerName": "a.b/c", "keyType": "RSA4096", "keyPath": "k", **more}})
    where = "projected.sources[0].podCertificate"
    assert [error.removeprefix(where).removeprefix("podCertificate") for error in found] == expected
