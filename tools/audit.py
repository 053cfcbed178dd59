"""`make audit`: queries pip's package index for known vulnerabilities of all pinned versions.

Exit codes: 0 none found, 1 some found, 3 unknown, because the index is unreachable or has no advisories (as many
mirrors).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tools.index import Index
from tools.pins import files, pins

VULNERABLE, UNKNOWN = 1, 3


def judged(name: str, version: str, answer: str) -> list[str] | None:
    """A line for each current advisory; None if the response has no vulnerability data."""
    try:
        reported: Any = json.loads(answer)
    except ValueError:
        return None
    advisories = reported.get("vulnerabilities") if isinstance(reported, dict) else None
    if not isinstance(advisories, list):
        return None
    return [_line(name, version, each) for each in advisories if not each.get("withdrawn")]


def _line(name: str, version: str, advisory: dict[str, Any]) -> str:
    names = ", ".join([str(advisory.get("id", "?")), *map(str, advisory.get("aliases") or ())])
    fixed = ", ".join(map(str, advisory.get("fixed_in") or ())) or "no version yet"
    summary = " ".join(str(advisory.get("summary") or advisory.get("details") or "").split())[:100]
    return f"{name} {version}: {names}: fixed in {fixed}" + (f": {summary}" if summary else "")


def main() -> int:
    index, found = Index(), []
    pinned = sorted({pin for path in files() for pin in pins(path.read_text())})
    for name, version in pinned:
        try:
            lines = judged(name, version, index.release(name, version))
        except OSError as error:
            print(f"audit: nothing is known: the index of pip does not answer about {name} {version}: {error}")
            return UNKNOWN
        if lines is None:
            print(f"audit: nothing is known: the index of pip has no advisories ({name} {version})")
            return UNKNOWN
        found += lines
    print(*found, f"{len(pinned)} pinned versions, {len(found)} known vulnerabilities", sep="\n")
    return VULNERABLE if found else 0


if __name__ == "__main__":
    sys.exit(main())
