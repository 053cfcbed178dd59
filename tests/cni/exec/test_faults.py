"""Faults injected into plugins: their syntax and their effects."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cni.exec.context import BACKGROUND, Context
from kubesim.cni.exec.faults import FaultyExec, PluginFault, parse_terms
from kubesim.cni.exec.process import Execution
from kubesim.errors import PluginError

ANSWER = b'{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/24"}]}'


class Plugin:
    """Counts its executions."""

    def __init__(self) -> None:
        self.runs = 0

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return f"{paths[0]}/{plugin}"

    async def exec_plugin(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes:
        self.runs += 1
        return ANSWER


class Played:
    """The results and times of this many executions of a plugin with a list of faults."""

    def __init__(self, text: str, count: int, *, plugin: str = "bridge", verb: str = "ADD") -> None:
        self.plugin, self.reported, self.observed = Plugin(), list[str](), list[Execution]()
        self.ctx = Context()
        self.outcomes: list[str] = []
        self.took = 0
        fault = PluginFault(plugin, verb, parse_terms(text))
        run_virtual(self._play, fault, count)

    async def _play(self, fault: PluginFault, count: int) -> None:
        clock = LoopClock()
        stream = Randomness(0).stream("faults")
        exec = FaultyExec(
            self.plugin, [fault], clock, stream, lambda text, _: self.reported.append(text), self.observed.append
        )
        for _ in range(count):
            try:
                said = await exec.exec_plugin("/bin/bridge", b"", {"CNI_COMMAND": "ADD"}, self.ctx)
                self.outcomes.append("ok" if said == ANSWER else said.decode(errors="replace"))
            except PluginError as error:
                self.outcomes.append(f"{error.code}: {error}")
        self.took = clock.elapsed()


def test_a_sequence_is_used_in_order_and_later_calls_succeed() -> None:
    played = Played('2*error(11, "try again", "later -> maybe") -> 1*ok -> 1*crash', 6)
    refusal = "11: try again; later -> maybe"
    crash = "0: netplugin failed with no error message: signal: segmentation fault"
    assert played.outcomes == [refusal, refusal, "ok", crash, "ok", "ok"]
    assert played.plugin.runs == 4  # a call with an injected error does not run
    assert played.reported == ["ADD bridge: error 11: try again"] * 2 + ["ADD bridge: crash"]
    assert [json.loads(execution.stdout)["code"] for execution in played.observed] == [11, 11]


def test_a_chance_is_drawn_from_the_seed() -> None:
    one, two = Played("20%crash", 500), Played("20%crash", 500)
    assert one.outcomes == two.outcomes
    assert 70 < len(one.reported) < 130


def test_a_count_with_a_chance_counts_only_the_faults_that_occur() -> None:
    played = Played("50%10*crash -> 50%10*garbage", 200)
    kinds = [text.removeprefix("ADD bridge: ") for text in played.reported]
    assert (kinds.count("crash"), kinds.count("garbage")) == (10, 10)


def test_a_hang_ends_the_call_like_a_timeout() -> None:
    played = Played("1*hang", 2)
    assert played.outcomes == ["0: netplugin failed with no error message: signal: killed", "ok"]
    assert played.ctx.problem == "context deadline exceeded"
    assert BACKGROUND.problem == ""


def test_a_delay_is_virtual_and_output_can_be_corrupted() -> None:
    assert Played("delay(3s)", 2).took == 6 * SECOND
    assert Played("partial", 1).outcomes == [ANSWER[: len(ANSWER) // 2].decode()]
    assert "garbage" in Played("garbage", 1).outcomes[0]


@pytest.mark.parametrize("where", [{"plugin": "portmap"}, {"verb": "DEL"}])
def test_other_plugins_and_verbs_are_unaffected(where: dict[str, str]) -> None:
    played = Played("crash", 1, **where)
    assert (played.outcomes, played.reported) == (["ok"], [])


@pytest.mark.parametrize("where", [{"plugin": "*"}, {"verb": "*"}])
def test_a_star_matches_every_plugin(where: dict[str, str]) -> None:
    assert Played("crash", 1, **where).reported == ["ADD bridge: crash"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("explode", "'explode' is not one of ok, error, delay, hang, crash, garbage, partial"),
        ("ok ->", "'' is not one of"),
        ("2*", "'2*' is not one of"),
        ("error", "'error' needs a code and a message"),
        ("error(11)", "needs a code and a message"),
        ('error("x", "y")', "needs a code and a message"),
        ("delay", "'delay' needs a duration"),
        ("delay(long)", "needs a duration"),
        ("hang(3s)", "hang takes nothing in brackets"),
    ],
)
def test_an_invalid_fault_is_named(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_terms(text)


def test_pods_are_selected_by_a_glob_and_counted_per_node() -> None:
    fault = PluginFault("*", "*", parse_terms("1*crash"), pod="web-*")
    assert fault.fits("bridge", "ADD", "default/web-1")
    assert not fault.fits("bridge", "ADD", "default/db")
    assert PluginFault("*", "*", (), pod="default/*").fits("bridge", "ADD", "default/db")
    stream = Randomness(0).stream("faults")
    for node in (fault.with_own_counts(), fault.with_own_counts()):
        assert [node.terms[0].happens(stream) for _ in range(2)] == [True, False]
