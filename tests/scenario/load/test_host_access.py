"""A scenario file alone cannot access the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.errors import InputError
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.overlay import Overlay, make_overlay

HEAD = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: main, image: nginx}]}}"


def parsed(spec: str, overlay: Overlay | None = None) -> Scenario:
    return parse_scenario(f"{HEAD}  {spec}\n", "s.yaml", overlay=overlay)


ASKING = [
    ("cni: {confDir: net.d}", "spec.cni.confDir", ", or give the value with --cni-conf-dir"),
    ("cni: {binDirs: [bin]}", "spec.cni.binDirs", ", or give the value with --cni-bin-dir"),
    ("sources: {file: {path: /etc}}", "spec.sources.file.path", ", or give the value with --pod-manifest-path"),
    (
        "kubeletConfiguration: {staticPodPath: /etc}",
        "spec.kubeletConfiguration.staticPodPath",
        ", or give the value with --pod-manifest-path",
    ),
    (
        'sources: {http: {url: "http://127.0.0.1:1/"}}',
        "spec.sources.http.url",
        ", or give the value with --manifest-url",
    ),
    (
        'kubeletConfiguration: {staticPodURL: "http://127.0.0.1:1/"}',
        "spec.kubeletConfiguration.staticPodURL",
        ", or give the value with --manifest-url",
    ),
    ("sources: {apiserver: {node: node-1}}", "spec.sources.apiserver", ""),
    (
        "{profile: v1.12, sources: {bootstrapCheckpoint: {path: kept}}}",
        "spec.sources.bootstrapCheckpoint.path",
        "",
    ),
]


@pytest.mark.parametrize(("spec", "field", "instead"), ASKING)
def test_fields_that_access_the_host_are_rejected_by_name(spec: str, field: str, instead: str) -> None:
    with pytest.raises(InputError) as refused:
        parsed(spec)
    assert str(refused.value) == f"s.yaml:5: {field}: reaches this machine: allow that with --allow-host{instead}"
    parsed(spec, Overlay(allow_host=True))


@pytest.mark.parametrize(
    "spec",
    [
        f"sources: {{file: {{path: /etc, manifests: {{a.yaml: {POD}}}}}}}",
        f'sources: {{http: {{url: "http://manifests.example/", manifest: {POD}}}}}',
        "{profile: v1.12, sources: {bootstrapCheckpoint: {}}}",
        "cni: {network: ptp}",
    ],
)
def test_simulated_fields_need_no_permission(spec: str) -> None:
    parsed(spec)


def test_a_flag_with_the_value_is_a_permission(tmp_path: Path) -> None:
    overlay = make_overlay(None, {"pod-manifest-path": [str(tmp_path)]})
    values = parsed("kubeletConfiguration: {staticPodPath: /etc}", overlay).spec.kubelet_configuration.values
    assert values["staticPodPath"] == str(tmp_path)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifests").mkdir()
    file = tmp_path / "s.yaml"
    file.write_text(f"{HEAD}  {{duration: 5s, sources: {{file: {{path: manifests}}}}}}\n")
    assert main(["run", str(file)]) == 2
    assert "spec.sources.file.path: reaches this machine" in capsys.readouterr().err
    assert main(["run", "--step", str(file)]) == 2
    assert "spec.sources.file.path: reaches this machine" in capsys.readouterr().err
    assert main(["run", "-q", str(file), "--allow-host"]) == 0
    file.write_text(f"{HEAD}  {{duration: 5s, cni: {{binDirs: [bin]}}}}\n")
    assert main(["run", "-q", str(file), "--cni-bin-dir", "/usr/lib/cni"]) == 0
