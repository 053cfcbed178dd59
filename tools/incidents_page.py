"""The sections of `docs/incidents.md`, generated from the comments of each file in `scenarios/incidents/`.

A file begins with a one-line title, `# Incident: URL` (one line for each link), `# Mechanism:` and `# Look at:`. Their
text begins after the colon or on the next line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

INCIDENTS = Path(__file__).parent.parent / "scenarios" / "incidents"
_LABEL = re.compile(r"(Incident|Mechanism|Look at): *(.*)")


class Incident(NamedTuple):
    """The comments of a scenario, and its expectations as YAML."""

    name: str
    title: str
    links: tuple[str, ...]
    mechanism: tuple[str, ...]
    look_at: str
    expected: tuple[str, ...]


def read_incident(path: Path) -> Incident:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line[1:].strip() for line in lines[: next(n for n, line in enumerate(lines) if line[:1] != "#")]]
    title, sections = comments[0], _sections(comments[1:])
    return Incident(
        name=path.stem,
        title=title.rstrip("."),
        links=tuple(sections["Incident"]),
        mechanism=tuple(sections["Mechanism"]),
        look_at=" ".join(sections["Look at"]),
        expected=tuple(_expectations(lines)),
    )


def _sections(comments: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"Incident": [], "Mechanism": [], "Look at": []}
    label = ""
    for line in comments:
        match = _LABEL.match(line)
        label, text = (match[1], match[2]) if match else (label, line)
        if label and text:
            found[label].append(text)
    return found


def _expectations(lines: list[str]) -> Iterator[str]:
    """The lines below `expect:`, without indentation."""
    first = lines.index("  expect:") + 1
    indent = len(lines[first]) - len(lines[first].lstrip())
    for line in lines[first:]:
        if not re.match(rf" {{{indent}}}[- #]", line):
            return
        yield line[indent:]


def incident_lines() -> Iterator[str]:
    yield "What went wrong in real clusters, as scenarios: each one replays the mechanism, and its expectations fail if"
    yield "the rule behind it is another one. `kubesim run FILE` prints what happens step by step."
    yield ""
    for path in sorted(INCIDENTS.glob("*.yaml")):
        one = read_incident(path)
        links = ", ".join(f"[{_short(link)}]({link})" for link in one.links)
        yield from (f"## {one.title}", "", f"{links} · [{one.name}.yaml](../scenarios/incidents/{one.name}.yaml)", "")
        yield from (*one.mechanism, "", f"`kubesim run scenarios/incidents/{one.name}.yaml`", "")
        yield from (f"Look at: {one.look_at}", "", "Expected:", "", "```yaml", *one.expected, "```", "")


def _short(link: str) -> str:
    """`kubernetes/kubernetes#137710` for an issue or a pull request; other URLs are unchanged."""
    match = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", link)
    return f"{match[1]}#{match[2]}" if match else link.removeprefix("https://")
