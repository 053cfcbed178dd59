"""`docs/how-to/programs-and-images.md`, generated from the tables of simulated programs and images."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubesim.runtime.simulated.containers.command_line import IMAGE_PROGRAMS
from kubesim.shell.builtin import BUILTINS
from kubesim.shell.programs import PROGRAMS, QUICK
from kubesim.shell.servers import SERVERS, TOOLS


def program_lines() -> Iterator[str]:
    yield from (
        "Containers are simulated: no image is downloaded and no process of the machine is started. A container",
        "runs its `command` and `args`, or the entry point of its image, in a small POSIX shell in virtual time.",
        'So `sh -c "sleep 5; exit 1"`, `trap`, background jobs, pipes, redirections, functions and `exec` work as',
        "in a real container, and take no real time.",
        "",
        "    $ kubesim run -q --logs scenarios/workloads/indexed-job.yaml",
        "",
        "## Programs",
        "",
        f"Programs: {_names({*QUICK, *PROGRAMS})}.",
        "",
        f"Commands of the shell itself: {_names(BUILTINS)}.",
        "",
        f"These exit with 0 immediately, and a note in the timeline reports it: {_names(TOOLS)}.",
        "",
        "Every other program counts as a server: it runs until it is stopped, listens on the ports that its",
        "container declares, and exits with 0 on SIGTERM. A note in the timeline reports it. `python`, `node`, `ruby`",
        "and `perl` are servers without a signal handler, so SIGTERM does not stop them when they are process 1 of",
        "the container.",
        "",
        "| server | ports |",
        "|---|---|",
        *(
            f"| `{name}` | {', '.join(map(str, server.ports)) or 'none'} |"
            for name, server in sorted(SERVERS.items())
            if not name.startswith("/")
        ),
        "",
        "## Images",
        "",
        "An image is a name with a size. These have the entry points of the real ones; any other image runs a",
        "program with the name of the image:",
        "",
        "| image | runs |",
        "|---|---|",
        *(
            f"| `{name}` | `{' '.join((*image.entrypoint, *image.command))}` |"
            for name, image in sorted(IMAGE_PROGRAMS.items())
        ),
        "",
        "`images` of a scenario sets which images exist, whether they are already on the node, how long a pull",
        "takes, and which user and ports they declare ([ImageItem](../scenarios.md#imageitem)). Without it, every",
        "image exists and must be pulled first.",
        "",
        "## Set the behaviour instead",
        "",
        "`behaviours` of a scenario replaces the command line of a container: how long it runs, its exit code, its",
        "output, the memory and disk space that it uses, and the answers to its probes",
        "([BehaviourItem](../scenarios.md#behaviouritem)):",
        "",
        "    spec:",
        "      behaviours:",
        "        - {pod: web, runFor: 5s, exitCode: 1}",
        "",
        "[containers.md](../containers.md) describes the files, names and processes that a container sees, and",
        "[security.md](../security.md) the limits of a container.",
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
