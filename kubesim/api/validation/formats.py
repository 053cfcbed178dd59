"""Format checks for names, keys, ports and addresses. Each function returns the errors for one text.

Mirrors: apimachinery/pkg/util/validation validation.go, ip.go; api/validate/content; api/validation/generic.go
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = rf"{_LABEL_UNDERSCORE}(\.{_LABEL_UNDERSCORE})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_LABEL_RE, _SUBDOMAIN_RE, _SUBDOMAIN_UNDERSCORE_RE, _KEY_RE, _VALUE_RE, _CONFIG_KEY_RE, _HEADER_RE = (
    re.compile(text) for text in (_LABEL, _SUBDOMAIN, _SUBDOMAIN_UNDERSCORE, _KEY, _VALUE, _CONFIG_KEY, _HEADER)
)
# Leading zeros of an IPv4 octet, and leading zeros that make an IPv6 group longer than four digits.
_DECIMAL_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_HEX_ZEROS = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F]{4}(?![0-9a-fA-F]))")
_PORT_NAME = re.compile("[-a-z0-9]+")
_LOWER = "lower case alphanumeric characters"
_ALPHANUMERIC_ENDS = "and must start and end with an alphanumeric character"
_KEY_MESSAGE = f"must consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC_ENDS}"

LABEL_MAX = 63
SUBDOMAIN_MAX = 253
MAX_INT32 = 2**31 - 1


def size(text: str) -> int:
    """The length in bytes, like Go's len."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def regex_error(message: str, expression: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} ({'e.g. ' if shown else ''}{shown}regex used for validation is '{expression}')"


_KEY_ERROR = regex_error(_KEY_MESSAGE, _KEY, "MyName", "my.name", "123-abc")


def range_error(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


# Cached, because pods of one template repeat the same texts.


@lru_cache(maxsize=1024)
def dns1123_label(text: str) -> Sequence[str]:
    errors = [] if size(text) <= LABEL_MAX else [f"must be no more than {LABEL_MAX} characters"]
    if not _LABEL_RE.fullmatch(text):
        if _SUBDOMAIN_RE.fullmatch(text):
            errors.append("must not contain dots")
        else:
            message = f"a lowercase RFC 1123 label must consist of {_LOWER} or '-', {_ALPHANUMERIC_ENDS}"
            errors.append(regex_error(message, _LABEL, "my-name", "123-abc"))
    return errors


def dns1035_label(text: str) -> list[str]:
    errors = [] if size(text) <= LABEL_MAX else [f"must be no more than {LABEL_MAX} characters"]
    if not re.fullmatch(_LABEL_1035, text):
        message = (
            f"a DNS-1035 label must consist of {_LOWER} or '-', start with an alphabetic character, and end with an "
            "alphanumeric character"
        )
        errors.append(regex_error(message, _LABEL_1035, "my-name", "abc-123"))
    return errors


@lru_cache(maxsize=1024)
def dns1123_subdomain(text: str, unit: str = "characters") -> Sequence[str]:
    errors = [] if size(text) <= SUBDOMAIN_MAX else [f"must be no more than {SUBDOMAIN_MAX} {unit}"]
    if not _SUBDOMAIN_RE.fullmatch(text):
        message = f"a lowercase RFC 1123 subdomain must consist of {_LOWER}, '-' or '.', {_ALPHANUMERIC_ENDS}"
        errors.append(regex_error(message, _SUBDOMAIN, "example.com"))
    return errors


def dns1123_subdomain_with_underscore(text: str) -> list[str]:
    errors = [] if size(text) <= SUBDOMAIN_MAX else [f"must be no more than {SUBDOMAIN_MAX} characters"]
    if not _SUBDOMAIN_UNDERSCORE_RE.fullmatch(text):
        message = f"a lowercase RFC 1123 subdomain must consist of {_LOWER}, '_', '-' or '.', {_ALPHANUMERIC_ENDS}"
        errors.append(regex_error(message, _SUBDOMAIN_UNDERSCORE, "example.com"))
    return errors


def name_prefix(text: str) -> str:
    """A name prefix made valid for name checks: it may end in a dash, because a suffix will follow."""
    return text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text


@lru_cache(maxsize=1024)
def label_key(text: str) -> Sequence[str]:
    """Check a qualified name: `name` or `example.com/name`."""
    parts = text.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_ERROR} {optional}"]
    errors = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        errors += [f"prefix part {error}" for error in (dns1123_subdomain(parts[0], "bytes") if parts[0] else ())]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif size(name) > LABEL_MAX:
        errors.append(f"name part must be no more than {LABEL_MAX} bytes")
    if not _KEY_RE.fullmatch(name):
        errors.append(f"name part {_KEY_ERROR}")
    return errors


