"""The environment of a new container, and errors that block its creation."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.kubelet.containers.environment import EnvironmentSources, make_environment
from kubesim.runtime.expansion import MessageTooLarge, expand
from kubesim.runtime.helper import ContainerConfigError
from kubesim.trace.records import ApiWrite, EventRecorded, LogOutput
from tests.support.played import Played, pod

OBJECTS: dict[tuple[str, str, str], ApiObject] = {
    ("ConfigMap", "ns", "settings"): ApiObject.from_json(
        {"kind": "ConfigMap", "data": {"colour": "red", "size": "$(colour)", "not a name": "yes"}}
    ),
    ("Secret", "ns", "login"): ApiObject.from_json(
        {"kind": "Secret", "data": {"password": base64.b64encode("grün".encode()).decode()}}
    ),
    ("Node", "", "n"): Node.from_json(
        {"kind": "Node", "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"}}}
    ),
}


def find(kind: str, namespace: str, name: str) -> ApiObject | None:
    return OBJECTS.get((kind, namespace, name))


def environment(
    *env: dict[str, Any],
    env_from: tuple[dict[str, Any], ...] = (),
    resources: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
) -> dict[str, str]:
    metadata = {
        "name": "web",
        "namespace": "ns",
        "uid": "u-1",
        "labels": {"b": 'say "hi"', "a": "1"},
        "annotations": {"Example.com/Note": "kept"},
    }
    container = {"name": "main", "env": list(env), "envFrom": list(env_from), "resources": resources or {}}
    whole = {
        "nodeName": "n",
        "enableServiceLinks": True,
        "serviceAccountName": "robot",
        "containers": [container],
        **(spec or {}),
    }
    made = Pod.from_json({"metadata": metadata, "spec": whole})
    sources = EnvironmentSources("n", ("10.0.0.1", "fd00::1"), find)
    return dict(make_environment(made, made.spec.containers[0], ("fd00::5", "10.1.0.5"), sources))


def source(kind: str, **selector: Any) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {kind: selector}}


def value(kind: str, **selector: Any) -> str | None:
    return environment(source(kind, **selector)).get("V")


def field(path: str) -> str | None:
    return value("fieldRef", apiVersion="v1", fieldPath=path)


def test_variables_refer_to_earlier_ones_and_override_those_of_whole_objects() -> None:
    made = environment(
        {"name": "EARLY", "value": "$(LATE)"},
        {"name": "LATE", "value": "$(colour)-$$(colour)"},
        {"name": "colour", "value": "blue"},
        {"name": "EMPTY"},
        env_from=({"configMapRef": {"name": "settings"}}, {"prefix": "P_", "secretRef": {"name": "login"}}),
    )
    assert made == {
        "colour": "blue",
        "size": "$(colour)",  # values of whole objects are not expanded
        "not a name": "yes",  # any key of an object can be a name
        "P_password": "grün",
        "EARLY": "$(LATE)",
        "LATE": "red-$(colour)",
        "EMPTY": "",
    }


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)$(B)", "1$(B)"),
        ("$$(A) $$$(A) $$$$", "$(A) $1 $$"),
        ("$A $ $(A", "$A $ $(A"),
        ("$(B$(A)", "$(B$(A)"),
        ("$() end$", "$() end$"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded


def test_keys_of_config_maps_and_secrets() -> None:
    assert value("configMapKeyRef", name="settings", key="colour") == "red"
    assert value("secretKeyRef", name="login", key="password") == "grün"


@pytest.mark.parametrize(
    ("kind", "selector", "message"),
    [
        ("configMapKeyRef", {"name": "x", "key": "k"}, 'configmap "x" not found'),
        ("configMapKeyRef", {"name": "settings", "key": "k"}, "couldn't find key k in ConfigMap ns/settings"),
        ("secretKeyRef", {"name": "x", "key": "k"}, 'secret "x" not found'),
        ("secretKeyRef", {"name": "login", "key": "k"}, "couldn't find key k in Secret ns/login"),
    ],
)
def test_a_missing_key_is_an_error_unless_it_is_optional(kind: str, selector: dict[str, Any], message: str) -> None:
    with pytest.raises(ContainerConfigError) as refused:
        value(kind, **selector)
    assert str(refused.value) == message
    assert environment(source(kind, **selector, optional=True)) == {}


def test_a_missing_whole_object() -> None:
    with pytest.raises(ContainerConfigError, match=r'^secret "x" not found$'):
        environment(env_from=({"secretRef": {"name": "x"}},))
    assert environment(env_from=({"configMapRef": {"name": "x", "optional": True}},)) == {}


def test_fields_of_the_pod() -> None:
    paths = ("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName")
    assert [field(path) for path in paths] == ["web", "ns", "u-1", "n", "robot"]
    assert field("metadata.labels") == 'a="1"\nb="say \\"hi\\""'
    assert field("metadata.labels['a']") == "1"
    assert field("metadata.labels['none']") == ""
    assert field("metadata.annotations['Example.com/Note']") == "kept"


def test_addresses_are_in_the_order_of_the_node() -> None:
    assert (field("status.podIP"), field("status.podIPs")) == ("10.1.0.5", "10.1.0.5,fd00::5")
    assert (field("status.hostIP"), field("status.hostIPs")) == ("10.0.0.1", "10.0.0.1,fd00::1")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("spec.hostname", "field label not supported: spec.hostname"),
        ("spec.nodeSelector['a']", "field label does not support subscript: spec.nodeSelector['a']"),
        ("status.phase", "unsupported fieldPath: status.phase"),
    ],
)
def test_unsupported_fields(path: str, message: str) -> None:
    with pytest.raises(ContainerConfigError) as refused:
        field(path)
    assert str(refused.value) == message


def resource(name: str, divisor: str = "0", container: str = "", **more: Any) -> str:
    selector = {"resource": name, "divisor": divisor, "containerName": container}
    return environment(source("resourceFieldRef", **selector), **more)["V"]


def test_resources_are_counted_in_divisors_and_rounded_up() -> None:
    own = {"limits": {"cpu": "1500m", "memory": "100Mi", "hugepages-2Mi": "4Mi"}, "requests": {"cpu": "250m"}}
    assert resource("limits.cpu", resources=own) == "2"
    assert resource("limits.cpu", "1m", resources=own) == "1500"
    assert resource("requests.cpu", "100m", resources=own) == "3"
    assert resource("limits.memory", "1Gi", resources=own) == "1"
    assert resource("limits.hugepages-2Mi", "1Mi", resources=own) == "4"
    assert resource("requests.memory", resources=own) == "0"


def test_an_unset_limit_is_that_of_the_pod_or_the_node() -> None:
    assert resource("limits.memory", "1Gi") == "8"
    assert resource("limits.cpu", container="main") == "4"
    pod_level = {"limits": {"cpu": "3", "memory": "0", "ephemeral-storage": "1Gi"}}
    whole = environment(
        *(
            {"name": name, "valueFrom": {"resourceFieldRef": {"resource": f"limits.{name}", "divisor": divisor}}}
            for name, divisor in (("cpu", "1"), ("memory", "1Gi"), ("ephemeral-storage", "1Gi"))
        ),
        spec={"resources": pod_level},
    )
    assert whole == {"cpu": "3", "memory": "8", "ephemeral-storage": "100"}


def test_resources_of_another_container() -> None:
    first = {"name": "first", "resources": {"limits": {"cpu": "3"}}}
    spec = {"initContainers": [first]}
    assert resource("limits.cpu", container="first", spec=spec) == "3"
    assert resource("limits.memory", container="first", spec=spec) == "0"  # no default for this variable
    with pytest.raises(ContainerConfigError, match=r"^container nobody not found$"):
        resource("limits.cpu", container="nobody")
    with pytest.raises(ContainerConfigError, match=r"^unsupported container resource : limits\.gpu$"):
        resource("limits.gpu")


def test_a_container_waits_for_its_config_map_and_runs_when_it_exists() -> None:
    command = ["sh", "-c", 'test "$GREETING" = hello && exit 0; exit 1']
    late = pod("late", restartPolicy="Never", command=command)
    reference = {"configMapKeyRef": {"name": "never-there", "key": "greeting"}}
    late["spec"]["containers"][0]["env"] = [{"name": "GREETING", "valueFrom": reference}]
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "never-there"},
        "data": {"greeting": "hello"},
    }
    story = Played({"at": "20s", "apply": config_map}, objects=[late])
    reported = [r.message for r in story.records if isinstance(r, EventRecorded) and r.reason == "Failed"]
    assert set(reported) == {'Error: configmap "never-there" not found'}
    written = [str(r.summary) for r in story.records if isinstance(r, ApiWrite)]
    assert any("CreateContainerConfigError" in summary for summary in written)
    failed, started = (story.when(EventRecorded, "late", reason=reason) for reason in ("Failed", "Started"))
    assert max(failed) < 20 < min(started)
    assert story.calls("late").count("CreateContainer") == 1
    assert story.result.phases == {"default/late": "Succeeded"}


def shell(name: str, script: str, **spec: Any) -> dict[str, Any]:
    return pod(name, restartPolicy="Never", command=["sh", "-c", script], **spec)


def test_a_container_finds_the_api_server_and_can_verify_it() -> None:
    directory = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = f'head -n 1 {directory}/ca.crt; echo "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT_HTTPS"'
    story = Played(objects=[shell("client", script)])
    lines = [r.text for r in story.records if isinstance(r, LogOutput)]
    assert lines == ["-----BEGIN CERTIFICATE-----", "10.96.0.1:443"]


def test_a_users_kubernetes_service_replaces_the_bundled_one() -> None:
    spec = {"clusterIP": "10.96.0.99", "ports": [{"name": "https", "port": 6443}]}
    own = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kubernetes"}, "spec": spec}
    story = Played(objects=[own, shell("client", "echo $KUBERNETES_PORT", enableServiceLinks=False)])
    assert [r.text for r in story.records if isinstance(r, LogOutput)] == ["tcp://10.96.0.99:6443"]


def test_a_static_pod_starts_without_service_variables_if_services_cannot_be_listed() -> None:
    manifest = shell("static", "echo host=$KUBERNETES_SERVICE_HOST")
    write = {"file": "static.yaml", "manifest": manifest}
    steps: list[dict[str, Any]] = [
        {"at": "1s", "stop": "apiserver"},
        {"at": "2s", "restart": {"what": "kubelet", "downFor": "1s"}},
        {"at": "10s", "writeStaticPod": write},
        {"at": "30s", "start": "apiserver"},
        {"at": "40s", "writeStaticPod": {**write, "manifest": {**manifest, "metadata": {"name": "later"}}}},
    ]
    story = Played(*steps, duration="90s")
    lines = [(r.pod, r.text) for r in story.records if isinstance(r, LogOutput)]
    assert lines == [("default/static-node-1", "host="), ("default/later-node-1", "host=10.96.0.1")]


def from_file(path: str, volume: str = "v") -> list[dict[str, Any]]:
    return [{"name": "V", "valueFrom": {"fileKeyRef": {"volumeName": volume, "path": path, "key": "K"}}}]


def with_file(name: str, variables: list[dict[str, Any]], *, mounted: bool = True) -> dict[str, Any]:
    """An init container writes the file, and the main container has the variables."""
    mounts = [{"name": "v", "mountPath": "/v"}] if mounted else []
    made = shell(name, "echo $V", volumes=[{"name": "v", "emptyDir": {}}])
    write = "mkdir -p /v/a; echo \"K='value'\" > /v/a/file.env"
    made["spec"]["initContainers"] = [
        {"name": "init", "image": "busybox:1", "command": ["sh", "-c", write], "volumeMounts": mounts}
    ]
    made["spec"]["containers"][0]["env"] = variables
    return made


def test_a_variable_from_a_file_of_an_empty_dir() -> None:
    story = Played(objects=[with_file("one", from_file("a/file.env"))])
    assert [r.text for r in story.records if isinstance(r, LogOutput)] == ["value"]


def test_the_volume_of_a_file_must_be_mounted_by_some_container() -> None:
    story = Played(objects=[with_file("none", from_file("a/file.env"), mounted=False)])
    assert set(story.messages("Failed", "none")) == {'Error: cannot find the volume "v" referenced by FileKeyRef'}


def test_a_missing_file_and_a_directory_are_parse_errors() -> None:
    for path in ("none.env", "a"):
        story = Played(objects=[with_file("none", from_file(path))])
        assert set(story.messages("Failed", "none")) == {"Error: couldn't parse env file"}


def test_exponentially_growing_references_exceed_the_size_of_a_call() -> None:
    """Each variable is three times as long as the previous one: the last would have 10^28 characters."""
    names = [{"name": f"A{n}", "value": f"$(A{n - 1})" * 3} for n in range(1, 60)]
    with pytest.raises(MessageTooLarge, match="received message larger than max"):
        environment({"name": "A0", "value": "x" * 40}, *names)
