"""Describes the containers of a pod or a template.

Mirrors: kubectl/pkg/describe describe.go describeContainers and what it calls
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.quantity import parse_quantity
from kubesim.cluster.kubectl.describe.page import DescriptionPage, canonical, date
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, yes_or_no
from kubesim.golang.text import listed, quoted

_PROBES = (("Liveness", "livenessProbe"), ("Readiness", "readinessProbe"), ("Startup", "startupProbe"))


def describe_containers(
    page: DescriptionPage,
    label: str,
    containers: Sequence[JsonObject],
    *,
    statuses: Iterable[JsonObject] = (),
    pod: JsonObject | None = None,
    space: str = "",
) -> None:
    """Describe containers. `pod` resolves field references; `space` indents a template's lines."""
    by_name = {status["name"]: status for status in statuses}
    page.line(f"{space}{label}:{'' if containers else f' {NONE}'}")
    for container in containers:
        status = by_name.get(container["name"])
        page.line(f"{' ' if space else ''}{container['name']}:", 1)
        _basics(page, container, status)
        for title, field in (("Command", "command"), ("Args", "args")):
            if container.get(field):
                page.line(f"{title}:", 2)
            for word in container.get(field) or ():
                for line in word.split("\n"):
                    page.line(line, 3)
        if status is not None:
            _state(page, "State", status.get("state") or {})
            if dig(status, "lastState.terminated") is not None:
                _state(page, "Last State", status["lastState"])
            page.field("Ready", yes_or_no(bool(status.get("ready"))), 2)
            page.field("Restart Count", status.get("restartCount", 0), 2)
        describe_resources(page, container.get("resources") or {}, 2)
        for title, field in _PROBES:
            if container.get(field) is not None:
                page.field(title, describe_probe(container[field]), 2)
        _environment(page, container, pod)
        _mounts(page, container)


def _basics(page: DescriptionPage, container: JsonObject, status: JsonObject | None) -> None:
    if status is not None:
        page.field("Container ID", status.get("containerID", ""), 2)
    page.field("Image", container.get("image", ""), 2)
    if status is not None:
        page.field("Image ID", status.get("imageID", ""), 2)
    for title, field in (("Port", "containerPort"), ("Host Port", "hostPort")):
        ports = ", ".join(_port(each, field) for each in container.get("ports") or ())
        page.field(title + ("s" if "," in ports else ""), ports or NONE, 2)
    profile = dig(container, "securityContext.seccompProfile")
    if profile is not None:
        page.field("SeccompProfile", profile.get("type", ""), 2)
        if profile.get("type") == "Localhost":
            page.field("LocalhostProfile", profile.get("localhostProfile", ""), 3)


def _port(port: JsonObject, field: str) -> str:
    text = f"{port.get(field, 0)}/{port.get('protocol', 'TCP')}"
    return f"{text} ({port['name']})" if port.get("name") else text


def _state(page: DescriptionPage, name: str, state: JsonObject) -> None:
    running, ended = state.get("running"), state.get("terminated")
    if running is not None:
        page.field(name, "Running", 2)
        page.field("Started", date(running.get("startedAt")), 3)
    elif ended is not None and state.get("waiting") is None:
        page.field(name, "Terminated", 2)
        page.optional("Reason", ended.get("reason"), 3)
        page.optional("Message", ended.get("message"), 3)
        page.field("Exit Code", ended.get("exitCode", 0), 3)
        page.optional("Signal", ended.get("signal") or None, 3)
        page.field("Started", date(ended.get("startedAt")), 3)
        page.field("Finished", date(ended.get("finishedAt")), 3)
    else:
        page.field(name, "Waiting", 2)
        page.optional("Reason", dig(state, "waiting.reason"), 3)


def describe_resources(page: DescriptionPage, resources: JsonObject, level: int) -> None:
    for title in ("Limits", "Requests"):
        amounts = resources.get(title.lower()) or {}
        if amounts:
            page.line(f"{title}:", level)
        for name, amount in sorted(amounts.items()):
            page.field(name, canonical(amount), level + 1)


