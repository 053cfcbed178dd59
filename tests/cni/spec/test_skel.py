"""The skeleton of a plugin: the input of its commands, and its output for the runtime."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubesim.cni.spec.skel import CmdArgs, CNIFuncs, dispatch, load_args, print_error
from kubesim.errors import CniError, PluginError

ENVIRONMENT = {
    "CNI_COMMAND": "ADD",
    "CNI_CONTAINERID": "id",
    "CNI_NETNS": "/no/such/namespace",
    "CNI_IFNAME": "eth0",
    "CNI_PATH": "/bin",
}
CONFIG = {"cniVersion": "1.1.0", "name": "net", "type": "x"}


class Outcome:
    def __init__(self, config: Any = CONFIG, **environment: str | None) -> None:
        given = {**ENVIRONMENT, **environment}
        self.called: list[tuple[str, CmdArgs]] = []
        out, err = io.StringIO(), io.StringIO()
        text = config if isinstance(config, str) else json.dumps(config)
        self.error = dispatch(
            CNIFuncs(*(self._command(name) for name in ("add", "delete", "check", "gc", "status"))),
            ("0.4.0", "1.0.0", "1.1.0"),
            "about this plugin",
            {key: value for key, value in given.items() if value},
            text.encode,
            out,
            err,
        )
        self.out, self.err = out.getvalue(), err.getvalue()

    def _command(self, name: str) -> Any:
        def command(args: CmdArgs) -> None:
            self.called.append((name, args))
            if args.ifname == "bad0":
                raise PluginError(11, "try again")
            if args.ifname == "bad1":
                raise CniError("wrapped", PluginError(7, "inner"))
            if args.ifname == "bad2":
                raise ZeroDivisionError("division by zero")

        return command

    @property
    def reported(self) -> tuple[int, str]:
        assert self.error is not None
        return self.error.code, str(self.error)


@pytest.mark.parametrize(
    ("command", "called"), [("ADD", "add"), ("DEL", "delete"), ("CHECK", "check"), ("GC", "gc"), ("STATUS", "status")]
)
def test_each_command_calls_its_function(command: str, called: str) -> None:
    outcome = Outcome(CNI_COMMAND=command, CNI_ARGS="A=b")
    assert outcome.error is None
    (name, args), = outcome.called  # fmt: skip
    assert name == called
    assert (args.container_id, args.ifname, args.args, args.config) == ("id", "eth0", "A=b", CONFIG)


@pytest.mark.parametrize(
    ("config", "environment", "reported"),
    [
        (CONFIG, {"CNI_CONTAINERID": ""}, (4, "required env variables [CNI_CONTAINERID] missing")),
        (CONFIG, {"CNI_NETNS": "", "CNI_PATH": ""}, (4, "required env variables [CNI_NETNS,CNI_PATH] missing")),
        (CONFIG, {"CNI_CONTAINERID": "-x"}, (4, "invalid characters in containerID; -x")),
        (CONFIG, {"CNI_IFNAME": "a/b"}, (4, "interface name contains / or : or whitespace characters")),
        (CONFIG, {"CNI_COMMAND": "JUMP"}, (4, "unknown CNI_COMMAND: JUMP")),
        ("{", {}, (6, "error unmarshall network config: unexpected end of JSON input")),
        ({"cniVersion": "1.0.0"}, {}, (7, "missing network name")),
        ({**CONFIG, "name": "a b"}, {}, (7, "invalid characters found in network name; a b")),
        (
            {**CONFIG, "cniVersion": "0.3.1"},
            {},
            (1, 'incompatible CNI versions; config is "0.3.1", plugin supports ["0.4.0" "1.0.0" "1.1.0"]'),
        ),
        ({**CONFIG, "cniVersion": "0.3.1"}, {"CNI_COMMAND": "CHECK"}, (1, "config version does not allow CHECK")),
        ({**CONFIG, "cniVersion": "1.0.0"}, {"CNI_COMMAND": "GC"}, (1, "config version does not allow GC")),
        ({**CONFIG, "cniVersion": "9.0.0"}, {"CNI_COMMAND": "STATUS"}, (1, "plugin version does not allow STATUS")),
        (CONFIG, {"CNI_IFNAME": "bad0"}, (11, "try again")),
        (CONFIG, {"CNI_IFNAME": "bad1"}, (7, "inner")),
        (CONFIG, {"CNI_IFNAME": "bad2"}, (999, "division by zero")),
        (
            CONFIG,
            {"CNI_NETNS": "/proc/self/ns/net"},
            (8, "plugin's netns and netns from CNI_NETNS should not be the same"),
        ),
    ],
)
def test_a_failure_is_an_error_object(config: Any, environment: dict[str, str], reported: tuple[int, str]) -> None:
    assert Outcome(config, **environment).reported == reported


def test_del_needs_no_namespace_and_status_no_container() -> None:
    assert Outcome(CNI_COMMAND="DEL", CNI_NETNS="").error is None
    assert Outcome(CNI_COMMAND="STATUS", CNI_NETNS="", CNI_CONTAINERID="", CNI_IFNAME="").error is None
    assert Outcome(CNI_NETNS="/proc/self/ns/net", CNI_NETNS_OVERRIDE="1").error is None


def test_version_is_answered_without_reading_stdin() -> None:
    outcome = Outcome("not json", CNI_COMMAND="VERSION")
    assert outcome.error is None
    assert json.loads(outcome.out) == {"cniVersion": "1.1.0", "supportedVersions": ["0.4.0", "1.0.0", "1.1.0"]}


def test_started_directly_it_prints_its_name_and_versions() -> None:
    outcome = Outcome(CNI_COMMAND="")
    assert outcome.error is None
    assert outcome.err == "about this plugin\nCNI protocol versions supported: 0.4.0, 1.0.0, 1.1.0\n"


def test_an_error_has_the_format_that_runtimes_expect() -> None:
    out = io.StringIO()
    print_error(PluginError(11, "busy", "pool"), out)
    assert json.loads(out.getvalue()) == {"code": 11, "msg": "busy", "details": "pool"}


def test_arguments() -> None:
    assert load_args("IP=1.2.3.4;IgnoreUnknown=1;X=y", {"IP"}) == {"IP": "1.2.3.4"}
    with pytest.raises(CniError, match=r'^ARGS: unknown args \["X=y"\]$'):
        load_args("IP=1.2.3.4;X=y", {"IP"})
    with pytest.raises(CniError, match=r'^ARGS: invalid pair "A=b=c"$'):
        load_args("A=b=c", {"A"})


def test_the_plugin_of_the_documentation_works(tmp_path: Path) -> None:
    """The plugin in docs/cni.md is complete and works."""
    root = Path(__file__).parent.parent.parent.parent
    document = (root / "docs" / "cni.md").read_text()
    code = document.split("```python\n#!/usr/bin/env python3\n")[1].split("```")[0]
    script = tmp_path / "greeter"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(root)!r})\n{code}")
    script.chmod(0o755)
    config = json.dumps({**CONFIG, "cniVersion": "1.0.0", "greeting": "hello"})
    environ = {**os.environ, **ENVIRONMENT}
    done = subprocess.run([script], input=config, env=environ, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"cniVersion": "1.0.0", "dns": {"domain": "hello"}}
