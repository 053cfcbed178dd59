"""The directory of a campaign: a scenario for each finding, and the log with one line for each episode.

Starting the same command again continues the campaign, also after kill -9.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kubesim.errors import UsageError

if TYPE_CHECKING:
    from kubesim.explore.campaign.episodes import Episode
    from kubesim.explore.search.finding import Finding

LOG = "campaign.jsonl"


class CampaignLog:
    """The directory of a campaign. `state` begins with the episodes that are in it."""

    def __init__(self, directory: Path, about: dict[str, Any]) -> None:
        from kubesim.explore.campaign.campaign import CampaignState

        self.directory, self.state, self.findings = directory, CampaignState(), 0
        self._path = directory / LOG
        if self._path.exists():
            self._read(about)
        else:
            self._append({"campaign": about})
        self.findings = len(self.state.known)

    def _read(self, about: dict[str, Any]) -> None:
        from kubesim.explore.campaign.episodes import Episode

        content = self._path.read_bytes()
        complete, _, torn = content.rpartition(b"\n")
        try:
            first, *others = map(json.loads, complete.decode().split("\n"))
            differing = [name for name in about if first["campaign"][name] != about[name]]
            episodes = list(map(Episode.from_json, others))
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"{self._path}: is not the log of a campaign: choose another --output") from None
        if differing:
            raise UsageError(
                f"{self.directory} has a campaign with other {' and '.join(differing)}: choose another --output"
            )
        if torn:  # of a line that was being written when the process was killed
            os.truncate(self._path, len(complete) + 1)
        for episode in episodes:
            self.state.add(episode)

    def _append(self, line: dict[str, Any]) -> None:
        with self._path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def write_episode(self, episode: Episode) -> None:
        self._append(episode.to_json())

    def write_findings(self, findings: Sequence[Finding]) -> None:
        from kubesim.cli.explore.report import write_finding

        for finding in findings:
            self.findings += 1
            write_finding(finding, self.directory, self.findings)
