"""`kubesim completion SHELL`: prints a completion script for commands, flags, files and scenario names."""

from __future__ import annotations

import argparse

from kubesim.cli.flags import options

HELP = "print a script that completes commands, flags and files in bash, zsh or fish"
DESCRIPTION = """Print a script for a shell. For bash: eval "$(kubesim completion bash)" in ~/.bashrc; for zsh the same
in ~/.zshrc, after compinit; for fish: kubesim completion fish > ~/.config/fish/completions/kubesim.fish."""

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", type=options.one_of(SHELLS), metavar="|".join(SHELLS), help="the shell that the script is for"
    )


def execute(args: argparse.Namespace) -> int:
    from kubesim.cli.main import make_parser
    from kubesim.cli.testing import completion_scripts
    from kubesim.cli.testing.completion_words import command_words
    from kubesim.shipped import scenario_names

    script = getattr(completion_scripts, args.shell)
    print(script(command_words(make_parser()), scenario_names()), end="")
    return 0
