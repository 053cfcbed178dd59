"""Mermaid text: what may stand in it, and a diagram in a block of Markdown."""

from __future__ import annotations

import re

MOST = 160  # characters of a message
_OTHER = re.compile(r"[^\w .,/()=+*'→·-]")


def words(content: str, most: int = MOST) -> str:
    """Text for a message or a note: everything that Mermaid could read as its own is an entity."""
    line = " ".join(content.split())
    if len(line) > most:
        line = line[: most - 1] + "…"
    return _OTHER.sub(lambda found: f"#{ord(found[0])};", line) or "-"


def block(diagram: list[str]) -> list[str]:
    return ["```mermaid", *diagram, "```"]
