"""`kubesim cri …`: container runtimes behind a CRI socket.

One module per subcommand, each with HELP, DESCRIPTION, `configure(parser)` and `execute(args) -> exit code`, as in
`kubesim.cli.main`. They import gRPC inside `execute`.
"""

from __future__ import annotations

import argparse
from importlib import import_module

HELP = "serve, inspect and record container runtimes over CRI"
DESCRIPTION = """Work with container runtimes over CRI, the gRPC API between the kubelet and containerd or CRI-O."""

# The module of each command, in this folder.
SUBCOMMANDS = {
    "serve": "serve",
    "inject": "inject",
    "record": "record",
    "compare": "compare",
    "leaks": "leaks",
}


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="cri_command", metavar="COMMAND", required=True)
    for name, module_name in SUBCOMMANDS.items():
        module = import_module(f"kubesim.cli.cri.{module_name}")
        module.configure(
            commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION, allow_abbrev=False)
        )


def execute(args: argparse.Namespace) -> int:
    code: int = import_module(f"kubesim.cli.cri.{SUBCOMMANDS[args.cri_command]}").execute(args)
    return code
