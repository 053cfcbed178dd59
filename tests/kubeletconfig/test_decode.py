"""Reading a KubeletConfiguration: every field of the real type, its default, and rejected values."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.timestamps import MILLISECOND, MINUTE, SECOND
from kubesim.kubeletconfig.decode import ConfigurationProblem, read_configuration
from kubesim.kubeletconfig.fields import ConfigurationField, all_fields, struct_fields
from kubesim.kubeletconfig.table import STRUCTS

# One value of each type that is no field's default.
SAMPLES: dict[str, Any] = {
    "string": "some",
    "bool": True,
    "int32": 7,
    "int64": 7,
    "uint32": 7,
    "float64": 0.5,
    "Duration": "7s",
    "TimeOrDuration": "7s",
    "Quantity": "7Mi",
}
WRONG: dict[str, Any] = {
    "string": 7,
    "bool": "yes",
    "int32": "7",
    "int64": 7.5,
    "uint32": -1,
    "float64": "half",
    "Duration": 7,
    "TimeOrDuration": "soon",
    "Quantity": "much",
}


def sample(type_: str, values: dict[str, Any]) -> Any:
    if type_.startswith("[]"):
        return [sample(type_[2:], values)]
    if type_.startswith("map["):
        return {"key": sample(type_.partition("]")[2], values)}
    if type_ in STRUCTS:
        return {name: sample(field.type, SAMPLES) for name, field in struct_fields(type_).items()}
    return values[type_]


def nested(dotted: str, value: Any) -> dict[str, Any]:
    for step in reversed(dotted.split(".")):
        value = {step: value}
    return dict(value)


FIELDS = [pytest.param(name, field, id=name) for name, field in all_fields()]


def problem(given: Any) -> str:
    with pytest.raises(ConfigurationProblem) as found:
        read_configuration(given)
    return str(found.value)


def test_the_type_is_complete() -> None:
    """v1beta1 of v1.36 has this many fields, not counting those inside its structs."""
    assert len(struct_fields()) == 125
    assert sum(1 for _ in all_fields()) == 138


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_every_field_can_be_set(name: str, field: ConfigurationField) -> None:
    default = read_configuration({})[name]
    given = not default if field.type == "bool" else sample(field.type, SAMPLES)
    value = read_configuration(nested(name, given))[name]
    assert value != default
    if field.type in ("string", "bool", "int32", "int64", "uint32", "float64", "[]string", "map[string]string"):
        assert value == given
    elif field.type == "Duration":
        assert value == 7 * SECOND
    else:
        assert value


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_every_field_of_the_wrong_type_is_rejected_with_its_path(name: str, field: ConfigurationField) -> None:
    assert problem(nested(name, [[]] if field.type.startswith("map[") else {})).startswith(f"{name}: must be ")
    inner = field.type.removeprefix("[]").rpartition("]")[2] if "[" in field.type else field.type
    if inner in WRONG:
        assert problem(nested(name, sample(field.type, WRONG))).startswith(name)


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_null_is_an_absent_field(name: str, field: ConfigurationField) -> None:
    assert read_configuration(nested(name, None))[name] == read_configuration({})[name]


def test_zero_is_absent_too_unless_upstream_distinguishes_it() -> None:
    values = read_configuration({"maxPods": 0, "syncFrequency": "0s", "cgroupDriver": "", "registryPullQPS": 0})
    assert (values["maxPods"], values["syncFrequency"], values["cgroupDriver"]) == (110, MINUTE, "cgroupfs")
    assert values["registryPullQPS"] == 0, "a pointer: 0 means without limit"


def test_some_defaults() -> None:
    values = read_configuration({})
    assert values["cpuCFSQuotaPeriod"] == 100 * MILLISECOND
    assert values["enforceNodeAllocatable"] == ["pods"]
    assert values["authentication.webhook.enabled"] is True
    assert values["oomScoreAdj"] == -999
    assert values["evictionHard"] is None
    assert values["crashLoopBackOff.maxContainerRestartPeriod"] is None
    assert values["tracing.endpoint"] is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], "a KubeletConfiguration is a mapping of fields, not a list"),
        ({"maxPod": 1}, "maxPod: unknown field; did you mean maxPods?"),
        ({"xyz": 1}, "xyz: unknown field"),
        (
            {"apiVersion": "kubelet.config.k8s.io/v1"},
            "apiVersion: must be kubelet.config.k8s.io/v1beta1, not 'kubelet.",
        ),
        ({"kind": "Pod"}, "kind: must be KubeletConfiguration, not 'Pod'"),
        ({"maxPods": "many"}, "maxPods: must be a whole number, not 'many'"),
        ({"maxPods": True}, "maxPods: must be a whole number, not true"),
        ({"maxPods": 1 << 31}, "maxPods: 2147483648 does not fit into int32"),
        ({"syncFrequency": 60}, "syncFrequency: must be a duration such as 1m30s, not the number 60"),
        ({"syncFrequency": "1 minute"}, "syncFrequency: '1 minute' is not a duration such as 1m30s or 250ms"),
        (
            {"evictionHard": {"memory.available": 100}},
            "evictionHard.memory.available: must be text, not the number 100",
        ),
        (
            {"authentication": {"anonymous": {"enable": 1}}},
            "authentication.anonymous.enable: unknown field; did you me",
        ),
        ({"authentication": []}, "authentication: must be a mapping of fields, not a list"),
        ({"registerWithTaints": [{"key": 1}]}, "registerWithTaints[0].key: must be text, not the number 1"),
        (
            {"registerWithTaints": ["a=b:NoExecute"]},
            "registerWithTaints[0]: must be a mapping of fields, not 'a=b:NoEx",
        ),
        ({"staticPodURLHeader": {"a": "b"}}, "staticPodURLHeader.a: must be a list, not 'b'"),
        ({"reservedMemory": [{"limits": {"memory": "1Gu"}}]}, "reservedMemory[0].limits.memory: "),
    ],
)
def test_rejected_values(given: Any, expected: str) -> None:
    assert problem(given).startswith(expected)


def test_a_number_of_the_logging_configuration_is_nanoseconds() -> None:
    assert read_configuration({"logging": {"flushFrequency": 5_000_000_000}})["logging.flushFrequency"] == 5 * SECOND
