"""Requests and limits of containers, and their resource claims.

Adapted from: pkg/apis/core/validation/validation_test.go TestValidateResourceNames, TestValidateResourceRequirements,
TestHugePagesIsolation, TestValidateOverhead, TestValidateDynamicResourceAllocation
"""

# ruff: noqa: E501  the API's messages are quoted whole

from __future__ import annotations

import pytest

from tests.support.validation.pods import JsonObject, about_container, about_spec, complaints, pod_with
from tests.support.validation.texts import KEY, LABEL, SUBDOMAIN

STANDARD = "must be a standard resource type or fully qualified"
PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
NOT_EXTENDED = "doesn't follow extended resource name standard"
FOR_CONTAINERS = "must be a standard resource for containers"
NO_LIMIT = "limits: Required value: Limit must be set for non overcommitable resources"
HUGE_ALONE = "spec.containers[0].resources: Forbidden: HugePages require cpu or memory"


def about(**resources: JsonObject) -> list[str]:
    return [error.removeprefix("resources.") for error in about_container({"resources": resources})]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cpu", []),
        ("ephemeral-storage", []),
        ("example.com/gpu", []),
        ("my.kubernetes.io/thing", []),  # native: anything goes
        ("pods", [FOR_CONTAINERS]),
        ("storage", [FOR_CONTAINERS]),
        ("requests.hugepages-2Mi", [FOR_CONTAINERS]),
        ("gpu", [STANDARD, FOR_CONTAINERS]),
        ("", ["name part must be non-empty", f"name part {KEY}", FOR_CONTAINERS]),
        ("a/b/c", [f"a valid label key {KEY} {PREFIX}", NOT_EXTENDED]),
        # A quota for this resource would have an invalid or ambiguous name.
        (f"{'a' * 250}/b", [NOT_EXTENDED]),
        ("requests.example.com/gpu", [NOT_EXTENDED]),
    ],
)
def test_names(name: str, expected: list[str]) -> None:
    errors = [f'[{name}]: Invalid value: "{name}": {error}' for error in expected]
    amount = {name: "1"}
    # The request is set by default.
    assert about(limits=amount) == [f"limits{error}" for error in errors] + [f"requests{error}" for error in errors]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"cpu": "0"}}, []),
        (
            {"requests": {"cpu": "-1m"}},
            ['requests[cpu]: Invalid value: "-1m": must be greater than or equal to 0'],
        ),
        (
            {"limits": {"example.com/gpu": "1500m"}},
            [
                'limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
                'requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
            ],
        ),
        (
            {"requests": {"pods": "1500m"}},
            [
                f'requests[pods]: Invalid value: "pods": {FOR_CONTAINERS}',
                'requests[pods]: Invalid value: "1500m": must be an integer',
            ],
        ),
        (
            {"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}},
            ['requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi'],
        ),
        (
            {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}},
            ['requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
        ),
        ({"requests": {"example.com/gpu": "1"}}, [NO_LIMIT]),
        ({"requests": {"my.kubernetes.io/thing": "1"}}, []),
    ],
)
def test_amounts(resources: JsonObject, expected: list[str]) -> None:
    assert about(**resources) == expected


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"hugepages-2Mi": "4Mi", "memory": "1Mi"}}, []),
        ({"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"cpu": "1"}}, []),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, [HUGE_ALONE]),
        ({"requests": {"hugepages-2Mi": "4Mi"}}, [NO_LIMIT, HUGE_ALONE]),
        (
            {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "2Mi"}},
            ['requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi'],
        ),
        (
            {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
            [
                'limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
                'requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
            ],
        ),
    ],
)
def test_huge_pages(resources: JsonObject, expected: list[str]) -> None:
    assert about(**resources) == [error.removeprefix("spec.containers[0].") for error in expected]


