"""Random objects: every decoded object can be validated and encoded without an exception."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubesim.api.pods.defaults import set_pod_defaults
from kubesim.api.schema.codec import DecodeError, decode, encode
from kubesim.api.schema.types import Type, parse_type, struct_fields
from kubesim.api.validation import validate_pod_create
from kubesim.golang.json import Number
from tests.support.soak import LONG, rounds

pytestmark = LONG

TEXTS = st.sampled_from(
    ["", "a", "A_b", "x.y/z", "..", "/p", "Always", "In", "Exists", "Localhost", "linux", "1Mi", "é"]
)


def values_of(type_: Type, depth: int) -> st.SearchStrategy[Any]:
    match type_.kind:
        case "struct":
            fields = struct_fields(type_.struct)
            if depth <= 0:
                return st.just({})
            chosen = st.sets(st.sampled_from(sorted(fields)), max_size=5)
            return chosen.flatmap(
                lambda names: st.fixed_dictionaries({n: values_of(fields[n].type, depth - 1) for n in sorted(names)})
            )
        case "list":
            return st.lists(values_of(type_.of, depth), max_size=2)
        case "map":
            return st.dictionaries(TEXTS, values_of(type_.of, depth), max_size=2)
        case "bool":
            return st.booleans()
        case "int":
            return st.sampled_from([Number("-1"), Number("0"), Number("1"), Number("70000")])
        case "IntOrString":
            return st.one_of(TEXTS, st.just(Number("80")))
        case "Quantity":
            return st.sampled_from(["0", "-1", "1500m", "2Mi", Number("1e3"), None])
        case "Time":
            return st.just("2026-01-01T00:00:00Z")
        case _:
            return TEXTS


@settings(max_examples=rounds(1500), deadline=None, suppress_health_check=list(HealthCheck))
@given(values_of(parse_type("Pod"), depth=9))
def test_every_decoded_object_can_be_validated_and_encoded(value: dict[str, Any]) -> None:
    try:
        pod = decode("Pod", value)
    except DecodeError:
        return
    set_pod_defaults(pod)
    validate_pod_create(pod)
    written = encode("Pod", pod)
    assert encode("Pod", written) == written
