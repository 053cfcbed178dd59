"""The skeleton of a CNI plugin in Python: it handles environment, versions and errors; the plugin implements commands.

    #!/usr/bin/env python3
    from kubesim.cni.spec.results import Result
    from kubesim.cni.spec.skel import CmdArgs, CNIFuncs, plugin_main, print_result

    def add(args: CmdArgs) -> None:
        print_result(Result(), args.cni_version)

    def delete(args: CmdArgs) -> None:
        pass

    plugin_main(CNIFuncs(add=add, delete=delete), about="CNI plugin nothing v1")

A command's exception becomes an error object for the runtime: a PluginError unchanged, any other with code 999.

Mirrors: containernetworking/cni pkg/skel/skel.go, pkg/types/args.go, pkg/invoke/delegate.go
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, TextIO

from kubesim.cni.exec.plugin_files import find_in_path, plugin_failure
from kubesim.cni.spec.results import AnyResult, convert, result_of_plugin
from kubesim.cni.spec.results import print_result as result_text
from kubesim.cni.spec.validation import (
    ERR_DECODING_FAILURE,
    ERR_INCOMPATIBLE_CNI_VERSION,
    ERR_INTERNAL,
    ERR_INVALID_ENVIRONMENT_VARIABLES,
    ERR_INVALID_NETNS,
    ERR_INVALID_NETWORK_CONFIG,
    validate_container_id,
    validate_interface_name,
    validate_network_name,
)
from kubesim.cni.spec.versions import ALL, CURRENT, at_least, decode_version
from kubesim.errors import CniError, PluginError
from kubesim.golang.file_errors import errno_text
from kubesim.golang.json import InOrder, dumps
from kubesim.golang.structs import STRING, Struct, unmarshal
from kubesim.golang.text import listed, quoted
from kubesim.values import value_object

_NAMED = Struct('struct { Name string "json:\\"name\\"" }', {"name": STRING}, short="")


@value_object
class CmdArgs:
    """The input of a command: the environment, and the configuration on stdin."""

    container_id: str = ""
    netns: str = ""
    ifname: str = ""
    args: str = ""
    path: str = ""
    netns_override: str = ""
    stdin: bytes = b""

    @property
    def config(self) -> dict[str, Any]:
        """The decoded configuration."""
        given: dict[str, Any] = json.loads(self.stdin)
        return given

    @property
    def cni_version(self) -> str:
        return decode_version(self.stdin)


Command = Callable[[CmdArgs], None]


@value_object
class CNIFuncs:
    """The commands of a plugin; a missing command succeeds without effect."""

    add: Command | None = None
    delete: Command | None = None
    check: Command | None = None
    gc: Command | None = None
    status: Command | None = None


@value_object
class _Variable:
    name: str
    required_for: frozenset[str]
    validate: Callable[[str], None] | None = field(default=None)


_ATTACHING = frozenset({"ADD", "CHECK", "DEL"})
_VARIABLES = (
    _Variable("CNI_COMMAND", _ATTACHING | {"GC", "STATUS"}),
    _Variable("CNI_CONTAINERID", _ATTACHING, validate_container_id),
    _Variable("CNI_NETNS", frozenset({"ADD", "CHECK"})),
    _Variable("CNI_IFNAME", _ATTACHING, validate_interface_name),
    _Variable("CNI_ARGS", frozenset()),
    _Variable("CNI_PATH", _ATTACHING | {"GC", "STATUS"}),
    _Variable("CNI_NETNS_OVERRIDE", frozenset()),
)


def plugin_main(funcs: CNIFuncs, versions: Sequence[str] = ALL, about: str = "") -> None:
    """Run this process as the plugin; exits with 1 after an error."""
    error = dispatch(funcs, versions, about, os.environ, sys.stdin.buffer.read, sys.stdout, sys.stderr)
    if error is not None:
        print_error(error, sys.stdout)
        sys.stdout.flush()
        sys.exit(1)


def print_error(error: PluginError, out: TextIO) -> None:
    reported = InOrder(code=error.code, msg=error.message)
    if error.details:
        reported["details"] = error.details
    out.write(json.dumps(dict(reported), indent=4, ensure_ascii=False))


def dispatch(
    funcs: CNIFuncs,
    versions: Sequence[str],
    about: str,
    environ: Mapping[str, str],
    read_stdin: Callable[[], bytes],
    out: TextIO,
    err: TextIO,
) -> PluginError | None:
    """Run the plugin with explicit inputs; returns its error."""
    try:
        command, args = _command_and_args(environ, read_stdin)
    except PluginError as error:
        if error.code == ERR_INVALID_ENVIRONMENT_VARIABLES and not environ.get("CNI_COMMAND") and about:
            err.write(f"{about}\nCNI protocol versions supported: {', '.join(versions)}\n")
            return None
        return error
    try:
        _run(command, args, funcs, versions, out)
    except PluginError as error:
        return error
    return None


def _command_and_args(environ: Mapping[str, str], read_stdin: Callable[[], bytes]) -> tuple[str, CmdArgs]:
    command = environ.get("CNI_COMMAND", "")
    values, missing = [], []
    for variable in _VARIABLES:
        value = environ.get(variable.name, "")
        required = command in variable.required_for
        if not value and (required or variable.name == "CNI_COMMAND"):
            missing.append(variable.name)
        elif value and required and variable.validate is not None:
            variable.validate(value)
        values.append(value)
    if missing:
        problem = f"required env variables [{','.join(missing)}] missing"
        raise PluginError(ERR_INVALID_ENVIRONMENT_VARIABLES, problem)
    stdin = b"" if command == "VERSION" else read_stdin()
    if command != "VERSION":
        _validate_config(stdin)
    container_id, netns, ifname, args, path, override = values[1:]
    return command, CmdArgs(container_id, netns, ifname, args, path, override, stdin)


def _validate_config(stdin: bytes) -> None:
    try:
        name = unmarshal(_NAMED, stdin).get("name", "")
    except ValueError as error:
        raise PluginError(ERR_DECODING_FAILURE, f"error unmarshall network config: {error}") from None
    if not name:
        raise PluginError(ERR_INVALID_NETWORK_CONFIG, "missing network name")
    validate_network_name(name)


def _run(command: str, args: CmdArgs, funcs: CNIFuncs, versions: Sequence[str], out: TextIO) -> None:
    if command == "VERSION":
        out.write(dumps(InOrder(cniVersion=CURRENT, supportedVersions=list(versions))) + "\n")
    elif command in ("ADD", "DEL"):
        _check_version_and_call(args, versions, funcs.add if command == "ADD" else funcs.delete)
        _check_netns(args)
    elif command == "CHECK":
        _call_from("0.4.0", command, args, versions, funcs.check)
    elif command in ("GC", "STATUS"):
        _call_from("1.1.0", command, args, versions, funcs.gc if command == "GC" else funcs.status)
    else:
        raise PluginError(ERR_INVALID_ENVIRONMENT_VARIABLES, f"unknown CNI_COMMAND: {command}")


def _call_from(least: str, command: str, args: CmdArgs, versions: Sequence[str], function: Command | None) -> None:
    """A command that exists only from a configuration version on."""
    try:
        version = decode_version(args.stdin)
        if not at_least(version, least):
            raise PluginError(ERR_INCOMPATIBLE_CNI_VERSION, f"config version does not allow {command}")
        if not any(at_least(supported, version) for supported in versions):
            raise PluginError(ERR_INCOMPATIBLE_CNI_VERSION, f"plugin version does not allow {command}")
    except PluginError:
        raise
    except CniError as error:
        raise PluginError(ERR_DECODING_FAILURE, str(error)) from None
    _check_version_and_call(args, versions, function)


def _check_version_and_call(args: CmdArgs, versions: Sequence[str], function: Command | None) -> None:
    try:
        version = decode_version(args.stdin)
    except CniError as error:
        raise PluginError(ERR_DECODING_FAILURE, str(error)) from None
    if version not in versions:
        details = f"config is {quoted(version)}, plugin supports {listed(quoted(entry) for entry in versions)}"
        raise PluginError(ERR_INCOMPATIBLE_CNI_VERSION, "incompatible CNI versions", details)
    if function is None:
        return
    try:
        function(args)
    except CniError as error:
        raise error.plugin_error() or PluginError(ERR_INTERNAL, str(error)) from None
    except Exception as error:  # every error must reach the runtime as an error object
        raise PluginError(ERR_INTERNAL, str(error) or type(error).__name__) from error


def _check_netns(args: CmdArgs) -> None:
    """Reject a plugin that runs inside the namespace to configure: it has then configured its own host."""
    if args.netns_override.upper() == "TRUE" or args.netns_override == "1":
        return
    try:
        there, here = os.stat(args.netns), os.stat("/proc/self/ns/net")
    except OSError:
        return
    if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
        problem = "plugin's netns and netns from CNI_NETNS should not be the same"
        raise PluginError(ERR_INVALID_NETNS, problem)


def print_result(result: AnyResult, version: str) -> None:
    """Print the result of ADD in the configuration's version."""
    sys.stdout.write(result_text(convert(result, version)))


