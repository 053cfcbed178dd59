"""What comes with kubesim beside its code: labs and scenarios. In a clone they are folders of the repository; an
installed kubesim has them under `share/kubesim` of wherever it was installed, which its own record of files tells."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

Kind = Literal["labs", "scenarios"]
DISTRIBUTION = "kubesim"


@cache
def shipped(kind: Kind) -> Path | None:
    """The folder; None if this kubesim came without."""
    clone = Path(__file__).resolve().parents[1]
    if (clone / "pyproject.toml").is_file() and (clone / kind).is_dir():
        return clone / kind
    return _installed(kind)


def _installed(kind: Kind) -> Path | None:
    from importlib.metadata import PackageNotFoundError, files  # costs more than all else here

    try:
        recorded = files(DISTRIBUTION) or ()
    except PackageNotFoundError:
        return None
    for file in recorded:
        parts = file.parts
        if "share" in parts and parts[parts.index("share") + 1 :][:2] == (DISTRIBUTION, kind):
            below = len(parts) - parts.index("share") - 3
            place = Path(str(file.locate())).resolve().parents[below - 1]
            return place if place.is_dir() else None
    return None


def scenario_names() -> list[str]:
    """Those that come with kubesim, as `kubesim run NAME` takes them."""
    folder = shipped("scenarios")
    return [] if folder is None else sorted(path.stem for path in folder.glob("*.yaml"))


def scenario_file(asked: str) -> str:
    """A path that does not exist may name a scenario that came along: `crashloop`, `scenarios/crashloop.yaml`."""
    folder = shipped("scenarios")
    name = asked.removeprefix("scenarios/").removesuffix(".yaml")
    if folder is None or Path(asked).exists() or name not in scenario_names():
        return asked
    return str(folder / f"{name}.yaml")
