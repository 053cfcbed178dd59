"""Faults of CNI plugins: a list of terms that change executions of the real binary.

    2*error(11, "try again") -> ok        two errors, then normal
    20%hang -> 10%crash                   one in five hangs, one in ten of the rest crashes
    delay(3s)                             always late

A term may have a probability (`20%`), a count (`2*`), or both in this order. An execution uses the first term whose
count is not used up and whose probability applies. If no term applies, the plugin runs normally. The notation is that
of FreeBSD's fail(9).

| term | what happens |
|---|---|
| `ok` | the plugin runs |
| `error(CODE, "message", "details")` | the execution fails immediately; the plugin does not run |
| `delay(3s)` | the plugin runs that much later, in virtual time |
| `hang` | the plugin runs, and then hangs until it is killed |
| `crash` | the plugin runs, and is then killed by a signal |
| `garbage` | the plugin runs, and prints invalid output |
| `partial` | the plugin runs, and prints half of its result |

kubesim does not execute a delegated plugin (IPAM) itself. To make it fail, kubesim puts a stand-in before it in
CNI_PATH.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Final

from kubesim.clock import LoopClock, wake
from kubesim.clock.randomness import Stream
from kubesim.cni.exec.context import BACKGROUND, Context, with_timeout
from kubesim.cni.exec.invoke import PluginExec, pod_of
from kubesim.cni.exec.plugin_files import plugin_failure
from kubesim.cni.exec.process import Execution
from kubesim.errors import PluginError
from kubesim.golang.durations import parse_duration
from kubesim.values import mutable, part, replace, value_object

KIND, SAYS = "KUBESIM_FAULT", "KUBESIM_FAULT_SAYS"  # variables for a stand-in
_HANG_S = 1.0  # duration of a stand-in's real hang
_STAND_IN = """#!/bin/sh
# Replaces {real} once, and fails as $KUBESIM_FAULT says.
[ "$KUBESIM_FAULT" = error ] && printf %s "$KUBESIM_FAULT_SAYS" && exit 1
said=$({real})
code=$?
case $KUBESIM_FAULT in
hang) exec sleep 1000000 ;;
crash) kill -SEGV $$ ;;
garbage) said=garbage ;;
partial) said=$(printf %s "$said" | head -c $((${{#said}} / 2))) ;;
esac
printf %s "$said"
exit $code
"""
VERBS: Final = ("*", "ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION")
_KINDS = ("ok", "error", "delay", "hang", "crash", "garbage", "partial")
_TERM = re.compile(r"(?:(?P<chance>\d+(?:\.\d+)?)%)?(?:(?P<count>\d+)\*)?(?P<kind>[a-z]+)(?:\((?P<given>.*)\))?\Z")
_ARROW = re.compile(r'\s*->\s*(?=(?:[^"]*"[^"]*")*[^"]*\Z)')  # outside quotes


@mutable
class Term:
    """`left` is the number of remaining uses; None: unlimited."""

    kind: str
    chance: float = 100.0
    left: int | None = None
    code: int = 0
    message: str = ""
    details: str = ""
    delay: int = 0

    def happens(self, stream: Stream) -> bool:
        if self.left == 0 or (self.chance < 100 and stream.random() * 100 >= self.chance):
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def says(self) -> str:
        """The output of a failing plugin."""
        return json.dumps({"code": self.code, "msg": self.message, "details": self.details})

    def __str__(self) -> str:
        return f"error {self.code}: {self.message}" if self.kind == "error" else self.kind


def parse_terms(text: str) -> list[Term]:
    """Parse terms. Raises ValueError that names the invalid term."""
    return [_term(part) for part in _ARROW.split(text.strip())]


def _term(text: str) -> Term:
    match = _TERM.match(text)
    if match is None or match["kind"] not in _KINDS:
        raise ValueError(f"{text!r} is not one of {', '.join(_KINDS)}, with a chance (20%) or a count (2*) before it")
    count = match["count"]
    term = Term(match["kind"], float(match["chance"] or 100), None if count is None else int(count))
    given = match["given"]
    if term.kind == "error":
        term.code, term.message, term.details = _error(text, given or "")
    elif term.kind == "delay":
        try:
            term.delay = parse_duration(given or "")
        except ValueError:
            raise ValueError(f"{text!r} needs a duration: delay(3s)") from None
    elif given is not None:
        raise ValueError(f"{text!r}: {term.kind} takes nothing in brackets")
    return term


def _error(text: str, given: str) -> tuple[int, str, str]:
    try:
        code, *words = json.loads(f"[{given}]")
    except ValueError:
        code, words = None, []
    if not isinstance(code, int) or not 1 <= len(words) <= 2 or not all(isinstance(word, str) for word in words):
        raise ValueError(f'{text!r} needs a code and a message: error(11, "try again")')
    return code, words[0], words[1] if len(words) > 1 else ""


def stand_in(real: str) -> str:
    """The source of a stand-in that precedes a plugin in CNI_PATH."""
    return _STAND_IN.format(real=shlex.quote(real))


def _starts(stdin: bytes) -> str:
    """The IPAM plugin that a plugin with this configuration starts."""
    try:
        ipam = json.loads(stdin).get("ipam")
    except (ValueError, AttributeError):
        return ""
    return str(ipam.get("type", "")) if isinstance(ipam, dict) else ""


@value_object
class PluginFault:
    """A fault: plugin and verb (`*`: all), pods (a glob), and terms."""

    plugin: str
    verb: str
    terms: Sequence[Term]
    pod: str = "*"

    def fits(self, plugin: str, verb: str, pod: str) -> bool:
        of_pod = fnmatchcase(pod, self.pod) or fnmatchcase(pod.rpartition("/")[2], self.pod)
        return self.plugin in ("*", plugin) and self.verb in ("*", verb) and of_pod

    def with_own_counts(self) -> PluginFault:
        """A copy with its own counts: each node counts separately."""
        return replace(self, terms=[copy(term) for term in self.terms])


@value_object
class StandIns:
    """The directory of stand-ins for delegated plugins, and the plugins that have one."""

    directory: str = ""
    plugins: frozenset[str] = frozenset()


@part
class FaultyExec:
    """Runs plugins through another Exec, with faults. `report` is called with each fault; `observe` with each error
    that a fault returns instead of an execution.
    """

    exec: PluginExec
    faults: Sequence[PluginFault]
    clock: LoopClock
    stream: Stream
    report: Callable[[str, Mapping[str, str]], object]
    observe: Callable[[Execution], object]
    stand_ins: StandIns = StandIns()

    def find_in_path(self, plugin: str, paths: Sequence[str]) -> str:
        return self.exec.find_in_path(plugin, paths)

    async def exec_plugin(
        self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context = BACKGROUND
    ) -> bytes:
        term = self._choose(os.path.basename(path), environ)
        if term is None:
            return await self._with_stand_in(path, stdin, environ, ctx)
        if term.kind == "error":
            stdout, how = term.says().encode(), "exit status 1"
            self.observe(Execution(path, environ, stdin, stdout, b"", how, 0.0))
            raise plugin_failure(how, stdout, b"")
        if term.kind == "delay":
            await self._wait(term.delay, ctx)
            return await self._with_stand_in(path, stdin, environ, ctx)
        answer = await self.exec.exec_plugin(path, stdin, environ, ctx)
        return self._with_fault(term, answer, ctx)

    async def _with_stand_in(self, path: str, stdin: bytes, environ: Mapping[str, str], ctx: Context) -> bytes:
        """Run it with a stand-in, so that its delegated plugin fails."""
        plugin = _starts(stdin)
        term = self._choose(plugin, environ) if plugin in self.stand_ins.plugins else None
        if term is None:
            return await self.exec.exec_plugin(path, stdin, environ, ctx)
        if term.kind == "delay":
            await self._wait(term.delay, ctx)
        given = {"CNI_PATH": f"{self.stand_ins.directory}:{environ['CNI_PATH']}", KIND: term.kind, SAYS: term.says()}
        if term.kind != "hang":
            return await self.exec.exec_plugin(path, stdin, {**environ, **given}, ctx)
        with with_timeout(_HANG_S) as short:
            try:
                return await self.exec.exec_plugin(path, stdin, {**environ, **given}, short)
            finally:
                if ctx is not BACKGROUND:
                    ctx.finish("context deadline exceeded")

    async def _wait(self, delay: int, ctx: Context) -> None:
        """Wait in virtual time, up to the caller's timeout."""
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.clock.call_at(self.clock.now() + delay, wake, over, None)
        try:
            with ctx.listening(lambda: wake(over, None)):
                await over
        finally:
            timer.cancel()

    def _choose(self, plugin: str, environ: Mapping[str, str]) -> Term | None:
        verb, pod = environ.get("CNI_COMMAND", ""), pod_of(environ)
        for fault in self.faults:
            if fault.fits(plugin, verb, pod):
                term = next((term for term in fault.terms if term.happens(self.stream)), None)
                if term is not None and term.kind != "ok":
                    self.report(f"{verb} {plugin}: {term}", environ)
                    return term
        return None

    def _with_fault(self, term: Term, answer: bytes, ctx: Context) -> bytes:
        """Apply a term to the output of a successful plugin. A hang does not wait in real time."""
        if term.kind == "hang" and ctx is not BACKGROUND:
            ctx.finish("context deadline exceeded")
        if term.kind in ("hang", "crash"):
            died = "signal: killed" if term.kind == "hang" else "signal: segmentation fault"
            raise PluginError(0, f"netplugin failed with no error message: {died}")
        if term.kind == "garbage":
            return b"\x00\xffgarbage"
        return answer[: len(answer) // 2] if term.kind == "partial" else answer
