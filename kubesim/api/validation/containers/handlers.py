"""Probes, lifecycle hooks and stop signals.

Mirrors: pkg/apis/core/validation validateProbe, validateLifecycle, validateHandler
"""

from __future__ import annotations

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject

_SIGNALS = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP "
    "TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
LINUX_SIGNALS = sorted(
    [f"SIG{name}" for name in _SIGNALS.split()]
    + [f"SIGRTMIN+{n}" for n in range(1, 16)]
    + [f"SIGRTMAX-{n}" for n in range(1, 15)]
)
WINDOWS_SIGNALS = ["SIGKILL", "SIGTERM"]
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def validate_liveness_probe(errors: Errors, probe: JsonObject, grace: int, path: str) -> None:
    """Validate a liveness or startup probe: successThreshold must be 1."""
    _validate_probe(errors, probe, grace, path)
    if probe.get("successThreshold", 0) != 1:
        errors.invalid(f"{path}.successThreshold", probe.get("successThreshold", 0), "must be 1")


def validate_readiness_probe(errors: Errors, probe: JsonObject, grace: int, path: str) -> None:
    _validate_probe(errors, probe, grace, path)
    if probe.get("terminationGracePeriodSeconds") is not None:
        where = f"{path}.terminationGracePeriodSeconds"
        errors.invalid(where, probe["terminationGracePeriodSeconds"], "must not be set for readinessProbes")


def _validate_probe(errors: Errors, probe: JsonObject, grace: int, path: str) -> None:
    _validate_handler(errors, {name: probe.get(name) for name in _HANDLERS[:4]}, grace, path)
    for name in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        errors.nonnegative(f"{path}.{name}", probe.get(name, 0))
    own_grace = probe.get("terminationGracePeriodSeconds")
    if own_grace is not None and own_grace <= 0:
        errors.invalid(f"{path}.terminationGracePeriodSeconds", own_grace, "must be greater than 0")


def validate_lifecycle(errors: Errors, lifecycle: JsonObject, grace: int, path: str, os: str | None) -> None:
    for name in ("postStart", "preStop"):
        handler = lifecycle.get(name)
        if handler is not None:
            handlers = {kind: handler.get(kind) for kind in _HANDLERS if kind != "grpc"}
            _validate_handler(errors, handlers, grace, f"{path}.{name}")
    if lifecycle.get("stopSignal") is not None:
        _validate_stop_signal(errors, lifecycle["stopSignal"], f"{path}.stopSignal", os)


def _validate_stop_signal(errors: Errors, signal: str, path: str, os: str | None) -> None:
    if os is None:
        errors.forbidden(path, "may not be set for containers with empty `spec.os.name`")
    elif os == "windows":
        errors.unless_one_of(path, signal, WINDOWS_SIGNALS)
    elif os == "linux":
        errors.unless_one_of(path, signal, LINUX_SIGNALS)


def _validate_handler(errors: Errors, handlers: dict[str, JsonObject | None], grace: int, path: str) -> None:
    """Check that there is exactly one handler. Only the first of several is validated further."""
    found = False
    for kind, handler in handlers.items():
        if handler is None:
            continue
        where = f"{path}.{kind}"
        if found:
            errors.forbidden(where, "may not specify more than 1 handler type")
            continue
        found = True
        if kind == "exec":
            if not handler.get("command"):
                errors.required(f"{where}.command")
        elif kind == "httpGet":
            _validate_http_get(errors, handler, where)
        elif kind == "grpc":
            validate_port(errors, handler.get("port", 0), f"{where}.port")
            if handler.get("mode") is not None:
                errors.unless_one_of(f"{where}.mode", handler["mode"], ("Plaintext", "TLS"))
        elif kind == "sleep":
            _validate_sleep(errors, handler.get("seconds", 0), grace, where)
        else:
            validate_port(errors, handler.get("port", 0), f"{where}.port")
    if not found:
        errors.required(path, "must specify a handler type")


def _validate_http_get(errors: Errors, action: JsonObject, path: str) -> None:
    validate_port(errors, action.get("port", 0), f"{path}.port")
    errors.unless_one_of(f"{path}.scheme", action.get("scheme", ""), ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name", "")
        errors.all_invalid(f"{path}.httpHeaders", name, formats.http_header_name(name))
    protocol = action.get("protocol")
    if protocol is not None:
        errors.unless_one_of(f"{path}.protocol", protocol, ("HTTP1", "HTTP2"))
    if protocol == "HTTP2" and action.get("scheme", "") != "HTTP":
        errors.invalid(f"{path}.protocol", protocol, "is only supported with HTTP (H2C)")
    elif protocol == "HTTP2" and action.get("host"):
        errors.invalid(f"{path}.host", action["host"], 'must be empty when `protocol` is "HTTP2"')


def validate_port(errors: Errors, port: int | str, path: str) -> None:
    """Validate a port: a number, or the name of a container port."""
    errors.all_invalid(path, port, formats.port_name(port) if isinstance(port, str) else formats.port_number(port))


def _validate_sleep(errors: Errors, seconds: int, grace: int, path: str) -> None:
    if not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        errors.invalid(path, seconds, detail)
