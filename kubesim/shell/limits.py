"""Limits of the processes of one simulated container.

Work is counted in steps (about one command of a script each). A process that uses too many steps at one instant pauses,
so that time advances. One that never waits pauses longer and longer, and becomes cheap. Exceeding another limit fails
as in Linux: `can't fork: Resource temporarily unavailable`, `No space left on device`, `Argument list too long`, or the
OOM killer ends the container.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Work.
STEPS_PER_TURN = 10_000  # steps of a process at one instant before it pauses
STEPS_PER_INSTANT = 50_000  # ... or steps of the whole container
LEAST_STEPS_PER_INSTANT = 2_000  # reduced after each full instant
STEPS_OF_A_FORK = 10
PAUSE = 10_000  # microseconds
PAUSES_BEFORE_CPU_BOUND = 10  # then turns are shorter, and each pause doubles
STEPS_WHEN_CPU_BOUND = 1_000
CPU_BOUND_TURNS = 64  # after this many turns in a container they are halved, then a third, ...
SHORTEST_TURN = 10
LONGEST_PAUSE = 3600 * 1_000_000
CHARACTERS_PER_STEP = 64  # of text that is split, matched or parsed
LONG_TEXT = 1024  # characters; shorter ones are included in the step itself
PATTERN_WORK = 50_000_000  # characters of a pattern times those of the matched text
NESTING = 40  # nesting of functions, substitutions, parentheses

# Processes and memory.
PROCESS_LIMIT = 512
MEMORY_LIMIT = 64 << 20  # bytes for all processes of a container without a memory limit
LARGEST_MEMORY = 256 << 20  # ... and for any container
VARIABLE_LIMIT = 1 << 20  # characters of one variable
VARIABLE_SIZE = 64  # bytes of a table entry, without its text
SYNTAX_SIZE = 32  # bytes of a function per character of its text
ARGUMENT_LIMIT = 128 << 10  # characters of one argument of a program (MAX_ARG_STRLEN)
ARGUMENTS_LIMIT = 2 << 20  # ... and of all arguments and variables (a quarter of the stack)
CAPTURE_LIMIT = 4 << 20  # characters kept of an exec's output; containerd drops more than 16 MiB

# Files and output.
FILE_LIMIT = 4 << 20  # characters of one file
VOLUME_LIMIT = 32 << 20  # characters of all files of a volume
ENTRY_LIMIT = 10_000  # files and directories of a volume
NAME_LIMIT = 255  # characters of a name in a directory
PATH_LIMIT = 4096  # characters of a path
LINE_LIMIT = 16_384  # characters of a line of output; containerd also splits long lines
LOG_LINES = 10_000  # lines kept of a container's output; older ones are dropped, as by the kubelet's rotation
LOG_LIMIT = 4 << 20  # ... and their characters


def pause_length(doublings: int) -> int:
    """The length of the next pause, in microseconds."""
    return min(PAUSE << min(doublings, 40), LONGEST_PAUSE)


def turn_when_cpu_bound(turns: int) -> int:
    """The steps of the next turn of a process that never waits: fewer with the number of such turns in the
    container.
    """
    return max(SHORTEST_TURN, STEPS_WHEN_CPU_BOUND // (1 + turns // CPU_BOUND_TURNS))


def is_too_long(argv: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether Linux refuses to execute a program with these arguments and variables (E2BIG)."""
    size = sum(map(len, argv)) + sum(map(len, environment.values()))
    if size < ARGUMENT_LIMIT:
        return False
    return size > ARGUMENTS_LIMIT or max(map(len, (*argv, *environment.values()))) >= ARGUMENT_LIMIT
