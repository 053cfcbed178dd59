"""The non-resource paths: discovery, version, health, OpenAPI, and the list of all paths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from kubesim.api.pods.signed_token import ISSUER
from kubesim.cluster.custom.definitions import custom_groups
from kubesim.cluster.problems import no_such_resource
from kubesim.cluster.served.documents import discovery
from kubesim.cluster.served.documents.discovery import Groups
from kubesim.cluster.served.documents.health import CHECKS, health, health_paths
from kubesim.cluster.served.documents.metrics import check_metrics, object_metrics
from kubesim.cluster.served.documents.openapi import openapi_v2, openapi_v3, openapi_v3_index
from kubesim.cluster.served.documents.openapi_protobuf import encoded_document
from kubesim.cluster.served.negotiation import JSON, MEDIA_TYPES, clauses, not_acceptable, unavailable
from kubesim.cluster.store.store import Store
from kubesim.values import value_object

GIT_VERSION = "v1.36.4"
_MAJOR, _MINOR = GIT_VERSION.removeprefix("v").split(".")[:2]
_METRICS = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_OPENAPI_PROTOBUF = (
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
_OTHER_PATHS = (
    "/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/flagz", "/metrics", "/metrics/slis",
    "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/statusz", "/version",
)  # fmt: skip

Query = Mapping[str, Sequence[str]]


@value_object
class ServedDocument:
    """The answer for a non-resource path: JSON in `body`, bytes in `raw`, anything else in `text`."""

    status: int = 200
    body: dict[str, Any] | None = None
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""


def document_of(store: Store, path: str, query: Query, headers: Mapping[str, str]) -> ServedDocument | None:
    """The answer to a GET of a non-resource path; None for other paths."""
    match path.strip("/").split("/"):
        case [("healthz" | "livez" | "readyz") as endpoint, *check] if endpoint in CHECKS:
            excluded = query.get("exclude", ())
            text = health(endpoint, "/".join(check), verbose="verbose" in query, excluded=excluded)
            return _not_found() if text is None else ServedDocument(text=text)
        case ["metrics", *rest] if rest in ([], ["slis"]):
            return ServedDocument(
                text=check_metrics() if rest else object_metrics(store), headers={"Content-Type": _METRICS}
            )
        case [("flagz" | "statusz") as page]:
            text = f"\nkube-apiserver {page}\n"
            return ServedDocument(text=text + (f"\nBinary version: {GIT_VERSION}\n" if page == "statusz" else ""))
        case ["version"]:
            _accept_json(headers)
            return ServedDocument(text=json.dumps(_version(), indent=2), headers={"Content-Type": JSON})
        case ["openapi", *rest]:
            return _openapi(store, rest, query, headers)
        case [".well-known", "openid-configuration"]:
            return _openid(headers.get("host", ""))
        case ["openid", "v1", "jwks"]:
            keys = {"Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=3600"}
            return ServedDocument(
                text='{"keys":[]}', headers=keys
            )  # tokens are signed with a secret key: no public one exists
        case [""]:
            _accept_json(headers)
            return ServedDocument(body={"paths": _paths(discovery.groups_of(custom_groups(store)))})
        case [("api" | "apis") as root, *rest] if len(rest) < 3:
            return _discovery(discovery.groups_of(custom_groups(store)), root, rest, headers)
    return None


def _not_found() -> ServedDocument:
    return ServedDocument(404, text="404 page not found\n")


def _accept_json(headers: Mapping[str, str]) -> None:
    accepted = [media_type for media_type, _ in clauses(headers.get("accept", "").strip() or "*/*")]
    if not {JSON, "*/*"} & set(accepted):
        raise unavailable((JSON,))


def _version() -> dict[str, str]:
    return {
        "major": _MAJOR,
        "minor": _MINOR,
        "emulationMajor": _MAJOR,
        "emulationMinor": _MINOR,
        "minCompatibilityMajor": _MAJOR,
        "minCompatibilityMinor": str(int(_MINOR) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "kubesim",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "none",
        "platform": "linux/amd64",
    }


# -- discovery --------------------------------------------------------------------------------------------------------


def _discovery(groups: Groups, root: str, rest: list[str], headers: Mapping[str, str]) -> ServedDocument | None:
    legacy = root == "api"
    if not rest:
        wanted = _wanted_discovery(headers.get("accept", ""))
        if wanted == discovery.AGGREGATED:
            return _aggregated(discovery.aggregated(groups, legacy=legacy), headers)
        address = headers.get("host", "")
        return ServedDocument(body=discovery.api_versions(address) if legacy else discovery.group_list(groups))
    if legacy:
        if len(rest) > 1:
            return None
        found = discovery.resource_list(groups, rest[0])
        if found is None or rest[0] != "v1":
            raise no_such_resource()
        return ServedDocument(body=found)
    known = discovery.one_group(groups, rest[0])
    if known is None:
        return _not_found()
    if len(rest) == 1:
        return ServedDocument(body=known)
    found = discovery.resource_list(groups, "/".join(rest))
    if found is None:
        raise no_such_resource()
    return ServedDocument(body=found)


def _wanted_discovery(accept: str) -> str:
    """The discovery form that the client accepts: `application/json` or the aggregated one."""
    for media_type, parameters in clauses(accept.strip() or "*/*"):
        wanted = tuple(parameters.get(name, "") for name in ("g", "v", "as"))
        if media_type == JSON and wanted == ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"):
            return discovery.AGGREGATED
        if media_type in (*MEDIA_TYPES, "*/*") and not any(wanted):
            return JSON
    known = any(media_type in (*MEDIA_TYPES, "*/*") for media_type, _ in clauses(accept))
    if known:
        raise not_acceptable("only the following media types are accepted: " + ", ".join(MEDIA_TYPES))
    raise unavailable(MEDIA_TYPES)


def _aggregated(body: dict[str, Any], headers: Mapping[str, str]) -> ServedDocument:
    tag = discovery.etag(body)
    shared = {"Content-Type": discovery.AGGREGATED, "Etag": tag, "Cache-Control": "public"}
    if headers.get("if-none-match") == tag:
        return ServedDocument(304, headers=shared)
    return ServedDocument(body=body, headers=shared)


def _paths(groups: Groups) -> list[str]:
    found = {*_OTHER_PATHS, *health_paths()}
    for group_version in groups:
        group = group_version.rpartition("/")[0]
        if group:
            found |= {f"/apis/{group}", f"/apis/{group_version}"}
    return sorted(found)


# -- others -----------------------------------------------------------------------------------------------------------


def _openid(address: str) -> ServedDocument:
    body = {
        "issuer": ISSUER,
        "jwks_uri": f"https://{address}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],  # OpenID requires it; no key is published for it
    }
    return ServedDocument(body=body, headers={"Content-Type": JSON, "Cache-Control": "public, max-age=3600"})


def _openapi_v2(document: dict[str, Any], accept: str) -> ServedDocument:
    """OpenAPI v2 in the form that the client accepts. kubectl requests protobuf, under one of two media types: one is a
    typo that upstream once made and still accepts.
    """
    for media_type, _ in clauses(accept.strip() or "*/*"):
        if media_type in _OPENAPI_PROTOBUF:
            raw = encoded_document(document)
            return ServedDocument(raw=raw, headers={"Content-Type": _OPENAPI_PROTOBUF[0]})
        if media_type in (JSON, "*/*", "application/*"):
            return ServedDocument(body=document)
    return ServedDocument(406, headers={"Content-Type": ""})


def _openapi(store: Store, rest: list[str], query: Query, headers: Mapping[str, str]) -> ServedDocument:
    groups = discovery.groups_of(custom_groups(store))
    match rest:
        case ["v2"]:
            return _openapi_v2(openapi_v2(store, groups), headers.get("accept", ""))
        case ["v3"]:
            return ServedDocument(text=json.dumps(openapi_v3_index(store, groups), separators=(",", ":")))
        case ["v3", *parts]:
            found = openapi_v3(store, groups, "/".join(parts))
            if found is None:
                return ServedDocument(404, headers={"Content-Type": ""})
            body, hashed = found
            asked = query.get("hash", [""])[0]
            if asked and asked != hashed:
                return ServedDocument(301, headers={"Location": f"/openapi/v3/{'/'.join(parts)}?hash={hashed}"})
            tag = f'"{hashed}"'
            shared = {"Content-Type": JSON, "Etag": tag}
            if asked:
                shared["Cache-Control"] = "public, immutable"
            return (
                ServedDocument(304, headers=shared)
                if headers.get("if-none-match") == tag
                else ServedDocument(body=body, headers=shared)
            )
    return _not_found()
