"""Completion candidates of each command, read from the argument parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Literal

from kubesim.values import value_object

Argument = Literal["", "value", "file", "directory", "scenario"]
_FILES = {"FILE": "file", "PATH": "file", "DIR": "directory", "FOLDER": "directory"}
_OF_SCENARIOS = ("run", "test", "diff")  # commands whose files may be bundled scenario names


@value_object
class Flag:
    """A flag. `names` include the dashes; `words` are its values, `argument` is the kind of any other value."""

    names: tuple[str, ...]
    help: str
    argument: Argument = ""
    words: tuple[str, ...] = ()


@value_object
class CommandWords:
    """A command with its parents: `scenario fmt`. `words` are subcommands or fixed arguments with help; `argument` is
    the kind of any other argument.
    """

    name: str
    help: str
    words: tuple[tuple[str, str], ...]
    flags: tuple[Flag, ...]
    argument: Argument


def command_words(parser: argparse.ArgumentParser, name: str = "", help: str = "") -> list[CommandWords]:
    """The program itself, then every command and subcommand."""
    words: list[tuple[str, str]] = []
    below: list[CommandWords] = []
    argument: Argument = ""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for sub, subparser in action.choices.items():
                words.append((sub, _short(helps[sub])))
                below += command_words(subparser, f"{name} {sub}".strip(), helps[sub])
        elif not action.option_strings:
            found = _values(action)
            words += [(word, "") for word in found]
            argument = argument or ("" if found else _argument(action, name))
    flags = tuple(_flags(parser, name))
    return [CommandWords(name, _short(help), tuple(words), flags, argument), *below]


def _flags(parser: argparse.ArgumentParser, name: str) -> Iterator[Flag]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            words = _values(action) if action.nargs != 0 else ()
            argument = "" if action.nargs == 0 else _argument(action, name) or "value"
            yield Flag(tuple(action.option_strings), _short(action.help or ""), argument, words)


def _values(action: argparse.Action) -> tuple[str, ...]:
    """The values in `text|json`, or argparse's choices."""
    if action.choices is not None:
        return tuple(map(str, action.choices))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return tuple(metavar.split("|")) if re.fullmatch(r"[a-z][-a-z0-9]*(\|[-a-z0-9]+)+", metavar) else ()


def _argument(action: argparse.Action, command: str) -> Argument:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    found = next((kind for word, kind in _FILES.items() if word in metavar.split("|")), "")
    if found == "file" and not action.option_strings and command in _OF_SCENARIOS:
        return "scenario"
    return found  # type: ignore[return-value]


def _short(help: str) -> str:
    """The first clause of the help, without shell metacharacters."""
    return re.split(r"[;(]", " ".join(help.split()))[0].strip().replace("'", "").replace('"', "").replace("`", "")
