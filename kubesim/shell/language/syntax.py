"""The syntax tree of a script, which the parser creates and the interpreter walks.

All nodes are immutable, so that one parse result serves every container with the same command.
"""

from __future__ import annotations

from typing import TypeAlias

from kubesim.values import value_object


class ShellSyntaxError(Exception):
    """An invalid script; the message is busybox ash's text after `syntax error: `."""


@value_object
class Literal:
    """Text as written. Quoted text is neither split nor matched against file names."""

    text: str
    quoted: bool


@value_object
class Parameter:
    """`$name` or `${name<operator>operand}`; the operator `length` means `${#name}`."""

    name: str
    quoted: bool
    operator: str = ""
    operand: Word | None = None


@value_object
class CommandSubstitution:
    """`$(script)` or a backquoted script."""

    script: Script
    quoted: bool


@value_object
class Arithmetic:
    """`$((expression))`; the expression is expanded before it is computed."""

    expression: Word
    quoted: bool


Part: TypeAlias = Literal | Parameter | CommandSubstitution | Arithmetic


@value_object
class Word:
    """One word. `plain` is its value if it contains no expansion."""

    parts: tuple[Part, ...]
    plain: str | None


@value_object
class Redirect:
    """`fd operator target`. A here-document is the operator `<<` with its text as target."""

    descriptor: int
    operator: str
    target: Word


@value_object
class Simple:
    """Assignments, a command with arguments, redirections; each may be absent."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@value_object
class Subshell:
    body: Block
    redirects: tuple[Redirect, ...]


@value_object
class Group:
    body: Block
    redirects: tuple[Redirect, ...]


@value_object
class If:
    """Branches are (condition, body) in order; `otherwise` may be empty."""

    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block
    redirects: tuple[Redirect, ...]


@value_object
class Loop:
    """`while`, or `until`."""

    until: bool
    condition: Block
    body: Block
    redirects: tuple[Redirect, ...]


@value_object
class For:
    """`for name in words`; without `in`, the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Block
    redirects: tuple[Redirect, ...]


@value_object
class Case:
    subject: Word
    arms: tuple[tuple[tuple[Word, ...], Block], ...]
    redirects: tuple[Redirect, ...]


@value_object
class Function:
    """A function; `size` is the size of its text."""

    name: str
    body: Command
    size: int


Command: TypeAlias = Simple | Subshell | Group | If | Loop | For | Case | Function


@value_object
class Pipeline:
    commands: tuple[Command, ...]
    negated: bool


@value_object
class ShellStatement:
    """Pipelines joined by `&&` and `||`; `background` if followed by `&`."""

    first: Pipeline
    rest: tuple[tuple[str, Pipeline], ...]
    background: bool


Block: TypeAlias = tuple[ShellStatement, ...]


@value_object
class Script:
    """Complete commands, one per line. As in ash, lines before a syntax error run before it is reported."""

    lines: tuple[Block, ...]
    error: str = ""
