"""Objects decoded by their declared types with Go's error messages, and encoded in Go's format.

Adapted from: sigs.k8s.io/json decode_test.go; apimachinery/pkg/util/intstr/intstr_test.go;
apimachinery/pkg/apis/meta/v1/time_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.schema.codec import DecodeError, decode, encode
from kubesim.golang.json import loads

QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def read(text: str) -> Any:
    return decode("Pod", loads(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("5", "json: cannot unmarshal number into Go value of type v1.Pod"),
        ('{"metadata": "x"}', "json: cannot unmarshal string into Go struct field Pod.metadata of type v1.ObjectMeta"),
        (
            '{"metadata": {"name": 5}}',
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            '{"metadata": {"uid": true}}',
            "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        (
            '{"metadata": {"labels": ["a"]}}',
            "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            '{"spec": {"containers": {}}}',
            "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            '{"spec": {"hostNetwork": "yes"}}',
            "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (
            '{"spec": {"activeDeadlineSeconds": "5"}}',
            "json: cannot unmarshal string into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
        ),
        (
            '{"spec": {"priority": 2147483648}}',
            "json: cannot unmarshal number 2147483648 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            '{"spec": {"priority": 1.5}}',
            "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
    ],
)
def test_type_errors(text: str, problem: str) -> None:
    with pytest.raises(DecodeError) as error:
        read(text)
    assert str(error.value) == problem


def test_the_first_type_error_is_reported() -> None:
    with pytest.raises(DecodeError, match=r"bool into .*metadata\.name"):
        read('{"metadata": {"name": true}, "spec": {"nodeName": 5}}')


def test_unknown_fields_and_nulls_are_dropped() -> None:
    assert read('{"metadata": {"name": null, "colour": "red"}, "spec": null}') == {"metadata": {}}
    assert decode("Pod", None) == {}


def test_null_in_a_list_or_a_map_is_a_zero_value() -> None:
    spec = {"containers": [None], "nodeSelector": {"a": None}, "overhead": {"cpu": None}}
    spec["securityContext"] = {"supplementalGroups": [None]}
    assert decode("Pod", {"spec": spec})["spec"] == {
        "containers": [{}],
        "nodeSelector": {"a": ""},
        "overhead": {"cpu": "0"},
        "securityContext": {"supplementalGroups": [0]},
    }
    assert decode("[]Toleration", None) == []


class TestPorts:
    """An int-or-string."""

    def read(self, text: str) -> Any:
        return decode("TCPSocketAction", {"port": loads(text)})["port"]

    def test_numbers_and_names(self) -> None:
        assert self.read("80") == 80
        assert self.read('"http"') == "http"

    @pytest.mark.parametrize(
        ("text", "found"),
        [("true", "bool"), ("[]", "array"), ("1.5", "number 1.5"), ("2147483648", "number 2147483648")],
    )
    def test_other_types_are_rejected(self, text: str, found: str) -> None:
        with pytest.raises(DecodeError) as error:
            self.read(text)
        problem = f"json: cannot unmarshal {found} into Go struct field TCPSocketAction.port of type int32"
        assert str(error.value) == problem


class TestQuantities:
    @pytest.mark.parametrize(("text", "expected"), [('"1000m"', "1"), ("1e3", "1e3"), ('" 5 "', "5"), ("0.5", "500m")])
    def test_quantities_keep_their_canonical_text(self, text: str, expected: str) -> None:
        assert decode("ResourceRequirements", {"limits": {"cpu": loads(text)}}) == {"limits": {"cpu": expected}}

    @pytest.mark.parametrize("text", ['"much"', '""', "true", "{}"])
    def test_an_invalid_quantity_is_an_error(self, text: str) -> None:
        with pytest.raises(DecodeError) as error:
            decode("ResourceRequirements", {"limits": {"cpu": loads(text)}})
        assert str(error.value) == QUANTITY

    def test_a_pointer_may_be_null(self) -> None:
        assert decode("EmptyDirVolumeSource", {"sizeLimit": None}) == {}
        assert decode("ResourceFieldSelector", {"divisor": None}) == {"divisor": "0"}


class TestTimes:
    def read(self, value: Any) -> Any:
        return decode("ObjectMeta", {"creationTimestamp": value})

    def test_times_are_whole_seconds_in_utc(self) -> None:
        assert self.read("2026-01-31T12:00:00.9+02:00") == {"creationTimestamp": "2026-01-31T10:00:00Z"}
        assert self.read(None) == {}

    @pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z"])
    def test_invalid_times(self, text: str) -> None:
        with pytest.raises(DecodeError, match=f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse'):
            self.read(text)

    def test_other_types_than_text(self) -> None:
        with pytest.raises(DecodeError) as error:
            self.read(loads("5"))
        problem = "json: cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string"
        assert str(error.value) == problem


def test_an_untyped_value_is_unchanged() -> None:
    fields = {"f:a": {"k": [loads("1"), loads("-1.5e3"), "x", True, None]}}
    entry = decode("ManagedFieldsEntry", {"fieldsV1": fields})
    assert entry == {"fieldsV1": {"f:a": {"k": [1, -1500.0, "x", True, None]}}}
    assert encode("ManagedFieldsEntry", entry) == entry


class TestWriting:
    def test_empty_values_are_omitted(self) -> None:
        container = {"name": "c", "image": "", "command": [], "stdin": False, "env": [{"name": "A", "value": ""}]}
        assert encode("Container", container) == {"name": "c", "env": [{"name": "A"}], "resources": {}}

    def test_empty_values_of_pointers_are_kept(self) -> None:
        spec = {"containers": [], "hostUsers": False, "terminationGracePeriodSeconds": 0, "runtimeClassName": ""}
        assert encode("PodSpec", spec) == spec

    def test_empty_values_without_omitempty_are_kept(self) -> None:
        assert encode("ContainerStatus", {}) == {
            "name": "", "ready": False, "restartCount": 0, "image": "", "imageID": "", "state": {}, "lastState": {},
        }  # fmt: skip
        assert encode("TCPSocketAction", {}) == {"port": 0}
        assert encode("ResourceFieldSelector", {}) == {"resource": "", "divisor": "0"}


def test_a_micro_time_keeps_its_text_and_is_checked() -> None:
    given = {"renewTime": "2026-01-31T12:00:00.000001Z"}
    assert decode("LeaseSpec", given) == given
    layout = '"2006-01-02T15:04:05.000000Z07:00"'
    with pytest.raises(DecodeError) as reported:
        decode("LeaseSpec", {"renewTime": "soon"})
    assert str(reported.value) == f'parsing time "soon" as {layout}: cannot parse "soon" as "2006"'
