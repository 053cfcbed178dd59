"""Projected volumes: files from secrets, config maps, the downward API, tokens and certificates.

Mirrors: pkg/apis/core/validation validateProjectionSources, validateDownwardAPIVolumeFile; names.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubesim.api.validation import formats
from kubesim.api.validation.containers.env import VOLUME_FIELDS, validate_field_ref, validate_resource_field_ref
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Raw
from kubesim.api.validation.metadata import validate_annotations_size, validate_label_selector
from kubesim.api.validation.structs import cluster_trust_bundle_json, label_selector_json
from kubesim.api.validation.volumes.paths import (
    validate_file_mode,
    validate_key_to_path,
    validate_local_non_reserved_path,
)
from kubesim.golang.text import quoted

_TOKEN_SECONDS_MIN = 10 * 60
_TOKEN_SECONDS_MAX = 1 << 32
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_SECONDS_MIN = 3600
_CERTIFICATE_SECONDS_MAX = 91 * 24 * 3600
_KUBERNETES_CERTIFICATE_SECONDS_MAX = 24 * 3600
_SIGNER_MAX = formats.SUBDOMAIN_MAX + (formats.SUBDOMAIN_MAX + formats.LABEL_MAX + 1) + 1


class _Paths:
    """The paths that the sources project into the volume; each must be unique."""

    def __init__(self, errors: Errors, volume_path: str) -> None:
        self.errors = errors
        self.volume_path = volume_path
        self.seen: set[str] = set()

    def add(self, file: str, shown: str) -> None:
        if file in self.seen:
            self.errors.invalid(self.volume_path, shown, "conflicting duplicate paths")
        self.seen.add(file)


def validate_downward_api(errors: Errors, source: JsonObject, path: str) -> None:
    validate_file_mode(errors, source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        _validate_downward_api_file(errors, item, path)


def _validate_downward_api_file(errors: Errors, item: JsonObject, path: str) -> None:
    if not item.get("path"):
        errors.required(f"{path}.path")
    validate_local_non_reserved_path(errors, item.get("path", ""), f"{path}.path")
    field_ref, resource_ref = item.get("fieldRef"), item.get("resourceFieldRef")
    if field_ref is not None:
        validate_field_ref(errors, field_ref, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource_ref is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.invalid(path, "resource", detail)
    elif resource_ref is not None:
        validate_resource_field_ref(errors, resource_ref, f"{path}.resourceFieldRef", volume=True)
    else:
        errors.required(path, "one of fieldRef and resourceFieldRef is required")
    validate_file_mode(errors, item.get("mode"), f"{path}.mode")


def validate_projected(errors: Errors, source: JsonObject, path: str) -> None:
    validate_file_mode(errors, source.get("defaultMode"), f"{path}.defaultMode")
    files = _Paths(errors, path)
    for n, projection in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{n}]"
        given = [kind for kind in _RULES if projection.get(kind) is not None]
        for kind in given:
            _RULES[kind](errors, projection[kind], f"{where}.{kind}", files)
        if len(given) > 1:
            errors.forbidden(where, "may not specify more than 1 volume type per source")


def _validate_keys(errors: Errors, source: JsonObject, path: str, files: _Paths) -> None:
    name = source.get("name", "")
    if not name:
        errors.required(f"{path}.name")
    for n, item in enumerate(source.get("items") or ()):
        validate_key_to_path(errors, item, f"{path}.items[{n}]")
        if item.get("path"):
            files.add(item["path"], name)


def _validate_downward_api_projection(errors: Errors, source: JsonObject, path: str, files: _Paths) -> None:
    for item in source.get("items") or ():
        _validate_downward_api_file(errors, item, path)
        if item.get("path"):
            files.add(item["path"], item["path"])


def _validate_token(errors: Errors, source: JsonObject, path: str, files: _Paths) -> None:
    seconds, file = source.get("expirationSeconds", 0), source.get("path", "")
    if seconds < _TOKEN_SECONDS_MIN:
        detail = "may not specify a duration less than 10 minutes"
        errors.invalid(f"{path}.expirationSeconds", seconds, detail)
    if seconds > _TOKEN_SECONDS_MAX:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.invalid(f"{path}.expirationSeconds", seconds, detail)
    # Reported at the volume, not at the source.
    if not file:
        errors.required(f"{files.volume_path}.path")
    else:
        validate_local_non_reserved_path(errors, file, f"{files.volume_path}.path")


def _validate_trust_bundle(errors: Errors, source: JsonObject, path: str, files: _Paths) -> None:
    name, signer, selector = source.get("name"), source.get("signerName"), source.get("labelSelector")
    if name is not None and signer is not None:
        detail = "only one of name and signerName may be used"
        errors.invalid(path, Raw(cluster_trust_bundle_json(source)), detail)
    elif name is not None:
        if not name:
            errors.required(f"{path}.name", "must be a valid object name")
        for complaint in _trust_bundle_name(name):
            errors.invalid(f"{path}.name", name, f"not a valid clustertrustbundlename: {complaint}")
        if selector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.invalid(f"{path}.labelSelector", Raw(label_selector_json(selector)), detail)
    elif signer is not None:
        if not signer:
            errors.required(f"{path}.signerName", "must be a valid signer name")
        validate_signer_name(errors, signer, f"{path}.signerName")
        validate_label_selector(errors, selector, f"{path}.labelSelector")
    else:
        errors.required(path, "either name or signerName must be specified")
    file = source.get("path", "")
    if not file:
        errors.required(f"{path}.path")
    validate_local_non_reserved_path(errors, file, f"{path}.path")
    files.add(file, file)


def _trust_bundle_name(name: str) -> Sequence[str]:
    """Check the name of a trust bundle: the bundle of a signer has the signer's name as prefix."""
    prefix, colon, rest = name.rpartition(":")
    if not colon:
        return formats.dns1123_subdomain(name)
    signer = prefix.replace(":", "/")
    if not signer:
        return ['ClusterTrustBundle without signer name must not have ":" in its name']
    if signer.replace("/", ":") != prefix:
        required = signer.replace("/", ":") + ":"
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {required}"]
    return formats.dns1123_subdomain(rest)


