"""Describes Services, ConfigMaps, Secrets, namespaces, and, field by field, all other kinds.

Mirrors: kubectl/pkg/describe describe.go describeService, ConfigMapDescriber, describeSecret, genericDescriber
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubesim.cluster.kubectl.describe.page import DescriptionPage
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, UNSET, format_labels

_MOST = 3
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|-")
_ACRONYMS = ("API", "URL", "UID", "GUID")
_ELSEWHERE = (".metadata.managedFields", ".metadata.name", ".metadata.namespace", ".metadata.labels",
              ".metadata.annotations")  # fmt: skip


def describe_service(
    page: DescriptionPage, obj: JsonObject, slices: Sequence[JsonObject], events: Sequence[JsonObject]
) -> None:
    spec = obj.get("spec") or {}
    page.names(obj)
    page.marks(obj)
    page.field("Selector", format_labels(spec.get("selector")))
    page.field("Type", spec.get("type", ""))
    page.optional("IP Family Policy", spec.get("ipFamilyPolicy"))
    page.field("IP Families", ",".join(spec.get("ipFamilies") or ()) or NONE)
    page.field("IP", spec.get("clusterIP", ""))
    page.field("IPs", ",".join(spec.get("clusterIPs") or ()) or NONE)
    page.optional("External IPs", ",".join(spec.get("externalIPs") or ()))
    page.optional("Desired LoadBalancer IP", spec.get("loadBalancerIP"))
    page.optional("External Name", spec.get("externalName"))
    ingress = dig(obj, "status.loadBalancer.ingress", ())
    page.optional("LoadBalancer Ingress", ", ".join(map(_ingress, ingress)))
    for port in spec.get("ports") or ():
        name, protocol = port.get("name") or UNSET, port.get("protocol", "TCP")
        page.field("Port", f"{name}\t{port['port']}/{protocol}")
        page.field("TargetPort", f"{port.get('targetPort', port['port'])}/{protocol}")
        page.optional("AppProtocol", port.get("appProtocol"))
        if port.get("nodePort"):
            page.field("NodePort", f"{name}\t{port['nodePort']}/{protocol}")
        page.field("Endpoints", _endpoints(slices, port.get("name", "")))
    page.field("Session Affinity", spec.get("sessionAffinity", ""))
    page.optional("External Traffic Policy", spec.get("externalTrafficPolicy"))
    page.optional("Internal Traffic Policy", spec.get("internalTrafficPolicy"))
    page.optional("HealthCheck NodePort", spec.get("healthCheckNodePort") or None)
    page.optional("LoadBalancer Source Ranges", ",".join(spec.get("loadBalancerSourceRanges") or ()))
    page.optional("Traffic Distribution", spec.get("trafficDistribution"))
    page.events(events)


def _ingress(each: JsonObject) -> str:
    if not each.get("ip"):
        return str(each.get("hostname", ""))
    return f"{each['ip']} ({each['ipMode']})" if each.get("ipMode") else str(each["ip"])


def _endpoints(slices: Sequence[JsonObject], port: str) -> str:
    """The ready addresses, with the number of the named port."""
    if not slices:
        return NONE
    found = []
    for each in slices:
        ready = [one for one in each.get("endpoints") or () if dig(one, "conditions.ready", True)]
        numbers = [p.get("port") for p in each.get("ports") or () if p.get("name", "") == port]
        for number in numbers if each.get("ports") else [None]:
            found += [_address(one["addresses"][0], number) for one in ready if one.get("addresses")]
    if len(found) > _MOST:
        return f"{','.join(found[:_MOST])} + {len(found) - _MOST} more..."
    return ",".join(found)


def _address(address: str, port: int | None) -> str:
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def describe_config_map(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    page.names(obj)
    page.marks(obj)
    page.line("\nData\n====")
    for key, value in sorted((obj.get("data") or {}).items()):
        page.line(f"{key}:\n----\n{value}\n")
    page.line("\nBinaryData\n====")
    for key, value in sorted((obj.get("binaryData") or {}).items()):
        page.line(f"{key}: {len(value.rstrip('=')) * 3 // 4} bytes")
    page.line("")
    page.events(events)


def describe_secret(page: DescriptionPage, obj: JsonObject) -> None:
    """Describe a Secret without sizes, because a run stores no Secret data."""
    page.names(obj)
    page.marks(obj)
    page.line(f"\nType:\t{obj.get('type', '')}")
    page.line("\nData\n====")
    for key in sorted(obj.get("data") or {}):
        page.field(key, "REDACTED")


def describe_service_account(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    page.names(obj)
    page.marks(obj)
    names = [each.get("name", "") for each in obj.get("imagePullSecrets") or ()]
    page.field("Image pull secrets", f"\n{' ' * 19}\t".join(names) or NONE)
    page.events(events)


def describe_priority_class(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    page.field("Name", obj["metadata"]["name"])
    page.field("Value", obj.get("value", 0))
    page.field("GlobalDefault", _text(obj.get("globalDefault", False)))
    page.field("PreemptionPolicy", obj.get("preemptionPolicy", ""))
    page.field("Description", obj.get("description", ""))
    annotations = dig(obj, "metadata.annotations") or {}
    page.field("Annotations", ",".join(f"{key}={value}" for key, value in sorted(annotations.items())) or NONE)
    page.events(events)


def describe_namespace(page: DescriptionPage, obj: JsonObject) -> None:
    page.field("Name", obj["metadata"]["name"])
    page.marks(obj)
    page.field("Status", dig(obj, "status.phase", ""))
    page.line("\nNo resource quota.")
    page.line("\nNo LimitRange resource.")


def describe_any(page: DescriptionPage, obj: JsonObject, events: Sequence[JsonObject]) -> None:
    page.names(obj)
    page.marks(obj)
    _content(page, obj, 0, "")
    page.events(events)


def _content(page: DescriptionPage, content: Mapping[str, Any], level: int, above: str) -> None:
    for field, value in sorted(content.items()):
        path = f"{above}.{field}"
        if path in _ELSEWHERE:
            continue
        if isinstance(value, dict | list):
            page.line(f"{smart_label(field)}:", level)
            for child in [value] if isinstance(value, dict) else value:
                if isinstance(child, dict):
                    _content(page, child, level + 1, path)
                else:
                    page.line(_text(child), level + 1)
        else:
            page.field(smart_label(field), _text(value), level)


def _text(value: Any) -> str:
    return "<nil>" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def smart_label(field: str) -> str:
    """`creationTimestamp` -> `Creation Timestamp`; a name with other characters than letters stays."""
    if not re.fullmatch(r"[A-Za-z-]*", field):
        return field
    words: list[str] = []
    for word in _WORDS.findall(field):
        if words and len(words[-1]) > 1 and words[-1].isupper() and word[0].isupper():
            words[-1] += word
        else:
            words.append(word)
    return " ".join(word.upper() if word.upper() in _ACRONYMS else word[:1].upper() + word[1:] for word in words)
