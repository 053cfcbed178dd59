"""The stars of the table are correct: a field has one if and only if its value is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.kubeletconfig.fields import all_fields

PACKAGE = Path(__file__).parent.parent.parent / "kubesim"
SHOWN_ONLY = {"hairpinMode"}  # set for the network plugins of v1.6 and v1.12, which do not use it here
READERS = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.parent.name != "kubeletconfig")


@pytest.mark.parametrize(("name", "played"), [(name, field.played) for name, field in all_fields()])
def test_a_field_has_an_effect_if_it_is_read(name: str, played: bool) -> None:
    assert (f'values["{name}"]' in READERS) == (played or name in SHOWN_ONLY)
