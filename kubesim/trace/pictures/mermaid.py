"""Text and diagrams in Mermaid's syntax."""

from __future__ import annotations

import re

MOST = 160  # characters of a message
_OTHER = re.compile(r"[^\w .,/()=+*'→·-]")


def words(content: str, most: int = MOST) -> str:
    """Text for a message or a note: characters with a meaning in Mermaid become entities."""
    line = " ".join(content.split())
    if len(line) > most:
        line = line[: most - 1] + "…"
    return _OTHER.sub(lambda found: f"#{ord(found[0])};", line) or "-"


def block(diagram: list[str]) -> list[str]:
    return ["```mermaid", *diagram, "```"]
