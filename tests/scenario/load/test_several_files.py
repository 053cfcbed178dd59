"""Several files and directories as one scenario, kinds that are not served, and objects without effect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubesim.errors import InputError
from kubesim.scenario.load.files import manifest_files
from kubesim.scenario.load.loader import load_scenario, load_scenarios, parse_scenario
from kubesim.scenario.load.objects import apply_order, items_of, shown

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
SCENARIO = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: tale}\nspec: {seed: 7}\n"
ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\n"
BACKUP = "apiVersion: example.com/%s\nkind: Backup\nmetadata: {name: hourly}\n"
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  names: {kind: Backup, plural: backups}
  versions: [{name: v1, served: true}, {name: v1alpha1, served: false}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two manifests, a file of another kind, and a manifest in a subdirectory."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.yaml").write_text(MAP % "b")
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    (tmp_path / "deep" / "c.yml").write_text(MAP % "c")
    return tmp_path


def names(paths: list[str]) -> list[str]:
    return [Path(path).name for path in paths]


def problem(text: str, *, strict: bool = False, path: Path | None = None) -> str:
    if path is None:
        with pytest.raises(InputError) as caught:
            parse_scenario(text, "f.yaml")
        return str(caught.value)
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load_scenario(str(path), strict=strict)
    return str(caught.value)


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_directory_is_its_manifests_sorted_by_name(folder: Path) -> None:
    assert names(manifest_files([str(folder)])) == ["a.json", "b.yaml"]
    assert names(manifest_files([str(folder)], recursive=True)) == ["a.json", "b.yaml", "c.yml"]


def test_a_named_file_needs_no_extension(folder: Path) -> None:
    assert names(manifest_files([str(folder / "notes.txt"), "-"])) == ["notes.txt", "-"]


def test_a_pattern_selects_matching_files(folder: Path) -> None:
    assert names(manifest_files([str(folder / "*.yaml")])) == ["b.yaml"]


def test_a_pipe_is_a_file(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    assert manifest_files([pipe]) == [pipe]


def test_a_dangling_link_is_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "nowhere")
    for name in ("a.yaml", "*.yaml"):
        with pytest.raises(InputError, match=r"a\.yaml: no such file"):
            manifest_files([str(tmp_path / name)])


def test_a_directory_without_manifests_and_a_missing_file(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"recognized file extensions are \.json, \.yaml, \.yml; -R also searches"):
        manifest_files([str(folder / "empty")])
    with pytest.raises(InputError, match="no such file"):
        manifest_files([str(folder / "absent")])


def test_files_form_one_scenario(folder: Path) -> None:
    (folder / "s.yaml").write_text(SCENARIO)
    scenario = load_scenarios(manifest_files([str(folder)]))
    assert (scenario.name, scenario.spec.seed) == ("tale", 7)
    assert [shown(item) for item in scenario.spec.objects] == ["ConfigMap/a", "ConfigMap/b"]


def test_two_scenarios_are_an_error(folder: Path) -> None:
    for name in ("s.yaml", "t.yaml"):
        (folder / name).write_text(SCENARIO)
    with pytest.raises(InputError, match=r"t\.yaml:1: a second Scenario; a run has one, but .*s\.yaml has another"):
        load_scenarios(manifest_files([str(folder)]))


def test_an_error_names_its_file_and_line(folder: Path) -> None:
    (folder / "b.yaml").write_text("---\n" + MAP % "b" + "dta: {}\n")
    with pytest.raises(InputError, match=r"b\.yaml:5: dta: unknown field; did you mean data\?"):
        load_scenarios(manifest_files([str(folder)]))


def test_text_between_documents_is_ignored() -> None:
    text = "\ufeff---\r\n# nothing\r\n---\r\n" + (MAP % "a").replace("\n", "\r\n") + "---\r\n\ufeff---\r\n" + MAP % "b"
    assert [shown(item) for item in parse_scenario(text, "f.yaml").spec.objects] == ["ConfigMap/a", "ConfigMap/b"]


def test_json_objects_may_follow_each_other() -> None:
    first = '{"apiVersion": "v1", "kind": "ConfigMap",\n "metadata": {"name": "a"}}\n'
    text = first + first.replace('"a"', '"b"') + first.replace("metadata", "metdata")
    assert problem(text) == "f.yaml:6: metdata: unknown field; did you mean metadata?"
    assert len(parse_scenario(first * 3, "f.yaml").spec.objects) == 3


# -- kinds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("api_version", "kind", "expected"),
    [
        ("batch/v1beta1", "CronJob", "1: apiVersion: {}; v1.36 serves it in batch/v1"),
        ("extensions/v1beta1", "Ingress", "1: apiVersion: {}; v1.36 serves it in networking.k8s.io/v1"),
        ("policy/v1beta1", "PodSecurityPolicy", "2: kind: {}"),
        ("apps/v1", "Deploymnt", "2: kind: {}; did you mean Deployment?"),
        ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", "2: kind: {}"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", "1: apiVersion: {}; v1.36 serves it in autoscaling/v1 and"),
    ],
)  # fmt: skip
def test_kinds_that_are_not_served(api_version: str, kind: str, expected: str) -> None:
    text = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\n"
    assert problem(text).startswith(
        "f.yaml:" + expected.format(f'no matches for kind "{kind}" in version "{api_version}"')
    )


def test_a_definition_lists_the_versions_of_a_custom_kind() -> None:
    parse_scenario(BACKUP % "v1" + "---\n" + DEFINITION, "f.yaml")
    expected = 'f.yaml:1: apiVersion: no matches for kind "Backup" in version "example.com/v1alpha1"'
    assert problem(BACKUP % "v1alpha1" + "---\n" + DEFINITION) == expected


def test_a_custom_object_without_a_definition_is_accepted() -> None:
    assert [shown(item) for item in parse_scenario(BACKUP % "v1", "f.yaml").spec.objects] == ["Backup/hourly"]


def test_strict_rejects_objects_without_effect(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    expected = ":6: kind: ClusterRole/reader has no effect here, and --strict refuses such objects"
    assert problem(MAP % "a" + "---\n" + ROLE, strict=True, path=path) == f"{path}{expected}"
    path.write_text(MAP % "a")
    assert load_scenario(str(path), strict=True).spec.objects


def test_workloads_are_validated_by_their_types() -> None:
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: two\n"
    assert problem(text) == "f.yaml:5: spec.replicas: must be a whole number, not 'two'"


def test_a_secret_with_invalid_base64() -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata:\n  a: YQ==\n  b: plain_text\n"
    assert problem(text) == "f.yaml:6: data.b: illegal base64 data at input byte 5"


def test_generate_name_is_allowed() -> None:
    text = (MAP % "a").replace("name: a", "generateName: a-")
    assert [shown(item) for item in parse_scenario(text, "f.yaml").spec.objects] == ["ConfigMap/a-*"]


# -- order ----------------------------------------------------------------------------------------------------------


def test_dependencies_are_applied_first() -> None:
    kinds = ("Pod", "ServiceAccount", "ConfigMap", "PriorityClass", "Namespace", "Pod")
    objects = [{"kind": kind, "metadata": {"name": str(n)}} for n, kind in enumerate(kinds)]
    assert [shown(item) for item in apply_order(objects)] == [
        "Namespace/4", "PriorityClass/3", "ServiceAccount/1", "Pod/0", "ConfigMap/2", "Pod/5",
    ]  # fmt: skip


def test_a_kind_whose_name_ends_with_list_is_not_a_list() -> None:
    custom = {"apiVersion": "example.com/v1", "kind": "AllowList", "metadata": {"name": "x"}}
    assert list(items_of(custom)) == [((), custom)]
