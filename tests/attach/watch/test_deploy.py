"""The files for running the agent inside a cluster: exactly the printed rights, no root, no writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from kubesim.attach.watch.manifest import manifest
from kubesim.attach.watch.rbac import rbac
from kubesim.cli.main import make_parser

DEPLOY = Path(__file__).parent.parent.parent.parent / "deploy"


def deployment() -> dict[str, Any]:
    objects = yaml.safe_load_all((DEPLOY / "attach.yaml").read_text())
    return next(one for one in objects if one["kind"] == "Deployment")


def test_the_manifest_is_the_rendered_one_with_the_printed_rights() -> None:
    text = (DEPLOY / "attach.yaml").read_text()
    assert text == manifest()
    assert rbac() in text


def test_it_runs_as_nobody_with_a_read_only_file_system() -> None:
    spec = deployment()["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    (container,) = spec["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert not container["securityContext"]["allowPrivilegeEscalation"]
    assert "\nUSER 65534" in (DEPLOY / "Containerfile").read_text()


def test_its_arguments_are_valid() -> None:
    args = make_parser().parse_args(deployment()["spec"]["template"]["spec"]["containers"][0]["args"])
    assert (args.node, args.output) == ("NODE-NAME", "jsonl")
