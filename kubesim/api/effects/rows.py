"""`FieldRow`: one line of the tables of fields without effect (`pod_rows`, `object_rows`).

A field is named by its struct, so that one row covers all uses of the struct: `SecurityContext.privileged` is a field
of init containers, of ephemeral containers and of every pod template.
"""

from __future__ import annotations

from typing import Any

from kubesim.values import value_object


@value_object
class FieldRow:
    """A row of the table. `fields` are separated by spaces. Zero values and the `plain` values request nothing."""

    fields: str
    real: str  # the effect in a real cluster
    here: str  # why it has no effect in kubesim
    plain: tuple[Any, ...] = ()

    def requests_nothing(self, value: Any) -> bool:
        """Whether the value requests nothing: zero values do, except false where the default is true."""
        return value in self.plain or (not value and True not in self.plain)