def load_args(text: str, known: Collection[str]) -> dict[str, str]:
    """CNI_ARGS as a dict. An unknown argument is an error, unless IgnoreUnknown is set."""
    given: dict[str, str] = {}
    for pair in text.split(";") if text else ():
        parts = pair.split("=")
        if len(parts) != 2:
            raise CniError(f"ARGS: invalid pair {quoted(pair)}")
        given[parts[0]] = parts[1]
    unknown = [f"{key}={value}" for key, value in given.items() if key not in known and key != "IgnoreUnknown"]
    if unknown and given.get("IgnoreUnknown", "").lower() not in ("1", "true"):
        raise CniError(f"ARGS: unknown args {listed(quoted(pair) for pair in unknown)}")
    return {key: value for key, value in given.items() if key in known}


def delegate_add(plugin: str, config: bytes) -> AnyResult:
    """Delegate to another plugin, for example an IPAM plugin."""
    return result_of_plugin(decode_version(config), _delegate(plugin, config, "ADD"))


def delegate_check(plugin: str, config: bytes) -> None:
    _delegate(plugin, config, "CHECK")


def delegate_del(plugin: str, config: bytes) -> None:
    _delegate(plugin, config, "DEL")


def delegate_status(plugin: str, config: bytes) -> None:
    _delegate(plugin, config, "STATUS")


def delegate_gc(plugin: str, config: bytes) -> None:
    _delegate(plugin, config, "GC")


def _delegate(plugin: str, config: bytes, command: str) -> bytes:
    path = find_in_path(plugin, [entry for entry in os.environ.get("CNI_PATH", "").split(":") if entry])
    environ = {**os.environ, "CNI_COMMAND": command}
    try:
        done = subprocess.run([path], input=config, env=environ, capture_output=True, check=False)
    except OSError as error:
        raise plugin_failure(f"fork/exec {path}: {errno_text(error)}", b"", b"") from None
    if done.returncode != 0:
        ended = f"exit status {done.returncode}" if done.returncode > 0 else f"signal: {-done.returncode}"
        raise plugin_failure(ended, done.stdout, done.stderr)
    sys.stderr.buffer.write(done.stderr)
    return done.stdout
