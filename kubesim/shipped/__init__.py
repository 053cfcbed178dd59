"""The labs, the scenarios and the glossary that ship with kubesim.

They are `labs/`, `scenarios/` and `docs/glossary.md` of the repository. Links beside this file make them data of this
package: a clone, an editable install and a wheel all find them the same way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def shipped(kind: Literal["labs", "scenarios", "glossary.md"]) -> Path:
    """The folder or file. It does not exist if kubesim was packaged without it."""
    from importlib.resources import files  # slow to import, and `kubesim run FILE` needs none of this

    return Path(str(files(__name__) / kind)).resolve()


def scenario_files() -> dict[str, Path]:
    """The shipped scenarios by name, also those in folders."""
    return {path.stem: path for path in sorted(shipped("scenarios").rglob("*.yaml"))}


def scenario_names() -> list[str]:
    """The names that `kubesim run NAME` accepts."""
    return list(scenario_files())


def scenario_file(asked: str) -> str:
    """A path that does not exist may name a shipped scenario: `crashloop`, `scenarios/crashloop.yaml`."""
    if Path(asked).exists():
        return asked
    name = Path(asked).stem if asked.startswith("scenarios/") else asked.removesuffix(".yaml")
    return str(scenario_files().get(name, asked))