def validate_signer_name(errors: Errors, signer: str, path: str) -> None:
    if not signer:
        errors.required(path)
        return
    segments = signer.split("/")
    if len(segments) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errors.invalid(path, signer, detail)
        return
    domain, name = segments
    if formats.size(domain) > formats.SUBDOMAIN_MAX:
        errors.too_long(path, formats.SUBDOMAIN_MAX)
    _first_bad_label(errors, domain, path, formats.dns1123_label)
    if "." not in domain:
        errors.invalid(path, domain, "should be a domain with at least two segments separated by dots")
    _first_bad_label(errors, name, path, formats.dns1123_subdomain)
    if formats.size(signer) > _SIGNER_MAX:
        errors.too_long(path, _SIGNER_MAX)


def _first_bad_label(errors: Errors, text: str, path: str, rule: Callable[[str], Sequence[str]]) -> None:
    for label in text.split("."):
        complaints = rule(label)
        for complaint in complaints:
            errors.invalid(path, text, f"validating label {quoted(label)}: {complaint}")
        if complaints:
            return


def _validate_certificate(errors: Errors, source: JsonObject, path: str, files: _Paths) -> None:
    signer = source.get("signerName", "")
    validate_signer_name(errors, signer, f"{path}.signerName")
    annotations = source.get("userAnnotations")
    if annotations is not None:
        for key in annotations:
            _validate_domain_prefixed_key(errors, key.lower(), f"{path}.userAnnotations")
        validate_annotations_size(errors, annotations, f"{path}.userAnnotations")
    key_type = source.get("keyType", "")
    if key_type not in _KEY_TYPES:
        detail = "supported values: " + ", ".join(f'"{kind}"' for kind in _KEY_TYPES)
        errors.append(FieldError("Unsupported value", f"{path}.keyType", key_type, detail))
    _validate_certificate_seconds(errors, source.get("maxExpirationSeconds"), signer, f"{path}.maxExpirationSeconds")
    names = ("credentialBundlePath", "keyPath", "certificateChainPath")
    for name in names:
        if source.get(name):
            validate_local_non_reserved_path(errors, source[name], f"{path}.{name}")
            files.add(source[name], source[name])
    if not any(source.get(name) for name in names):
        errors.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


def _validate_certificate_seconds(errors: Errors, seconds: int | None, signer: str, path: str) -> None:
    if seconds is None:
        return
    if seconds < _CERTIFICATE_SECONDS_MIN:
        detail = f"if provided, maxExpirationSeconds must be >= {_CERTIFICATE_SECONDS_MIN}"
        errors.invalid(path, seconds, detail)
    host = signer.partition("/")[0]
    kubernetes = host == "kubernetes.io" or host.endswith(".kubernetes.io")
    limit = _KUBERNETES_CERTIFICATE_SECONDS_MAX if kubernetes else _CERTIFICATE_SECONDS_MAX
    if seconds > limit:
        errors.invalid(path, seconds, f"if provided, maxExpirationSeconds must be <= {limit}")


def _validate_domain_prefixed_key(errors: Errors, key: str, path: str) -> None:
    if not key:
        errors.required(path)
        return
    complaints = formats.label_key(key)
    errors.all_invalid(path, key, complaints)
    if not complaints and "/" not in key:
        errors.invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")')


_RULES: Mapping[str, Callable[[Errors, JsonObject, str, _Paths], None]] = {
    "secret": _validate_keys,
    "configMap": _validate_keys,
    "downwardAPI": _validate_downward_api_projection,
    "serviceAccountToken": _validate_token,
    "clusterTrustBundle": _validate_trust_bundle,
    "podCertificate": _validate_certificate,
}
