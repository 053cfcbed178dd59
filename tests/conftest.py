"""Random tests are the same every time in `make test`, and new ones in `make soak`; none is judged by its speed."""

from __future__ import annotations

from hypothesis import settings

from tests.support.soak import SOAK

settings.register_profile("test", deadline=None, derandomize=True, database=None)
settings.register_profile("soak", deadline=None, max_examples=1000)
settings.load_profile("soak" if SOAK else "test")
