"""real_chain: chains of real plugins on a private host: every execution, and the remaining state."""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import subprocess
import sys
from functools import partial
from typing import Any

from kubesim.conformance.cni_cases import judge_either
from kubesim.conformance.frame import NotRunnable
from kubesim.conformance.real_host import BIN_DIR

RECORDER = "@REC@"  # a directory of simulated plugins that replace those of the recording


def play(case: dict[str, Any]) -> Any:
    for entry in case.get("path") or [RECORDER]:
        if entry != RECORDER and entry.startswith("@"):
            raise NotRunnable(f"the plugins of {entry} are not installed")
    if not os.path.isdir(BIN_DIR):
        raise NotRunnable(f"no plugins in {BIN_DIR} (on Debian: containernetworking-plugins)")
    answer = _ask({key: value for key, value in case.items() if key not in ("out", "output")})
    if isinstance(answer, dict):
        raise RuntimeError(answer["failed"])
    return answer


def _ask(case: dict[str, Any]) -> Any:
    player = _player()
    assert player.stdin is not None
    assert player.stdout is not None
    player.stdin.write(json.dumps(case) + "\n")
    player.stdin.flush()
    return json.loads(player.stdout.readline() or '{"failed": "the host ended"}')


@functools.cache
def _player() -> subprocess.Popen[str]:
    """The process that runs cases, started once; it ends with this process."""
    command = [sys.executable, "-m", "kubesim.conformance.real_host"]
    player = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(_end, player)
    return player


def _end(player: subprocess.Popen[str]) -> None:
    player.communicate()


def judge(case: dict[str, Any], expected: Any, actual: Any) -> list[str]:
    return judge_either(case, _Chance().removed(expected), _Chance().removed(actual))


class _Chance:
    """Normalizes values that the kernel and plugins generate, and removes those that settle later (carrier, link-local
    addresses). Generated values get numbered names in order of appearance, so that equal values get equal names.
    """

    _NOT_COMPARED = ("ifindex", "link_index", "duration_us", "operstate", "tentative")
    _UNSETTLED_FLAGS = ("NO-CARRIER", "LOWER_UP")
    _PATTERNS = (
        ("veth", re.compile(r"\bveth[0-9a-f]{8}\b")),
        ("netns", re.compile(r"\bcni-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")),
        ("mac", re.compile(r"\b(?!00:00:00:00:00:00|ff:ff:ff:ff:ff:ff)(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b")),
        ("filesystem", re.compile(r"(?<=unknown FS magic on )\"[^\"]+\": [0-9a-f]+")),
    )

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, str]] = {}

    def removed(self, value: Any) -> Any:
        if isinstance(value, str):
            for kind, pattern in self._PATTERNS:
                value = pattern.sub(partial(self._name, kind), value)
            return value
        if isinstance(value, dict):
            kept = (key for key in sorted(value) if key not in self._NOT_COMPARED)
            return {self.removed(key): self.removed(value[key]) for key in kept}
        if isinstance(value, list):
            return [self.removed(item) for item in value if not self._unsettled(item)]
        return value

    def _unsettled(self, item: Any) -> bool:
        if isinstance(item, dict):
            return str(item.get("local") or item.get("dst") or "").startswith("fe80::")
        return item in self._UNSETTLED_FLAGS

    def _name(self, kind: str, found: re.Match[str]) -> str:
        names = self._seen.setdefault(kind, {})
        return names.setdefault(found[0], f"<{kind}-{len(names)}>")
