"""The limits of the processes of one simulated container.

Work is counted in steps (a step is about one command of a script). A process that takes too many of them in one instant
pauses, so that time continues; one that never waits pauses longer and longer, and costs almost nothing. What
exceeds another limit fails as Linux lets it fail: `can't fork: Resource temporarily unavailable`, `No space left on
device`, `Argument list too long`, or the OOM killer ends the container.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Work.
STEPS_PER_TURN = 10_000  # after so much work without time passing, a process pauses
STEPS_PER_INSTANT = 50_000  # ... or after this much work of the whole container
LEAST_STEPS_PER_INSTANT = 2_000  # it has less after each instant that was full
STEPS_OF_A_FORK = 10
PAUSE = 10_000  # microseconds
PAUSES_BEFORE_CPU_BOUND = 10  # then turns are shorter, and each pause is twice the one before
STEPS_WHEN_CPU_BOUND = 1_000
CPU_BOUND_TURNS = 64  # after this many of them in a container they are half as long, then a third ...
SHORTEST_TURN = 10
LONGEST_PAUSE = 3600 * 1_000_000
CHARACTERS_PER_STEP = 64  # of text that is split, matched or parsed
LONG_TEXT = 1024  # characters; the step itself implements this for shorter ones
PATTERN_WORK = 50_000_000  # characters of a pattern times those of the text that it is matched against
NESTING = 40  # of functions, substitutions, parentheses

# Processes and memory.
PROCESS_LIMIT = 512
MEMORY_LIMIT = 64 << 20  # bytes that all processes of a container without a limit may hold
LARGEST_MEMORY = 256 << 20  # ... and those of any container
VARIABLE_LIMIT = 1 << 20  # characters of one variable
VARIABLE_SIZE = 64  # bytes of an entry in a table, without its text
SYNTAX_SIZE = 32  # bytes of a function for each character of its text
ARGUMENT_LIMIT = 128 << 10  # characters of one argument of a program (MAX_ARG_STRLEN)
ARGUMENTS_LIMIT = 2 << 20  # ... and of all arguments and variables together (a quarter of the stack)
CAPTURE_LIMIT = 4 << 20  # characters of an exec's output that are kept; containerd drops more than 16 MiB

# Files and output.
FILE_LIMIT = 4 << 20  # characters of one file
VOLUME_LIMIT = 32 << 20  # characters of all files of a volume
ENTRY_LIMIT = 10_000  # files and directories of a volume
NAME_LIMIT = 255  # characters of a name in a directory
PATH_LIMIT = 4096  # characters of a path
LINE_LIMIT = 16_384  # characters of a line of output; containerd splits longer lines, too
LOG_LINES = 10_000  # that are kept of a container's output; older ones are dropped, as by the kubelet's rotation
LOG_LIMIT = 4 << 20  # ... and their characters


def pause_length(doublings: int) -> int:
    """In microseconds."""
    return min(PAUSE << min(doublings, 40), LONGEST_PAUSE)


def turn_when_cpu_bound(turns: int) -> int:
    """The steps of the next turn of a process that never waits: the more such turns a container had, the fewer."""
    return max(SHORTEST_TURN, STEPS_WHEN_CPU_BOUND // (1 + turns // CPU_BOUND_TURNS))


def is_too_long(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Does Linux refuse to start a program with these arguments and variables (E2BIG)?"""
    size = sum(map(len, argv)) + sum(map(len, environment.values()))
    if size < ARGUMENT_LIMIT:
        return False
    return size > ARGUMENTS_LIMIT or max(map(len, (*argv, *environment.values()))) >= ARGUMENT_LIMIT
