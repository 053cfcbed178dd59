"""Paths and modes of files in volumes, mounts and profiles.

Mirrors: pkg/apis/core/validation validateLocalDescendingPath, validatePathNoBacksteps, ValidateLocalNonReservedPath,
validateKeyToPath
"""

from __future__ import annotations

from kubesim.api.validation.field import Errors, JsonObject

_MODE_MAX = 0o777


def has_backsteps(text: str) -> bool:
    return ".." in text.split("/")


def validate_no_backsteps(errors: Errors, text: str, path: str) -> None:
    if has_backsteps(text):
        errors.invalid(path, text, "must not contain '..'")


def validate_local_descending_path(errors: Errors, text: str, path: str) -> None:
    if text.startswith("/"):
        errors.invalid(path, text, "must be a relative path")
    validate_no_backsteps(errors, text, path)


def validate_local_non_reserved_path(errors: Errors, text: str, path: str) -> None:
    validate_local_descending_path(errors, text, path)
    if text.startswith("..") and not text.startswith("../"):
        errors.invalid(path, text, "must not start with '..'")


def validate_file_mode(errors: Errors, mode: int | None, path: str) -> None:
    if mode is not None and not 0 <= mode <= _MODE_MAX:
        errors.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def validate_key_to_path(errors: Errors, item: JsonObject, path: str) -> None:
    for name in ("key", "path"):
        if not item.get(name):
            errors.required(f"{path}.{name}")
    validate_local_non_reserved_path(errors, item.get("path", ""), f"{path}.path")
    validate_file_mode(errors, item.get("mode"), f"{path}.mode")
