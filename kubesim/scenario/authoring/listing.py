"""Lists the scenarios of a directory: name, description, duration and number of expectations of each."""

from __future__ import annotations

import re
from typing import Any

from kubesim.golang.text import duration
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.text_files import read_text
from kubesim.values import value_object

_COMMENT = re.compile(r"^# ?(.*)$")
_LOOK_AT = "Look at:"
_SENTENCE = re.compile(r"(?<=[.?!])\s")


@value_object
class Listed:
    """A scenario in a list. `shows` is the text of `# Look at:`, or else the first comment of the file; `duration` is
    in microseconds, None if the run lasts until everything is idle."""

    name: str
    file: str
    title: str
    shows: str
    duration: int | None
    expectations: int

    @property
    def span(self) -> str:
        return "to rest" if self.duration is None else duration(self.duration)

    @property
    def first_sentence(self) -> str:
        return _SENTENCE.split(self.shows or self.title, maxsplit=1)[0]

    def to_json(self) -> dict[str, Any]:
        seconds = None if self.duration is None else self.duration / 1_000_000
        found: dict[str, Any] = {"name": self.name, "file": self.file, "title": self.title, "shows": self.shows}
        return found | {"seconds": seconds, "expectations": self.expectations}


def describe_file(path: str) -> Listed:
    """The list entry of a file. Raises InputError if the file is not a scenario."""
    spec, name = (scenario := load_scenario(path)).spec, scenario.name
    title, shows = comments(read_text(path, path))
    return Listed(name, path, title, shows, spec.duration, len(spec.expect))


def comments(text: str) -> tuple[str, str]:
    """The first line of the comment at the beginning of a file, and the text after `Look at:`."""
    lines: list[str] = []
    for line in text.splitlines():
        found = _COMMENT.match(line)
        if found is None:
            break
        lines.append(found[1].rstrip())
    whole = "\n".join(lines)
    shows = whole.partition(_LOOK_AT)[2].partition("\n\n")[0]
    return (lines[0] if lines else ""), " ".join(shows.split())
