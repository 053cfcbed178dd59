"""Kinds that are served in two versions and stored in one.

Each version has its own declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.schema.versions import autoscaling_v1, events_v1
from kubesim.values import value_object


@value_object
class Conversion:
    """A version that is not stored: its type, and the functions to and from the stored version."""

    type_name: str
    to_stored: Callable[[dict[str, Any]], dict[str, Any]]
    from_stored: Callable[[dict[str, Any]], dict[str, Any]]


CONVERSIONS: Mapping[tuple[str, str], Conversion] = {
    (events_v1.API_VERSION, "Event"): Conversion("RegardingEvent", events_v1.to_core, events_v1.from_core),
    (autoscaling_v1.API_VERSION, "HorizontalPodAutoscaler"): Conversion(
        "CPUAutoscaler", autoscaling_v1.to_v2, autoscaling_v1.from_v2
    ),
}
