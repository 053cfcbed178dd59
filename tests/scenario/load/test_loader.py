"""Loading scenario files: the result of valid ones, and the one-line error of invalid ones."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from kubesim.errors import InputError
from kubesim.scenario.load.loader import load_scenario, load_scenarios, parse_scenario

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: web
    image: nginx
"""
SCENARIO = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata:
  name: tale
spec:
"""


def problem(text: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_scenario(text, "f.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


# -- what is read -------------------------------------------------------------------------------------------------


def test_a_file_with_only_manifests_is_a_scenario_with_defaults() -> None:
    scenario = parse_scenario(POD + "---\n" + POD.replace("web", "db"), "dir/two-pods.yaml")
    assert scenario.name == "two-pods"
    assert [manifest["metadata"]["name"] for manifest in scenario.spec.objects] == ["web", "db"]
    assert not scenario.spec.steps


def test_manifests_in_a_scenario_file_follow_its_own_objects() -> None:
    own = SCENARIO + "  objects:\n  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}}\n"
    scenario = parse_scenario(POD + "---\n" + own, "f.yaml")
    assert scenario.name == "tale"
    assert [manifest["kind"] for manifest in scenario.spec.objects] == ["ConfigMap", "Pod"]


def test_a_list_is_expanded() -> None:
    indented = "".join(f"    {line}\n" for line in POD.splitlines()).replace("    apiVersion", "  - apiVersion", 1)
    scenario = parse_scenario("apiVersion: v1\nkind: List\nitems:\n" + indented, "f.yaml")
    assert [manifest["kind"] for manifest in scenario.spec.objects] == ["Pod"]


def test_anchors_and_merges_work() -> None:
    text = POD + "  - &second\n    name: a\n    image: b\n  - <<: *second\n    name: c\n"
    containers = parse_scenario(text, "f.yaml").spec.objects[0]["spec"]["containers"]
    assert [(container["name"], container["image"]) for container in containers][1:] == [("a", "b"), ("c", "b")]


def test_scalars_are_interpreted_as_in_kubernetes() -> None:
    text = POD + '    env: [{name: A, value: "yes"}, {name: B, value: 12:30}]\n    stdin: yes\n'
    container = parse_scenario(text, "f.yaml").spec.objects[0]["spec"]["containers"][0]
    assert [variable["value"] for variable in container["env"]] == ["yes", "12:30"]
    assert container["stdin"] is True


def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(POD.encode())))
    assert load_scenario("-").spec.objects[0]["metadata"]["name"] == "web"


def test_a_small_file_is_loaded_quickly(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(SCENARIO + "  seed: 1\n---\n" + POD)
    took = []
    for _ in range(20):
        began = time.process_time()
        load_scenario(str(path))
        took.append(time.process_time() - began)
    assert min(took) < 0.01  # the minimum, as other measurements may have shared their CPU


# -- what is refused: files ---------------------------------------------------------------------------------------


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_scenario(str(path))
    return str(caught.value).removeprefix(str(path))


def test_a_missing_file(tmp_path: Path) -> None:
    assert refused(tmp_path / "absent.yaml") == ": no such file"


def test_a_directory(tmp_path: Path) -> None:
    assert refused(tmp_path) == ": is a directory; give a file, or -f with the directory to apply all of its manifests"


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# filler\n" * (10_000_000 // 9))
    assert refused(path) == ": is larger than 8 MB, the limit for a file"


def test_binary_content(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"a: b\n\x00\x01")
    assert refused(path) == ":2: is not a text file (it has zero bytes)"
    path.write_bytes(b"a: b\nc: \xff\n")
    assert refused(path) == ":2: is not UTF-8 text (byte 0xff)"


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("# only a comment\n---\n")
    assert refused(path) == ": it is empty: it has no Scenario and no Kubernetes objects"


# -- what is refused: YAML ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: [1, 2",
            "f.yaml:1: malformed YAML: did not find expected ',' or ']' before the end of the file (column 4)",
        ),
        ("a:\n\t- b\n", "f.yaml:2: malformed YAML: a tab in the indentation, where YAML requires spaces (column 1)"),
        ("a: *b\n", "f.yaml:1: malformed YAML: there is no anchor &b"),
        ("a: &x [*x]\n", "f.yaml:1: the value of &x contains itself"),
        ("a: !!python/object:os.system x\n", "f.yaml:1: the tag !!python/object:os.system is not supported here"),
        ("a: !thing x\n", "f.yaml:1: the tag !thing is not supported here"),
        ("? [a]\n: b\n", "f.yaml:1: a key must be text"),
        ("[" * 100_000, "f.yaml:1: nested more than 100 levels deep"),
        ("kind: Scenario\nspec: {}\nspec: {}\n", "f.yaml:3: spec: given twice (first on line 2)"),
        ("- a\n", "f.yaml:1: a document must be a mapping with apiVersion and kind"),
    ],
)
def test_invalid_yaml(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_aliases_cannot_expand_without_limit() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert problem("\n".join(lines)) == "f.yaml:5: aliases expand this to more than 100000 values"


# -- what is refused: manifests -----------------------------------------------------------------------------------


BAD_OBJECTS = {
    POD + "    imagee: x\n": "9: spec.containers[0].imagee: unknown field; did you mean image?",
    POD.replace("nginx", "5"): "8: spec.containers[0].image: must be text, not the number 5 (put text in quotes)",
    POD.replace("name: web\n    image", "name: Web\n    image"): "7: spec.containers[0].name: Invalid value",
    POD.replace("Pod", "Pood"): '2: kind: no matches for kind "Pood" in version "v1"; did you mean Pod?',
    POD.replace("Pod", "Deployment"): '1: apiVersion: no matches for kind "Deployment" in version "v1"; v1.36 serves it'
    " in apps/v1",
    POD.replace("v1", "v2"): '1: apiVersion: no matches for kind "Pod" in version "v2"; v1.36 serves it in v1',
    POD.replace("kind: Pod\n", ""): "1: kind: is required",
    POD.replace("  name: web\nspec", "  labels: {}\nspec"): "3: metadata.name: is needed",
    POD.partition("\n  - ")[0] + " web\n": "6: spec.containers: must be a list, not 'web'",
    POD
    + "    resources: {limits: {cpu: lots}}\n": "9: spec.containers[0].resources.limits.cpu: 'lots' is not a quantity",
    SCENARIO + "  objects:\n  - {apiVersion: v1, kind: Pod, metadata: {name: a}}\n": (
        "7: spec.objects[0].spec.containers: Required value"
    ),
}


@pytest.mark.parametrize(("text", "expected"), BAD_OBJECTS.items())
def test_invalid_objects(text: str, expected: str) -> None:
    assert problem(text).startswith(f"f.yaml:{expected}")


# -- what is refused: scenarios -----------------------------------------------------------------------------------


BAD_SPECS = {
    "  stepz: []\n": "6: spec.stepz: unknown field; did you mean steps?",
    "  invariants: []\n": "6: spec.invariants: must be a mapping of fields",
    "  faults: [{}]\n": "6: spec.faults[0].operation: is needed",
    "  faults: [{operation: CreatContainer, hang: true}]\n": (
        "6: spec.faults[0].operation: no operation is named 'CreatContainer'; did you mean CreateContainer?"
    ),
    "  faults: [{operation: PullImage}]\n": ("6: spec.faults[0]: give error, hang, crash, torn or latency, or results"),
    "  faults: [{operation: PullImage, error: a, hang: true}]\n": (
        "6: spec.faults[0]: error and hang exclude each other; results: [error, hang] takes turns"
    ),
    "  faults: [{operation: PullImage, torn: true}]\n": (
        "6: spec.faults[0]: torn is for operations of the disk: disk.WriteStaticPod"
    ),
    "  faults: [{operation: PullImage, results: [crash]}]\n": (
        "6: spec.faults[0]: results has crash: name the component, such as crash: kubelet"
    ),
    "  faults: [{operation: cni.GC, error: a}]\n": (
        "6: spec.faults[0].operation: cni.GC needs runtime: cni; a simulated network has ADD and DEL only"
    ),
    "  faults: [{operation: PullImage, error: a, node: node-2}]\n": "6: spec.faults[0].node: there is no node node-2",
    "  faults: [{operation: PullImage, error: a, probability: 2}]\n": (
        "6: spec.faults[0].probability: input should be less than or equal to 1"
    ),
    "  behaviours: [{needs: [db]}]\n": (
        "6: spec.behaviours[0].needs[0]: there is no dependency db; add it to spec.dependencies"
    ),
    "  steps: [{cut: 1s}]\n": "6: spec.steps[0]: give at: a time, or when: a condition",
    "  steps: [{at: 1s, by: 2s, cut: 1s}]\n": "6: spec.steps[0]: delay and by need when",
    "  steps: [{when: {pod: a}, cut: 1s}]\n": (
        "6: spec.steps[0].when: give one of condition, phase, event, gone, field, exists, after, before"
    ),
    "  steps: [{when: {condition: Ready}, cut: 1s}]\n": (
        "6: spec.steps[0].when: give pod or object: Kind/name, or after or before an operation"
    ),
    "  steps: [{when: {after: StartContainr}, cut: 1s}]\n": (
        "6: spec.steps[0].when.after: no operation is named 'StartContainr'; did you mean StartContainer?"
    ),
    "  steps: [{when: {after: StartContainer, node: b}, cut: 1s}]\n": "6: spec.steps[0].when.node: there is no node b",
    "  steps: [{at: 1s, hang: {for: 1s, call: StopContainr}}]\n": (
        "6: spec.steps[0].hang.call: no operation is named 'StopContainr'; did you mean StopContainer?"
    ),
    "  duration: 1m\n  steps: [{when: {pod: a, exists: true}, by: 2m, cut: 1s}]\n": (
        "7: spec.steps[0].by: is after the end of the run (spec.duration)"
    ),
    "  profile: v1.5\n": ("6: spec.profile: must be 'v1.6', 'v1.12', 'v1.30', 'v1.35', 'v1.36' or 'v1.37', not 'v1.5'"),
    "  seed: often\n": "6: spec.seed: must be a whole number",
    "  duration: 10\n": "6: spec.duration: a duration needs its unit: 10s",
    "  behaviours:\n  - runFor: soon\n": (
        "7: spec.behaviours[0].runFor: 'soon' is not a duration such as 1m30s or 250ms"
    ),
    "  steps:\n  - at: 1s\n    delete: {pot: a}\n": "8: spec.steps[0].delete.pot: unknown field; did you mean pod?",
    "  steps:\n  - at: 1s\n    delete: {}\n": "8: spec.steps[0].delete: give pod or object: Kind/name",
    "  steps: {}\n": "6: spec.steps: must be a list",
    "  steps:\n  - at: 1s\n    apply:\n      apiVersion: v1\n      kind: Pud\n": (
        '10: spec.steps[0].apply.kind: no matches for kind "Pud" in version "v1"; did you mean Pod?'
    ),
}


@pytest.mark.parametrize(("spec", "expected"), BAD_SPECS.items())
def test_invalid_scenarios(spec: str, expected: str) -> None:
    assert problem(SCENARIO + spec) == f"f.yaml:{expected}"


def test_a_second_scenario() -> None:
    assert problem(SCENARIO + "  seed: 1\n---\n" + SCENARIO) == "f.yaml:8: a second Scenario; a file has one"


def test_another_version_of_the_language() -> None:
    text = SCENARIO.replace("v1alpha1", "v2")
    assert problem(text) == "f.yaml:1: apiVersion: must be 'kubesim.dev/v1alpha1', not 'kubesim.dev/v2'"


def test_the_last_of_duplicate_keys_wins_as_in_kubectl(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD + "metadata: {name: other}\n")
    warnings: list[str] = []
    scenario = load_scenarios([str(file)], warn=warnings.append)
    assert scenario.spec.objects[0]["metadata"] == {"name": "other"}
    assert warnings == [f"{file}:9: metadata: given twice (first on line 3); the last one counts"]
    with pytest.raises(InputError, match="given twice"):
        load_scenarios([str(file)], strict=True)


def test_a_machine_on_which_no_kubelet_starts_is_reported_with_its_line() -> None:
    text = "kind: Scenario\nmetadata: {name: a}\nspec:\n  nodes:\n    - name: node-1\n      swap: 1Gi\n"
    assert problem(text) == (
        "f.yaml:6: spec.nodes[0].swap: running with swap on is not supported, please disable swap or set "
        "--fail-swap-on flag to false"
    )
    text = "kind: Scenario\nmetadata: {name: a}\nspec:\n  nodes: [{name: node-1, capacity: {memory: 1Mi}}]\n"
    assert problem(text).startswith("f.yaml:4: spec.nodes[0].capacity: invalid Node Allocatable configuration. ")