def describe_probe(probe: JsonObject) -> str:
    delay, timeout, period, success, failure = (
        probe.get(field, 0)
        for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    )
    attributes = f"delay={delay}s timeout={timeout}s period={period}s #success={success} #failure={failure}"
    if (command := probe.get("exec")) is not None:
        return f"exec {listed(command.get('command') or ())} {attributes}"
    if (http := probe.get("httpGet")) is not None:
        path = http.get("path", "")
        host = http.get("host", "")
        where = f"{f'[{host}]' if ':' in host else host}:{http.get('port', '')}"
        slash = "/" if path and not path.startswith("/") else ""
        return f"http-get {http.get('scheme', 'HTTP').lower()}://{where}{slash}{path} {attributes}"
    if (tcp := probe.get("tcpSocket")) is not None:
        return f"tcp-socket {tcp.get('host', '')}:{tcp.get('port', '')} {attributes}"
    if (grpc := probe.get("grpc")) is not None:
        return f"grpc <pod>:{grpc.get('port', 0)} {grpc.get('service') or ''} {attributes}"
    return f"unknown {attributes}"


# -- environment and mounts -------------------------------------------------------------------------------------


def _environment(page: DescriptionPage, container: JsonObject, pod: JsonObject | None) -> None:
    sources = container.get("envFrom") or ()
    if sources:
        page.line("Environment Variables from:", 2)
    for each in sources:
        kind = "ConfigMap" if each.get("configMapRef") is not None else "Secret"
        source = each.get("configMapRef") or each.get("secretRef") or {}
        prefix = f" with prefix '{each['prefix']}'" if each.get("prefix") else ""
        optional = str(bool(source.get("optional"))).lower()
        page.line(f"{source.get('name', '')}\t{kind}{prefix}\tOptional: {optional}", 3)
    variables = container.get("env") or ()
    page.line("Environment:" + ("" if variables else f"\t{NONE}"), 2)
    for each in variables:
        source = each.get("valueFrom")
        if source is None:
            first, *rest = each.get("value", "").split("\n")
            page.field(each["name"], first, 3)
            for line in rest:
                page.line(f"\t{line}", 3)
        else:
            page.field(each["name"], _from(source, container, pod), 3)


def _from(source: JsonObject, container: JsonObject, pod: JsonObject | None) -> str:
    if (field := source.get("fieldRef")) is not None:
        path = field.get("fieldPath", "")
        return f"{_field_value(path, pod)} ({field.get('apiVersion', 'v1')}:{path})"
    if (field := source.get("resourceFieldRef")) is not None:
        resource = field.get("resource", "")
        value = _resource_value(field, container)
        if value == "0" and resource in ("limits.cpu", "limits.memory"):
            value = "node allocatable"
        return f"{value} ({resource})"
    for kind, text in (("secretKeyRef", "in secret"), ("configMapKeyRef", "of config map")):
        if (ref := source.get(kind)) is not None:
            optional = str(bool(ref.get("optional"))).lower()
            return f"<set to the key '{ref.get('key', '')}' {text} '{ref.get('name', '')}'>\tOptional: {optional}"
    return ""


def _field_value(path: str, pod: JsonObject | None) -> str:
    """The value of a field reference. kubectl resolves only these two."""
    return str(dig(pod, path, "")) if path in ("metadata.name", "metadata.namespace") else ""


def _resource_value(field: JsonObject, container: JsonObject) -> str:
    """A resource divided by the divisor, rounded up."""
    kind, _, name = field.get("resource", "").partition(".")
    amount = parse_quantity(str(dig(container, f"resources.{kind}", {}).get(name, "0")))
    divisor = str(field.get("divisor") or "0")
    unit = parse_quantity("1" if divisor == "0" else divisor)
    if name == "cpu":
        return str(-(-amount.milli_value() // unit.milli_value()))
    return str(-(-amount.value() // unit.value()))


def _mounts(page: DescriptionPage, container: JsonObject) -> None:
    mounts = sorted(container.get("volumeMounts") or (), key=lambda each: each.get("mountPath", ""))
    page.line("Mounts:" + ("" if mounts else f"\t{NONE}"), 2)
    for each in mounts:
        flags = "ro" if each.get("readOnly") else "rw"
        flags += f",path={quoted(each['subPath'])}" if each.get("subPath") else ""
        page.line(f"{each.get('mountPath', '')} from {each.get('name', '')} ({flags})", 3)
    devices = sorted(container.get("volumeDevices") or (), key=lambda each: each.get("devicePath", ""))
    if devices:
        page.line("Devices:" + ("" if mounts else f"\t{NONE}"), 2)
    for each in devices:
        page.line(f"{each.get('devicePath', '')} from {each.get('name', '')}", 3)