def label_value(text: str) -> list[str]:
    errors = [] if size(text) <= LABEL_MAX else [f"must be no more than {LABEL_MAX} bytes"]
    if not _VALUE_RE.fullmatch(text):
        message = f"a valid label must be an empty string or {_KEY_MESSAGE.removeprefix('must ')}"
        errors.append(regex_error(message, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else [range_error(1, 65535)]


def port_name(text: str) -> list[str]:
    errors = [] if size(text) <= 15 else ["must be no more than 15 characters"]
    if not _PORT_NAME.fullmatch(text):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", text):
        errors.append("must contain at least one letter (a-z)")
    if "--" in text:
        errors.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def unix_id(number: int) -> list[str]:
    return [] if 0 <= number <= MAX_INT32 else [range_error(0, MAX_INT32)]


def http_header_name(text: str) -> list[str]:
    if _HEADER_RE.fullmatch(text):
        return []
    message = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_error(message, _HEADER, "X-Header-Name")]


def env_var_name(text: str) -> list[str]:
    errors = [] if text else ["environment variable name must be non-empty"]
    if any(not " " <= char <= "~" or char == "=" for char in text):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return errors


def config_map_key(text: str) -> list[str]:
    errors = [] if size(text) <= SUBDOMAIN_MAX else [f"must be no more than {SUBDOMAIN_MAX} characters"]
    if not _CONFIG_KEY_RE.fullmatch(text):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_error(message, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if text in (".", ".."):
        errors.append(f"must not be '{text}'")
    elif text.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def percent(text: str) -> list[str]:
    message = "a valid percent string must be a numeric string followed by an ending '%'"
    return [] if re.fullmatch(_PERCENT, text) else [regex_error(message, _PERCENT, "1%", "93%")]


def decimal_integer(text: str) -> list[str]:
    if not text:
        return ["must be non-empty"]
    return [] if re.fullmatch("0|-?[1-9][0-9]*", text) else ["must be a valid decimal integer in canonical form"]


def ip_address(text: str, *, strict: bool = True) -> list[str]:
    """Check an IP address. Unless `strict`, fields that predate strict rules accept any spelling, but not leading zeros
    or IPv4-mapped addresses.
    """
    head, colon, last = text.rpartition(":")
    zeros = _DECIMAL_ZEROS if "." in last else _HEX_ZEROS
    without_zeros = _HEX_ZEROS.sub("", head) + colon + zeros.sub("", last)
    try:
        address = ipaddress.ip_address("%" if "%" in text else without_zeros)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if not strict:
        return []
    if without_zeros != text:
        return ["must not have leading 0s"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return []


def network(text: str) -> list[str]:
    """Check a network in CIDR form."""
    address, slash, prefix = text.partition("/")
    bits = 128 if ":" in address else 32
    if not slash or not prefix.isdecimal() or int(prefix) > bits or ip_address(address, strict=False):
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    strict = ip_address(address)
    if strict == ["must not have leading 0s"] or prefix != str(int(prefix)):
        return ["must not have leading 0s in IP or prefix length"]
    if strict:
        return ["must not have an IPv4-mapped IPv6 address"]
    if ipaddress.ip_network(text, strict=False).network_address != ipaddress.ip_address(address):
        return ["must not have bits set beyond the prefix length"]
    return []


def path_segment(text: str) -> list[str]:
    """Check a name that is one segment of a URL's path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in text]


def wildcard_subdomain(text: str) -> list[str]:
    """Check a subdomain whose first label is `*`."""
    errors = [] if size(text) <= SUBDOMAIN_MAX else [f"must be no more than {SUBDOMAIN_MAX} characters"]
    if re.fullmatch(_WILDCARD, text):
        return errors
    message = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        f"{_LOWER}, '-' or '.' and end with an alphanumeric character"
    )
    return [*errors, regex_error(message, _WILDCARD, "*.example.com")]


def http_path(text: str) -> list[str]:
    return [] if re.fullmatch(_PATH, text) else [regex_error("Invalid path", _PATH)]
