"""maxSurge and maxUnavailable as numbers or percentages; they are never both 0.

Adapted from: util/deployment_util_test.go TestResolveFenceposts, TestMaxUnavailable, TestMinAvailable
"""

from __future__ import annotations

import pytest

from kubesim.cluster.controllers.deployment.limits import max_unavailable, replicas_of, resolve_fenceposts
from tests.support.cluster.deployments import deployment


@pytest.mark.parametrize(
    ("surge", "unavailable", "desired", "expected"),
    [
        ("0%", "0%", 0, (0, 1)),
        ("39%", "39%", 10, (4, 3)),
        (None, "39%", 10, (0, 3)),
        ("39%", None, 10, (4, 0)),
        (None, None, 10, (0, 1)),
    ],
)
def test_surge_is_rounded_up_and_unavailable_down(
    surge: str | None, unavailable: str | None, desired: int, expected: tuple[int, int]
) -> None:
    assert resolve_fenceposts(surge, unavailable, desired) == expected


@pytest.mark.parametrize(
    ("replicas", "unavailable", "strategy", "most", "least"),
    [
        (10, 5, "RollingUpdate", 5, 5),
        (10, 10, "RollingUpdate", 10, 0),
        (5, 10, "RollingUpdate", 5, 0),
        (0, 10, "RollingUpdate", 0, 0),
        (10, 0, "Recreate", 0, 10),
        (10, "50%", "RollingUpdate", 5, 5),
        (10, "60%", "RollingUpdate", 6, 4),
        (10, "100%", "RollingUpdate", 10, 0),
        (5, "100%", "RollingUpdate", 5, 0),
    ],
)
def test_unavailable_pods_are_limited_by_the_replicas(
    replicas: int, unavailable: int | str, strategy: str, most: int, least: int
) -> None:
    made = deployment(replicas, 1, unavailable, strategy=strategy)
    assert max_unavailable(made) == most
    assert replicas_of(made) - max_unavailable(made) == least
