"""`FieldRow`: one line of the tables of fields without effect (`pod_rows`, `object_rows`).

A field is named by its struct, so that one row covers every use of the struct:
`SecurityContext.privileged` is a field of init containers, of ephemeral containers and of every pod template.
"""

from __future__ import annotations

from typing import Any

from kubesim.values import value_object


@value_object
class FieldRow:
    """`fields` are separated by spaces. A zero value requests nothing, and neither does one of the `plain` values."""

    fields: str
    real: str  # what a real cluster does with it
    here: str  # why it is without effect here
    plain: tuple[Any, ...] = ()

    def asks_for_nothing(self, value: Any) -> bool:
        """Zero values are no requests, except where false is the opposite of the default."""
        return value in self.plain or (not value and True not in self.plain)
