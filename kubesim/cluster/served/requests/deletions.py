"""The options of a DELETE: from its body, or from its query if the body is empty.

Mirrors: apiserver/pkg/endpoints/handlers delete.go DeleteResource
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.schema.codec import DecodeError, decode
from kubesim.api.validation.field import JsonObject
from kubesim.cluster.problems import bad_request, invalid_options
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.served.lists import parse_int
from kubesim.cluster.served.negotiation import PROTOBUF
from kubesim.cluster.served.requests.bodies import NO_KIND, Body, parse, unreadable
from kubesim.cluster.served.requests.options import check_dry_run
from kubesim.golang import json as gojson

_META_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"


def delete_options(body: Body, query: Mapping[str, Sequence[str]]) -> DeleteOptions:
    if body.media_type == PROTOBUF and body.raw:
        return _read(parse(body, "DeleteOptions"))
    if body.text:
        try:
            value = gojson.loads(body.text)
        except gojson.JsonSyntaxError as error:
            raise bad_request(f"{NO_KIND}: {error}") from None
        problem = unreadable(value)
        if problem:
            raise bad_request(f"{NO_KIND}: {problem}")
        value = value or {}
        kind, version = value.get("kind") or "", value.get("apiVersion") or ""
        if kind not in ("", "DeleteOptions"):
            raise bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_META_SCHEME}"')
        if value:
            return _read(value)
    return _read(_from_query(query))


def _from_query(query: Mapping[str, Sequence[str]]) -> JsonObject:
    value: JsonObject = {}
    grace = parse_int(query.get("gracePeriodSeconds", [""])[0])
    if grace is not None:
        value["gracePeriodSeconds"] = grace
    if "orphanDependents" in query:
        value["orphanDependents"] = query["orphanDependents"][0] == "true"
    if "propagationPolicy" in query:
        value["propagationPolicy"] = query["propagationPolicy"][0]
    if "dryRun" in query:
        value["dryRun"] = list(query["dryRun"])
    return value


def _read(value: JsonObject) -> DeleteOptions:
    try:
        options = decode("DeleteOptions", value)
    except DecodeError as error:
        raise bad_request(str(error)) from None
    return options_of(options)


def options_of(options: JsonObject) -> DeleteOptions:
    preconditions = options.get("preconditions") or {}
    errors = check_dry_run(options.get("dryRun") or ())
    if errors:
        raise invalid_options("DeleteOptions", errors)
    return DeleteOptions(
        grace_s=options.get("gracePeriodSeconds"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        orphan_dependents=options.get("orphanDependents"),
        propagation_policy=options.get("propagationPolicy"),
        dry_run=bool(options.get("dryRun")),
    )
