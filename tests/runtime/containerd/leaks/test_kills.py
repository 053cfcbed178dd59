"""kubesim is killed at random times of a run with real plugins: nothing of it remains.

Of private nodes nothing remains, even without a clean-up. On the host, the next start or `kubesim cni leaks --clean`
removes everything, while pods of another runtime start and stop. A run that gets SIGTERM or SIGINT cleans up itself.
"""

from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path
from typing import Any

from kubesim.linux.networks import NETWORKS
from kubesim.linux.private_node.private import adopt_orphans
from tests.support.machine import neighbour
from tests.support.machine.cni_host import on_host
from tests.support.machine.host_state import host_state
from tests.support.machine.kills import SCENARIO, Ground, Start, drawn, left_on_host, left_running
from tests.support.machine.leaks import leaks
from tests.support.machine.mounts import own_mounts
from tests.support.machine.unprivileged import unprivileged
from tests.support.processes import interruptible, kubesim
from tests.support.soak import LONG, rounds

pytestmark = LONG

ENDED = {
    -signal.SIGKILL,
    -signal.SIGTERM,
    -signal.SIGINT,
    130,
}  # SIGTERM and SIGINT as the shell reports them, or handled
BEFORE_KUBESIM = "Fatal Python error: init_import_site"  # how Python exits when it is interrupted during its start
Left = list[Any]


def ended_well(code: int, said: str) -> bool:
    return code == 0 or code in ENDED or said.startswith(BEFORE_KUBESIM)


def as_root(*words: str, **options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen(kubesim(*words), preexec_fn=interruptible, **options)


# -- private nodes ----------------------------------------------------------------------------------------------------


def private(kills: int, seed: int) -> Left:
    """As root and as an unprivileged user, alternately; every kill after which anything was different."""
    adopt_orphans()
    with unprivileged() as user:
        ground = Ground(user.folder)
        (user.folder / "kills.yaml").write_text(SCENARIO)

        def as_nobody(*words: str, **options: Any) -> subprocess.Popen[Any]:
            return user.start("-m", "kubesim", *words, preexec_fn=interruptible, **options)

        return _private_lives(ground, str(user.folder / "kills.yaml"), (as_root, as_nobody), kills, seed)


def _private_lives(ground: Ground, scenario: str, starts: tuple[Start, ...], kills: int, seed: int) -> Left:
    chance, left, struck = random.Random(seed), [], 0
    words = ["run", "-o", "jsonl", "--cni-bin-dir", str(ground.bin), scenario]
    before = _private_state(ground)
    code, steps, said = ground.life(starts[0], words, None)
    assert code == 0, said
    while struck < kills:
        kill = drawn(chance, steps)
        network = ["--cni-network", chance.choice(NETWORKS)]
        code, _, said = ground.life(starts[struck % len(starts)], [*words, *network], kill)
        found = {"processes": left_running(()), **_private_state(ground)}
        if found != before or not ended_well(code, said):
            left.append(
                [struck, str(kill), code, said, {key: found[key] for key in found if found[key] != before[key]}]
            )
        struck += code != 0
    return left


def _private_state(ground: Ground) -> dict[str, Any]:
    return {"processes": [], "files": ground.files(), "mounts": own_mounts(), **host_state()}


def test_of_private_nodes_nothing_remains() -> None:
    assert on_host(private, kills=rounds(500), seed=24) == []


# -- on the host ------------------------------------------------------------------------------------------------------


def beside_a_neighbour(folder: str, kills: int, seed: int) -> dict[str, Any]:
    adopt_orphans()
    ground, state = Ground(Path(folder)), Path(folder, "state")
    Path(folder, "kills.yaml").write_text(SCENARIO)
    with neighbour.neighbour() as other:
        return HostLives(ground, state, other).lived(kills, seed)


class HostLives:
    def __init__(self, ground: Ground, state: Path, other: subprocess.Popen[str]) -> None:
        self._ground, self._state, self._other = ground, state, other
        self._words = ["run", "-o", "jsonl", "--host-network-node", "--state", str(state)]
        self._words += ["--cni-bin-dir", str(ground.bin), str(state.parent / "kills.yaml")]
        self._neighbours_steps = 0

    def lived(self, kills: int, seed: int) -> dict[str, Any]:
        """Every time that something remained where nothing may; and how many kills left something to clean up."""
        chance, wrong, struck, cleaned = random.Random(seed), [], 0, 0
        code, steps, said = self._ground.life(as_root, self._words, None)
        assert code == 0, said
        is_clean = True
        while struck < kills:
            kill = drawn(chance, steps)
            network = ["--cni-network", chance.choice(NETWORKS)]
            self._stir()
            code, _, said = self._ground.life(as_root, [*self._words, *network], kill)
            struck += code != 0
            if not ended_well(code, said):
                wrong.append([struck, str(kill), code, said])
            is_clean = code == 0 or (is_clean and kill.by != signal.SIGKILL)
            if not is_clean and chance.random() < 0.5:  # otherwise the next start cleans up
                cleaned += bool(left_on_host(self._state, self._neighbours()))
                done = leaks("--state", str(self._state), "--clean")
                is_clean = True
                if done[0] != 0:
                    wrong.append([struck, str(kill), *done])
            if is_clean and (found := self._found()):
                wrong.append([struck, str(kill), code, said, found])
        return {"wrong": wrong, "cleaned": cleaned}

    def _stir(self) -> None:
        """The other runtime works while kubesim runs."""
        assert self._other.stdin is not None
        self._other.stdin.write("\n")
        self._other.stdin.flush()
        self._neighbours_steps += 1

    def _neighbours(self) -> set[str]:
        return neighbour.chains(self._neighbours_steps)

    def _found(self) -> dict[str, list[str]]:
        found = left_on_host(self._state, self._neighbours())
        found |= {"processes": left_running([self._other.pid]), "files": self._ground.files()}
        return {kind: names for kind, names in found.items() if names}


def test_on_the_host_nothing_remains_next_to_a_busy_runtime(tmp_path: Path) -> None:
    reported = on_host(beside_a_neighbour, folder=str(tmp_path), kills=rounds(500), seed=24)
    assert reported["wrong"] == []
    assert reported["cleaned"] > 0, "no kill left anything: nothing had to be cleaned up"
