"""The options of a write, from its query: dry run, field manager, field validation, force.

Mirrors: apimachinery/pkg/apis/meta/v1/validation ValidateCreateOptions, ValidateUpdateOptions, ValidatePatchOptions
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kubesim.api.validation.field import Errors, FieldError, Raw
from kubesim.cluster.problems import invalid_options
from kubesim.values import value_object

APPLY_PATCH = "application/apply-patch+yaml"
MANAGER_MAX = 128
_FIELD_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


@value_object
class WriteOptions:
    """Options of a write. `manager` is the client's User-Agent if the query does not name a field manager."""

    dry_run: bool = False
    manager: str = ""
    field_validation: str = "Warn"
    force: bool = False

    @property
    def is_strict(self) -> bool:
        return self.field_validation == "Strict"

    @property
    def warns(self) -> bool:
        return self.field_validation == "Warn"


def is_set(query: Mapping[str, Sequence[str]], name: str) -> bool | None:
    """The value of a boolean query parameter: true unless it is `0` or `false`, also if it is empty. None: absent."""
    if name not in query:
        return None
    value = query[name][0]
    return value != "0" and value.lower() != "false"


def write_options(
    method: str, query: Mapping[str, Sequence[str]], content_type: str = "", user_agent: str = ""
) -> WriteOptions:
    """Parse and validate the options; raises 422."""
    errors = Errors()
    manager, force = query.get("fieldManager", [""])[0], is_set(query, "force")
    if method == "PATCH":
        if content_type == APPLY_PATCH:
            if not manager:
                errors.required("fieldManager", "is required for apply patch")
        elif force is not None:
            errors.forbidden("force", "may not be specified for non-apply patch")
    if len(manager.encode()) > MANAGER_MAX:
        errors.too_long("fieldManager", MANAGER_MAX)
    for at, character in enumerate(manager):
        if not character.isprintable():
            position = len(manager[:at].encode())
            problem = f"invalid character U+{ord(character):04X} (at position {position})"
            errors.invalid("fieldManager", manager, problem)
    dry_run = query.get("dryRun", ())
    errors += check_dry_run(dry_run)
    validation = query.get("fieldValidation", [""])[0]
    if validation not in _FIELD_VALIDATIONS:
        errors.unsupported("fieldValidation", validation, _FIELD_VALIDATIONS)
    if errors:
        raise invalid_options(_KINDS[method], errors)
    return WriteOptions(bool(dry_run), manager or _client(user_agent), validation or "Warn", bool(force))


def check_dry_run(values: Sequence[str]) -> Errors:
    errors = Errors()
    if any(value != "All" for value in values):
        shown = Raw(json.dumps(list(values), separators=(",", ":")))
        errors.append(FieldError("Unsupported value", "dryRun", shown, 'supported values: "All"'))
    return errors


def _client(user_agent: str) -> str:
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode()[:MANAGER_MAX].decode(errors="ignore") or "unknown"
