"""The scenario language (being written)."""

from __future__ import annotations

from pydantic import BaseModel


class Scenario(BaseModel):
    pass
