"""Redaction of secrets in every text that a log line quotes: Events, errors, the output of probes.

A line never contains a command, an environment or the headers of a request. A container may still print a secret, and
the output of a probe becomes part of an Event. Therefore the values of Secrets and environment variables of a run are
replaced wherever they occur, and so are credentials with a known format.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from kubesim.trace.klog.line import KlogLine, Ref
from kubesim.values import replace

REDACTED = "--- REDACTED ---"
WORD = 4  # a shorter secret is replaced only as a whole word
_CREDENTIALS = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+"), rf"\1 {REDACTED}"),
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), REDACTED),  # https://user:password@host
    (re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"), REDACTED),  # a JSON web token
)


class Redaction:
    """Replaces the given values, and every text in the format of a credential."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        found = sorted({value for value in values if value.strip()}, key=lambda value: (-len(value), value))
        self._values = re.compile("|".join(map(_pattern, found))) if found else None

    def line(self, line: KlogLine) -> KlogLine:
        return replace(line, pairs={name: self._value(value) for name, value in line.pairs.items()})

    def _value(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self._value(item) for name, item in value.items()}
        return type(value)(map(self._value, value)) if isinstance(value, tuple | list) else value

    def text(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(REDACTED, text)
        for pattern, replacement in _CREDENTIALS:
            text = pattern.sub(replacement, text)
        return text


def _pattern(value: str) -> str:
    escaped = re.escape(value)
    return escaped if len(value) >= WORD else rf"(?<!\w){escaped}(?!\w)"


def confidential(content: Any) -> Iterator[str]:
    """The confidential values in anything that contains manifests: data of Secrets, values of environment variables.

    Numbers and short words in an environment are not secrets; otherwise ports and log levels would disappear from the
    log.
    """
    if isinstance(content, Mapping):
        if content.get("kind") == "Secret":
            yield from _secret(content)
        for variable in content.get("env") or ():
            value = variable.get("value") if isinstance(variable, Mapping) else None
            if isinstance(value, str) and len(value) >= WORD and not value.isdigit():
                yield value
        for item in content.values():
            yield from confidential(item)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from confidential(item)


def _secret(secret: Mapping[str, Any]) -> Iterator[str]:
    for text in (secret.get("stringData") or {}).values():
        yield from _both_forms(str(text).encode())
    for text in (secret.get("data") or {}).values():
        try:
            yield from _both_forms(base64.b64decode(str(text), validate=True))
        except (binascii.Error, ValueError):
            yield str(text)


def _both_forms(data: bytes) -> Iterator[str]:
    """A value in plain text and in base64, and each of its parts: lines, or the values of a JSON object
    (.dockerconfigjson).
    """
    yield base64.b64encode(data).decode()
    text = data.decode(errors="replace")
    yield text
    yield from text.split("\n")
    with suppress(ValueError, RecursionError):
        yield from _leaves(json.loads(text))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
