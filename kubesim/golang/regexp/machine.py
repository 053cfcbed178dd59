"""The matcher: it follows all alternatives of an expression in parallel, character by character, without backtracking.

An expression is a list of instructions. `search` records the groups of each alternative (Pike's machine). `found_in`
only decides whether there is a match, and caches the transitions between sets of instructions (a lazy automaton).

Mirrors: regexp/exec.go, regexp/prog.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple, TypeAlias

WORK_LIMIT = 1_000_000  # maximum number of instructions for one match
_MOST_STATES = 1000  # of the cached automaton; when it is full, it is built again

Predicate: TypeAlias = Callable[[str], bool]  # a condition on one character
_Span: TypeAlias = tuple[int, int]


class TooMuchWork(Exception):
    """A match needs more than `WORK_LIMIT` instructions."""

    def __init__(self) -> None:
        super().__init__("regular expression too big for this text")


class Op(Enum):
    TAKE = "take"  # if the predicate holds for the next character, consume it and go to `to`
    SPLIT = "split"  # go to `to`, with `other` as the alternative
    SAVE = "save"  # store the current position as `other`, then go to `to`
    # go to `to` if the check holds for (character before, character after); they are empty at the ends of the text
    CHECK = "check"
    DONE = "done"


class Instruction(NamedTuple):
    op: Op
    to: int = 0
    other: int = 0
    takes: Predicate = bool
    holds: Callable[[str, str], bool] = lambda before, after: True


class Match(NamedTuple):
    """A match. `spans` has the span of the whole match, then one for each group; (-1, -1) for a group without a
    match."""

    text: str
    spans: tuple[_Span, ...]

    def group(self, number: int = 0) -> str:
        start, end = self.spans[number]
        return self.text[start:end] if start >= 0 else ""

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[0][1]


class _State:
    """A state of the automaton: a set of instructions, the character before, and the transitions that are known."""

    __slots__ = ("before", "counters", "follows")

    def __init__(self, counters: tuple[int, ...], before: str) -> None:
        self.counters = counters
        self.before = before
        self.follows: dict[str, _State | None] = {}  # None: a match


class Expression:
    """A compiled expression with `groups` groups. Of the matches that begin leftmost, the longest counts with
    `longest`, else the one that the expression prefers.
    """

    def __init__(self, program: list[Instruction], groups: int, *, longest: bool) -> None:
        self._program = program
        self.groups = groups
        self._longest = longest
        self._states: dict[tuple[tuple[int, ...], str], _State] = {}
        self.work = 0  # instructions executed so far

    # Whether there is a match.

    def found_in(self, text: str) -> bool:
        limit = self.work + WORK_LIMIT
        state = self._state((), "")
        for char in text:
            if char in state.follows:
                following = state.follows[char]
            else:
                following = self._follow(state, char)
                if self.work > limit:
                    raise TooMuchWork
            if following is None:
                return True
            state = following
        if "" not in state.follows:
            self._follow(state, "")
        return state.follows[""] is None

    def _state(self, counters: tuple[int, ...], before: str) -> _State:
        state = self._states.get((counters, before))
        if state is None:
            if len(self._states) > _MOST_STATES:
                self._states.clear()
            state = self._states[counters, before] = _State(counters, before)
        return state

    def _follow(self, state: _State, char: str) -> _State | None:
        """The next state after a character (empty: the end of the text); None for a match."""
        seen: set[int] = set()
        reached: dict[int, None] = {}
        following: _State | None = None
        for counter in (*state.counters, 0):
            for index, _ in self._ways(counter, (), 0, state.before, char, seen):
                instruction = self._program[index]
                if instruction.op is Op.DONE:
                    state.follows[char] = None
                    return None
                if char and instruction.takes(char):
                    reached[instruction.to] = None
        # of the character before, only whether it is a word character matters
        following = self._state(tuple(reached), "a" if _is_word(char) else " ")
        state.follows[char] = following
        return following

    # The position of the match, with groups.

    def search(self, text: str, start: int = 0, *, anchored: bool = False) -> Match | None:
        """The leftmost match at or after `start`; with `anchored`, only a match that begins at `start`."""
        limit = self.work + WORK_LIMIT
        empty = (-1,) * (2 * self.groups + 2)
        ways: list[tuple[int, tuple[int, ...]]] = []
        best: tuple[int, ...] | None = None
        before = text[start - 1] if start else ""
        for position in range(start, len(text) + 1):
            if self.work > limit:
                raise TooMuchWork
            after = text[position] if position < len(text) else ""
            if best is None and (position == start or not anchored):
                ways.append((0, empty))
            if not ways:
                break
            seen: set[int] = set()
            following: list[tuple[int, tuple[int, ...]]] = []
            for counter, saved in ways:
                if best is not None and saved[0] > best[0]:
                    break
                done = self._advance(counter, saved, position, (before, after), seen, following)
                if done is not None:
                    if best is None or done[1] > best[1] or not self._longest:
                        best = done
                    if not self._longest:
                        break
            ways = following
            before = after
        return None if best is None else Match(text, tuple(zip(best[::2], best[1::2], strict=True)))

    def _advance(
        self,
        counter: int,
        saved: tuple[int, ...],
        position: int,
        around: tuple[str, str],
        seen: set[int],
        following: list[tuple[int, tuple[int, ...]]],
    ) -> tuple[int, ...] | None:
        """Advance one alternative over the next character; returns its groups if it matches here."""
        before, after = around
        done: tuple[int, ...] | None = None
        for index, groups in self._ways(counter, saved, position, before, after, seen):
            instruction = self._program[index]
            if instruction.op is Op.DONE:
                done = (groups[0], position, *groups[2:])
                if not self._longest:
                    break
            elif after and instruction.takes(after):
                following.append((instruction.to, groups))
        return done

    def _ways(
        self, counter: int, saved: tuple[int, ...], position: int, before: str, after: str, seen: set[int]
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """The TAKE and MATCH instructions that can be reached without consuming a character, in order of preference."""
        stack = [(counter, (position, *saved[1:]) if counter == 0 and saved else saved)]
        while stack:
            index, groups = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            self.work += 1
            instruction = self._program[index]
            if instruction.op is Op.SPLIT:
                stack.append((instruction.other, groups))
                stack.append((instruction.to, groups))
            elif instruction.op is Op.SAVE:
                if groups:
                    slot = instruction.other
                    groups = (*groups[:slot], position, *groups[slot + 1 :])
                stack.append((instruction.to, groups))
            elif instruction.op is Op.CHECK:
                if instruction.holds(before, after):
                    stack.append((instruction.to, groups))
            else:
                yield index, groups

    # All matches.

    def matches(self, text: str) -> Iterator[Match]:
        """Non-overlapping matches from left to right; no empty match directly after another match."""
        position, last_end = 0, -1
        while position <= len(text) and (match := self.search(text, position)) is not None:
            if match.end > match.start or match.start != last_end:
                yield match
            last_end = match.end
            position = match.end if match.end > match.start else match.end + 1


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


CHECKS: dict[str, Callable[[str, str], bool]] = {
    "begin": lambda before, after: not before,
    "end": lambda before, after: not after,
    "boundary": lambda before, after: _is_word(before) != _is_word(after),
    "inside": lambda before, after: _is_word(before) == _is_word(after),
    "word begin": lambda before, after: not _is_word(before) and _is_word(after),
    "word end": lambda before, after: _is_word(before) and not _is_word(after),
}
