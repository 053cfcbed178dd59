"""The environment of a container, with upstream's tables.

Mirrors: pkg/kubelet/kubelet_pods_test.go TestMakeEnvironmentVariables (31 rows),
TestMakeEnvironmentVariablesWithFileKeyRef (10 rows).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.services import Service
from kubesim.features import FeatureGates
from kubesim.kubelet.containers.environment import EnvironmentSources, make_environment
from kubesim.runtime.helper import ContainerConfigError
from kubesim.runtime.volume_directories import VolumeFile
from kubesim.values import part

JsonObject = dict[str, Any]
HOST_IPS = ("127.0.0.1", "::1")


def service(name: str, namespace: str, address: str, port: int) -> Service:
    spec = {"clusterIP": address, "ports": [{"protocol": "TCP", "port": port}]}
    return Service.from_json({"kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec})


SERVICES = (
    service("kubernetes", "default", "1.2.3.1", 8081),
    service("test", "test1", "1.2.3.3", 8083),
    service("kubernetes", "test2", "1.2.3.4", 8084),
    service("test", "test2", "1.2.3.5", 8085),
    service("test", "test2", "None", 8085),
    service("test", "test2", "", 8085),
    service("not-special", "default", "1.2.3.8", 8088),
    service("not-special", "default", "None", 8088),
    service("not-special", "default", "", 8088),
)


def links(prefix: str, address: str, port: int) -> dict[str, str]:
    url = f"tcp://{address}:{port}"
    return {
        f"{prefix}_SERVICE_HOST": address,
        f"{prefix}_SERVICE_PORT": str(port),
        f"{prefix}_PORT": url,
        f"{prefix}_PORT_{port}_TCP": url,
        f"{prefix}_PORT_{port}_TCP_PROTO": "tcp",
        f"{prefix}_PORT_{port}_TCP_PORT": str(port),
        f"{prefix}_PORT_{port}_TCP_ADDR": address,
    }


KUBERNETES = links("KUBERNETES", "1.2.3.1", 8081)
TEST = links("TEST", "1.2.3.3", 8083)
TEST_OF_API_SERVER = [{"name": name, "value": value} for name, value in TEST.items()]


@part
class Lister:
    services: tuple[Service, ...] = SERVICES
    has_synced: bool = True

    def list(self) -> Iterable[ApiObject]:
        return self.services


SYNCED = Lister()
UNSYNCED = Lister((), has_synced=False)


def environment(
    container: JsonObject,
    *,
    ns: str = "test1",
    links: bool | None = False,
    lister: Lister | None = SYNCED,
    static: bool = False,
    objects: dict[str, JsonObject] | None = None,
    pod_ips: tuple[str, ...] = (),
) -> dict[str, str]:
    """`objects` are the data of ConfigMap and Secret: as in upstream, every requested object is found, or none."""

    def find(kind: str, namespace: str, name: str) -> ApiObject | None:
        data = (objects or {}).get(kind)
        return None if data is None else ApiObject.from_json({"kind": kind, "data": data})

    metadata: JsonObject = {"namespace": ns, "name": "dapi-test-pod-name"}
    if static:
        metadata["annotations"] = {"kubernetes.io/config.source": "file"}
    spec: JsonObject = {"serviceAccountName": "special", "nodeName": "node-name"}
    spec["containers"] = [{"name": "c", **container}]
    if links is not None:
        spec["enableServiceLinks"] = links
    pod = Pod.from_json({"metadata": metadata, "spec": spec})
    made = make_environment(pod, pod.spec.containers[0], pod_ips, EnvironmentSources("", HOST_IPS, find, lister))
    assert len(dict(made)) == len(made), "no name twice"
    return dict(made)


def env(**values: str) -> JsonObject:
    return {"env": [{"name": name, "value": value} for name, value in values.items()]}


def test_services_not_synced() -> None:
    """`if services aren't synced, non-static pods should fail`, and `static pods should succeed`."""
    with pytest.raises(ContainerConfigError) as refused:
        environment({}, lister=UNSYNCED)
    assert str(refused.value) == "services have not yet been read at least once, cannot construct envvars"
    assert environment({}, lister=UNSYNCED, static=True) == {}


def test_nil_enable_service_links() -> None:
    secret = {"1234.name": base64.b64encode(b"abc").decode()}
    with pytest.raises(ContainerConfigError) as refused:
        environment({"envFrom": [{"prefix": "p_", "secretRef": {"name": "s"}}]}, links=None, objects={"Secret": secret})
    assert str(refused.value) == "nil pod.spec.enableServiceLinks encountered, cannot construct envvars"


@pytest.mark.parametrize(
    ("options", "container", "expected"),
    [
        pytest.param(
            {},
            {"env": [{"name": "FOO", "value": "BAR"}, *TEST_OF_API_SERVER]},
            {"FOO": "BAR", **TEST, **KUBERNETES},
            id="api server = Y, kubelet = Y",
        ),
        pytest.param(
            {"lister": None},
            {"env": [{"name": "FOO", "value": "BAR"}, *TEST_OF_API_SERVER]},
            {"FOO": "BAR", **TEST},
            id="api server = Y, kubelet = N",
        ),
        pytest.param({}, env(FOO="BAZ"), {"FOO": "BAZ", **KUBERNETES}, id="api server = N; kubelet = Y"),
        pytest.param(
            {"links": True},
            env(FOO="BAZ"),
            {"FOO": "BAZ", **TEST, **KUBERNETES},
            id="api server = N; kubelet = Y; service env vars",
        ),
        pytest.param({"ns": "test2"}, env(FOO="ZAP"), {"FOO": "ZAP", **KUBERNETES}, id="master service in pod ns"),
        pytest.param(
            {"ns": "test2", "links": True},
            env(FOO="ZAP"),
            {"FOO": "ZAP", **links("TEST", "1.2.3.5", 8085), **links("KUBERNETES", "1.2.3.4", 8084)},
            id="master service in pod ns, service env vars",
        ),
        pytest.param({"ns": "default"}, {}, KUBERNETES, id="pod in master service ns"),
        pytest.param(
            {"ns": "default", "links": True},
            {},
            {**links("NOT_SPECIAL", "1.2.3.8", 8088), **KUBERNETES},
            id="pod in master service ns, service env vars",
        ),
    ],
)
def test_service_variables(options: JsonObject, container: JsonObject, expected: dict[str, str]) -> None:
    assert environment(container, **options) == expected
    turned = Lister(SERVICES[::-1])  # the order in which Services are listed does not matter
    assert environment(container, **{"lister": turned, **options}) == expected


def field(name: str, path: str) -> JsonObject:
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


OF_POD = [
    field("POD_NAME", "metadata.name"),
    field("POD_NAMESPACE", "metadata.namespace"),
    field("POD_NODE_NAME", "spec.nodeName"),
    field("POD_SERVICE_ACCOUNT_NAME", "spec.serviceAccountName"),
]
ADDRESSES = [
    field("POD_IP", "status.podIP"),
    field("POD_IPS", "status.podIPs"),
    field("HOST_IP", "status.hostIP"),
    field("HOST_IPS", "status.hostIPs"),
]
EXPECTED_ADDRESSES = {
    "POD_IP": "1.2.3.4",
    "POD_IPS": "1.2.3.4,fd00::6",
    "HOST_IP": "127.0.0.1",
    "HOST_IPS": "127.0.0.1,::1",
}


@pytest.mark.parametrize(
    ("pod_ips", "variables", "expected"),
    [
        pytest.param(
            ("1.2.3.4", "fd00::6"),
            OF_POD,
            {
                "POD_NAME": "dapi-test-pod-name",
                "POD_NAMESPACE": "downward-api",
                "POD_NODE_NAME": "node-name",
                "POD_SERVICE_ACCOUNT_NAME": "special",
            },
            id="downward api pod",
        ),
        pytest.param(("fd00::6", "1.2.3.4"), [], {}, id="downward api pod ips reverse order"),
        pytest.param(("1.2.3.4", "192.168.1.1.", "fd00::6"), [], {}, id="downward api pod ips multiple ips"),
    ],
)
def test_downward_api(pod_ips: tuple[str, ...], variables: list[JsonObject], expected: dict[str, str]) -> None:
    made = environment({"env": [*variables, *ADDRESSES]}, ns="downward-api", lister=None, pod_ips=pod_ips)
    assert made == {**expected, **EXPECTED_ADDRESSES}


EXPANSION = [
    {"name": "TEST_LITERAL", "value": "test-test-test"},
    field("POD_NAME", "metadata.name"),
    {"name": "OUT_OF_ORDER_TEST", "value": "$(OUT_OF_ORDER_TARGET)"},
    {"name": "OUT_OF_ORDER_TARGET", "value": "FOO"},
    {"name": "EMPTY_VAR"},
    {"name": "EMPTY_TEST", "value": "foo-$(EMPTY_VAR)"},
    {"name": "POD_NAME_TEST2", "value": "test2-$(POD_NAME)"},
    {"name": "POD_NAME_TEST3", "value": "$(POD_NAME_TEST2)-3"},
    {"name": "LITERAL_TEST", "value": "literal-$(TEST_LITERAL)"},
    {"name": "TEST_UNDEFINED", "value": "$(UNDEFINED_VAR)"},
]
EXPANDED = {
    "TEST_LITERAL": "test-test-test",
    "POD_NAME": "dapi-test-pod-name",
    "OUT_OF_ORDER_TEST": "$(OUT_OF_ORDER_TARGET)",
    "OUT_OF_ORDER_TARGET": "FOO",
    "EMPTY_VAR": "",
    "EMPTY_TEST": "foo-",
    "POD_NAME_TEST2": "test2-dapi-test-pod-name",
    "POD_NAME_TEST3": "test2-dapi-test-pod-name-3",
    "LITERAL_TEST": "literal-test-test-test",
    "TEST_UNDEFINED": "$(UNDEFINED_VAR)",
}


def test_env_expansion() -> None:
    assert environment({"env": EXPANSION}) == {**EXPANDED, **KUBERNETES}


def test_env_expansion_with_service_env_vars() -> None:
    of_service = {"name": "SERVICE_VAR_TEST", "value": "$(TEST_SERVICE_HOST):$(TEST_SERVICE_PORT)"}
    made = environment({"env": [*EXPANSION, of_service]}, links=True)
    assert made == {**EXPANDED, "SERVICE_VAR_TEST": "1.2.3.3:8083", **TEST, **KUBERNETES}


def test_a_variable_overrides_a_service_variable_even_in_references() -> None:
    made = environment(
        env(EARLY="$(TEST_SERVICE_HOST)", TEST_SERVICE_HOST="own", LATE="$(TEST_SERVICE_HOST)"), links=True
    )
    assert (made["EARLY"], made["TEST_SERVICE_HOST"], made["LATE"]) == ("1.2.3.3", "own", "own")


KINDS = pytest.mark.parametrize(("kind", "name"), [("ConfigMap", "configMap"), ("Secret", "secret")])


def data(kind: str, **values: str) -> dict[str, JsonObject]:
    """From an object of this kind."""
    encoded = {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}
    return {kind: encoded if kind == "Secret" else values}


@KINDS
def test_keyref_missing_optional_and_missing_key_optional(kind: str, name: str) -> None:
    reference = {f"{name}KeyRef": {"name": "any", "key": "key", "optional": True}}
    container = {"env": [{"name": "POD_NAME", "valueFrom": reference}]}
    assert environment(container, ns="test") == KUBERNETES
    assert environment(container, ns="test", lister=None, objects=data(kind, a="b")) == {}


@pytest.mark.parametrize("linked", [False, True], ids=["", "service env vars"])
@pytest.mark.parametrize("prefix", ["p_", "1_"], ids=["", "allow prefix to start with a digital"])
@KINDS
def test_whole_objects(kind: str, name: str, prefix: str, linked: bool) -> None:
    container = {
        "envFrom": [{f"{name}Ref": {"name": "any"}}, {"prefix": prefix, f"{name}Ref": {"name": "any"}}],
        **env(TEST_LITERAL="test-test-test", EXPANSION_TEST="$(REPLACE_ME)", DUPE_TEST="ENV_VAR"),
    }
    made = environment(container, links=linked, objects=data(kind, REPLACE_ME="FROM_OBJECT", DUPE_TEST="OBJECT"))
    assert made == {
        "TEST_LITERAL": "test-test-test",
        "REPLACE_ME": "FROM_OBJECT",
        "EXPANSION_TEST": "FROM_OBJECT",
        "DUPE_TEST": "ENV_VAR",
        f"{prefix}REPLACE_ME": "FROM_OBJECT",
        f"{prefix}DUPE_TEST": "OBJECT",
        **KUBERNETES,
        **(TEST if linked else {}),
    }


@KINDS
def test_whole_object_missing_and_missing_optional(kind: str, name: str) -> None:
    with pytest.raises(ContainerConfigError) as refused:
        environment({"envFrom": [{f"{name}Ref": {"name": "any"}}]})
    assert str(refused.value) == f'{kind.lower()} "any" not found'
    assert environment({"envFrom": [{f"{name}Ref": {"name": "any", "optional": True}}]}, ns="test") == KUBERNETES


@KINDS
def test_invalid_keys_valid(kind: str, name: str) -> None:
    """Any key can be the name of a variable; older kubelets skipped some, with an Event."""
    found = data(kind, **{"1234": "abc", "1234.name": "def"})
    made = environment({"envFrom": [{"prefix": "p_", f"{name}Ref": {"name": "any"}}]}, ns="test", objects=found)
    assert made == {"p_1234": "abc", "p_1234.name": "def", **KUBERNETES}


def test_the_order_is_that_of_the_manifest_with_keys_sorted_and_services_last() -> None:
    container = {"envFrom": [{"configMapRef": {"name": "any"}}], **env(M="1", A="2", KUBERNETES_PORT="mine")}
    made = environment(container, objects=data("ConfigMap", z="", c=""))
    assert list(made) == [
        "c",
        "z",
        "M",
        "A",
        "KUBERNETES_PORT",
        *(name for name in KUBERNETES if name != "KUBERNETES_PORT"),
    ]


# -- fileKeyRef -----------------------------------------------------------------------------------------------------

FILES = {
    "database.env": "DATABASE='mydb'\nAPI_KEY='secret123'\n",
    "config.env": "# A comment\n\nDATABASE='mydb'\nAPI_KEY='secret123'\nFILE_VAR='file_value'\n\n# Another one\n",
    "debug.env": "DEBUG_MODE = 'true'\nLOG_LEVEL = 'info'\n",
    "api.env": "API_KEY='secret123'\n",
}


def find_file(pod: Pod, volume: str, path: str) -> VolumeFile | None:
    return VolumeFile(f"/volume/{path}", FILES.get(path)) if volume == "config-volume" else None


def from_file(name: str, path: str, volume: str = "config-volume", **more: Any) -> JsonObject:
    return {"name": name, "valueFrom": {"fileKeyRef": {"volumeName": volume, "path": path, "key": name, **more}}}


def with_files(*variables: JsonObject, gates: FeatureGates | None = None) -> dict[str, str]:
    spec = {"enableServiceLinks": False, "containers": [{"name": "c", "env": list(variables)}]}
    pod = Pod.from_json({"metadata": {"name": "test-pod", "namespace": "test-namespace", "uid": "u"}, "spec": spec})
    sources = EnvironmentSources(
        "", HOST_IPS, lambda *key: None, SYNCED, find_file, gates or FeatureGates({"EnvFiles": True})
    )
    made = dict(make_environment(pod, pod.spec.containers[0], ("192.168.1.1",), sources))
    return {name: value for name, value in made.items() if not name.startswith("KUBERNETES_")}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        pytest.param([from_file("DATABASE", "database.env")], {"DATABASE": "mydb"}, id="successful file key reference"),
        pytest.param(
            [from_file("API_KEY", "config.env")],
            {"API_KEY": "secret123"},
            id="file key reference with comments and empty lines",
        ),
        pytest.param(
            [from_file("OPTIONAL_KEY", "config.env", optional=True)], {}, id="key not found in file with optional flag"
        ),
        pytest.param(
            [from_file("DATABASE", "database.env"), from_file("API_KEY", "api.env")],
            {"DATABASE": "mydb", "API_KEY": "secret123"},
            id="multiple file key references",
        ),
        pytest.param(
            [{"name": "STATIC_VAR", "value": "static_value"}, from_file("FILE_VAR", "config.env")],
            {"STATIC_VAR": "static_value", "FILE_VAR": "file_value"},
            id="mixed environment variable sources",
        ),
    ],
)
def test_file_key_ref(variables: list[JsonObject], expected: dict[str, str]) -> None:
    assert with_files(*variables) == expected


UNPARSED = "couldn't parse env file"


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        pytest.param(
            from_file("DEBUG_MODE", "debug.env"), UNPARSED, id="file key reference with spaces around equals sign"
        ),
        pytest.param(
            from_file("MISSING_KEY", "config.env"),
            'environment variable key "MISSING_KEY" not found in file "/volume/config.env"',
            id="key not found in file",
        ),
        pytest.param(from_file("DATABASE", "nonexistent.env"), UNPARSED, id="file does not exist"),
        pytest.param(
            from_file("DATABASE", "database.env", "nonexistent-volume"),
            'cannot find the volume "nonexistent-volume" referenced by FileKeyRef',
            id="volume not found, volume mounter is nil",
        ),
        # Not in the table, but in upstream's code.
        pytest.param(from_file("DATABASE", "nonexistent.env", optional=True), UNPARSED, id="optional without a file"),
        pytest.param(
            from_file("DATABASE", "database.env", "none", optional=True),
            'cannot find the volume "none" referenced by FileKeyRef',
            id="optional without a volume",
        ),
    ],
)
def test_file_key_ref_that_fails(variable: JsonObject, message: str) -> None:
    with pytest.raises(ContainerConfigError) as refused:
        with_files(variable)
    assert str(refused.value) == message


def test_without_its_feature_gate_a_variable_from_a_file_is_empty() -> None:
    off = FeatureGates({"EnvFiles": False})
    assert with_files(from_file("DATABASE", "database.env"), gates=off) == {"DATABASE": ""}
