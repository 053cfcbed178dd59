"""Messages of CRI as JSON for a recording, without what may be secret.

Left out are credentials, the values of environment variables, the output of commands, the tokens of streaming URLs, the
verbose information of runtimes, and the annotation in which kubectl keeps a whole manifest. The arguments of commands
stay.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

REDACTED = "[redacted]"
_SECRET = frozenset(
    {
        ("AuthConfig", "password"),
        ("AuthConfig", "auth"),
        ("AuthConfig", "identity_token"),
        ("AuthConfig", "registry_token"),
        ("WindowsContainerSecurityContext", "credential_spec"),
        ("WindowsSandboxSecurityContext", "credential_spec"),
    }
)
_SECRET_MAPS = frozenset({"info"})
_SECRET_KEYS = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})


def shown(message: Message) -> dict[str, Any]:
    """Set fields by name; enumerations by name."""
    name = message.DESCRIPTOR.name
    return {field.name: _field(name, field, value) for field, value in message.ListFields()}


def _field(owner: str, field: FieldDescriptor, value: Any) -> Any:
    if (owner, field.name) in _SECRET:
        return REDACTED
    if field.name == "url" and owner.endswith("Response"):
        return f"{str(value).rpartition('/')[0]}/{REDACTED}"
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        is_secret = field.name in _SECRET_MAPS
        return {key: REDACTED if is_secret or key in _SECRET_KEYS else text for key, text in sorted(value.items())}
    if field.is_repeated:
        return [_value(field, each) for each in value]
    return _value(field, value)


def _value(field: FieldDescriptor, value: Any) -> Any:
    if isinstance(value, Message):
        return shown(value)
    if isinstance(value, bytes):
        return f"{REDACTED[:-1]} {len(value)} bytes]"
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return value
