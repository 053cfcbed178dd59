"""Cases of the stepper's view, and the expected screens of its tests.

`python -m tools.step_screens` writes them; review the changes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from kubesim.app import Trial, run_scenario
from kubesim.attach.replay.recording import read_recording
from kubesim.attach.replay.replay import observed
from kubesim.cli.tui.injecting import ScenarioInjections
from kubesim.labs.network import to_records
from kubesim.scenario.load.assembly.added import AddedItem
from kubesim.scenario.load.loader import load_runs
from kubesim.trace import MemorySink, Record
from kubesim.trace.stepping import Stepper
from kubesim.trace.stepping.session import StepSession
from kubesim.values import value_object
from tests.support.stepping import SCENARIOS
from tests.support.stepping import stepper as opened_stepper
from tests.support.tui import Shot, Size, screens, shown

FOLDER = Path(__file__).parent.parent / "tests" / "cli" / "tui" / "screens"
DIED = "pleg.event ContainerDied"


def session(name: str, *breaks: str) -> StepSession:
    """A session on a bundled scenario, as in `kubesim run --step`."""
    path = str(SCENARIOS / f"{name}.yaml")

    def play(added: Sequence[AddedItem]) -> Sequence[Record]:
        ((_, changed),) = load_runs([path], added=added)
        own, steps = changed.without_last_steps(sum(item.list == "steps" for item in added))
        sink = MemorySink()
        run_scenario(own, sinks=(sink,), trial=Trial(own.gates, added=steps))
        return sink.records

    ((_, scenario),) = load_runs([path])
    opened = StepSession(opened_stepper(name, *breaks), f"{scenario.name}, seed 0", ScenarioInjections(play))
    opened.stepper.has_several_nodes = len(scenario.spec.nodes) > 1
    if breaks:
        opened.key("c")
    return opened


def plugins() -> StepSession:
    """A sandbox that gets and loses its network through two plugins, from a stored execution."""
    answer = {
        "interfaces": [{"name": "cni0"}, {"name": "veth1a2b3c4d"}, {"name": "eth0", "sandbox": "/run/netns/a"}],
        "ips": [{"address": "10.88.0.2/16", "gateway": "10.88.0.1", "interface": 2}],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "192.168.0.0/16", "gw": "10.88.0.1"}],
    }

    def step(do: str, command: str) -> dict[str, object]:
        runs = [
            {"plugin": name, "command": command, "answer": result, "error": "", "delegated": False}
            for name, result in (("bridge", answer), ("portmap", answer))
        ]
        executions = runs if do == "add" else [{**each, "answer": None} for each in runs[::-1]]
        reserved = ["10.88.0.2"] if do == "add" else []
        return {"do": do, "pod": "web", "id": "f00d" * 16, "error": "", "executions": executions, "reserved": reserved}

    return StepSession(Stepper(list(to_records([step("add", "ADD"), step("delete", "DEL")]))), "network")


def recording() -> StepSession:
    """A session on a recorded node, as in `kubesim attach --replay FILE --step`."""
    path = Path(__file__).parent.parent / "tests" / "attach" / "data" / "node.jsonl.gz"
    found = read_recording(str(path))
    stepper = Stepper(observed(found))
    stepper.is_observed = True
    return StepSession(stepper, f"{found.node}, seen from outside")


@value_object
class Story:
    open: Callable[[], StepSession]
    shots: tuple[Shot, ...]
    size: Size = (80, 24)

    def screens(self) -> dict[str, str]:
        return screens(self.open(), self.shots, self.size)


STORIES = {
    "forth-and-back": Story(
        lambda: session("crashloop", DIED),
        (
            Shot("1-first-break"),
            Shot("2-next-decision", "n"),
            Shot("3-plan", "nnnn"),
            Shot("4-why", "w"),
            Shot("5-what-next", "wx"),
            Shot("6-back", "xp"),
            Shot("7-no-such-key", "!"),
            Shot("8-help", "?"),
            Shot("9-every-record", "?PP"),
            Shot("a-arrows", "<right>"),
            Shot("b-end", "<end>"),
        ),
    ),
    "breaks": Story(
        lambda: session("crashloop", DIED),
        (
            Shot("1-second-break", "c"),
            Shot("2-in-back-off", "nnnnnnn"),
            Shot("3-node", "s"),
            Shot("4-own-break", "sBevent reason=BackOff\nc"),
            Shot("5-removed", "Xc"),
        ),
    ),
    "search": Story(
        lambda: session("crashloop"),
        (Shot("1-found", "/back-off\n"), Shot("2-again", "/\n"), Shot("3-before", "\\\n"), Shot("4-none", "/zebra\n")),
    ),
    "filter": Story(
        lambda: session("workloads/drain-pdb"),
        (
            Shot("1-node", "fnode=node-2\n"),
            Shot("2-stays-there", "nnnnn"),
            Shot("3-none", "fzebra\n"),
            Shot("4-all", "f\n"),
        ),
    ),
    "jump": Story(
        lambda: session("crashloop"),
        (
            Shot("1-time", "g20s\n"),
            Shot("2-number", "g42\n"),
            Shot("3-wrong", "g9999\n"),
            Shot("4-typing", "gx12<backspace>"),
        ),
    ),
    "inject": Story(
        lambda: session("hello-pod"),
        (
            Shot("1-before", "/Container started\n"),
            Shot("2-wrong", "ikil: {pod: hello}\n"),
            Shot("3-injected", "ikill: {pod: hello}\n"),
            Shot("4-its-effect", "nnn"),
            Shot("5-a-fault", "ioperation: CreateContainer, error: no space left on device\n"),
            Shot("6-its-effect", "/no space\n"),
            Shot("7-fault-removed", "I"),
            Shot("8-step-removed", "I"),
            Shot("9-nothing-left", "I"),
        ),
    ),
    "speed": Story(
        lambda: session("crashloop"),
        (
            Shot("1-plays", "r", passed=500_000),
            Shot("2-faster", "++", passed=2_000_000),
            Shot("3-to-a-break", f"B{DIED}\n", passed=60_000_000),
            Shot("4-to-the-end", "X+++++r", passed=60_000_000),
        ),
    ),
    "small": Story(
        lambda: session("crashloop", "cri.call StartContainer"),
        (Shot("1-break"), Shot("2-logs", "ccl"), Shot("3-addresses", "a"), Shot("4-node", "s")),
    ),
    "resize": Story(
        lambda: session("probes", "probe.result"),
        (
            Shot("1-large", resize=(120, 40)),
            Shot("2-larger-page", "w"),
            Shot("3-tiny", "w", resize=(60, 16)),
            Shot("4-back", resize=(80, 24)),
        ),
        (100, 30),
    ),
    "recording": Story(
        recording,
        (
            Shot("1-begins"),
            Shot("2-a-restart", "g1m\n/Container started\n"),
            Shot("3-what-is-said", "nn"),
            Shot("4-only-a-pod", "fpod=market/no-image\n/pull\n"),
            Shot("5-node", "s"),
        ),
    ),
    "network": Story(plugins, (Shot("1-added", "g0s\nNNN"), Shot("2-page", "a"), Shot("3-removed", "a<end>"))),
}


def step_picture() -> str:
    """`docs/stepper.svg`: the stepper at the restart of a crashed container, drawn by Textual."""

    async def drawn(opened: StepSession) -> str:
        async with shown(opened, (110, 36)) as view:
            await view.press("nnnnn")
            return view.app.export_screenshot(title="kubesim run --step scenarios/crashloop.yaml")

    svg = asyncio.run(drawn(session("crashloop", DIED)))
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts would be loaded from the network
    svg = re.sub(r"\s*<!--.*?-->", "", svg)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip("\n") + "\n"


def all_screens() -> dict[str, str]:
    return {f"{name}-{shot}": text for name, story in STORIES.items() for shot, text in story.screens().items()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name, text in all_screens().items():
        (FOLDER / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main()