@pytest.mark.parametrize("size", ["big", "0", "1m", "-2Mi"])
def test_a_huge_page_size_that_is_invalid_has_no_multiples(size: str) -> None:
    name = f"hugepages-{size}"
    found = about(limits={name: "4Mi", "cpu": "1"})
    assert f'limits[{name}]: Invalid value: "4Mi": 4Mi is not positive integer multiple of {name}' in found


def test_overhead_is_validated_like_limits() -> None:
    assert about_spec({"overhead": {"cpu": "1", "pods": "-1"}}) == [
        f'overhead.limits[pods]: Invalid value: "pods": {FOR_CONTAINERS}',
        'overhead.limits[pods]: Invalid value: "-1": must be greater than or equal to 0',
    ]


class TestClaims:
    """`spec.resourceClaims`, and `resources.claims` of containers, which refer to them by name."""

    def about(self, *used: JsonObject, names: tuple[str, ...] = ("gpu", "net")) -> list[str]:
        claims = [{"name": name, "resourceClaimName": "c"} for name in names]
        found = about_container({"resources": {"claims": list(used)}}, {"resourceClaims": claims})
        return [error.removeprefix("resources.claims") for error in found]

    def test_references(self) -> None:
        assert self.about({"name": "gpu"}, {"name": "net", "request": "a"}, {"name": "net", "request": "b"}) == []
        assert self.about({}) == ["[0]: Required value"]
        assert self.about({"name": "x"}) == [
            '[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims: gpu, net'
        ]
        assert self.about({"name": "x"}, names=()) == [
            '[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty'
        ]
        assert self.about({"name": "gpu", "request": "A"}) == [f'[0].request: Invalid value: "A": {LABEL}']

    def test_references_are_unique(self) -> None:
        whole, part = {"name": "gpu"}, {"name": "gpu", "request": "a"}
        assert self.about(whole, whole) == ['[1]: Duplicate value: "gpu"']
        assert self.about(whole, part) == ['[1]: Duplicate value: "gpu"']
        assert self.about(part, part) == ['[1]: Duplicate value: "gpu/a"']
        # Once for each earlier entry.
        assert self.about(part, {"name": "gpu", "request": "b"}, {"name": "net", "request": "a"}, whole) == [
            '[3]: Duplicate value: "gpu"',
            '[3]: Duplicate value: "gpu"',
        ]

    @pytest.mark.parametrize(
        ("claims", "expected"),
        [
            ([{"name": "gpu", "resourceClaimName": "c"}, {"name": "x", "resourceClaimTemplateName": "t"}], []),
            ([{"resourceClaimName": "c"}], ["[0].name: Required value"]),
            ([{"name": "../x", "resourceClaimName": "c"}], [f'[0].name: Invalid value: "../x": {LABEL}']),
            ([{"name": "gpu", "resourceClaimName": "c"}] * 2, ['[1].name: Duplicate value: "gpu"']),
            (
                [{"name": "gpu"}],
                [
                    '[0]: Invalid value: {"Name":"gpu","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
                ],
            ),
            (
                [{"name": "gpu", "resourceClaimName": "C", "resourceClaimTemplateName": "T"}],
                [
                    '[0]: Invalid value: {"Name":"gpu","ResourceClaimName":"C","ResourceClaimTemplateName":"T"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
                    f'[0].resourceClaimName: Invalid value: "C": {SUBDOMAIN}',
                    f'[0].resourceClaimTemplateName: Invalid value: "T": {SUBDOMAIN}',
                ],
            ),
        ],
    )
    def test_definitions(self, claims: list[JsonObject], expected: list[str]) -> None:
        assert about_spec({"resourceClaims": claims}) == [f"resourceClaims{error}" for error in expected]

    def test_not_for_mirror_pods(self) -> None:
        """The path is empty, which is printed as an index without a number."""
        spec = {"nodeName": "n", "resourceClaims": [{"name": "gpu"}]}
        pod = pod_with(spec, annotations={"kubernetes.io/config.mirror": "x"})
        assert complaints(pod) == ["[]: Forbidden: static pods do not support resource claims"]
