"""The table: pods with problems first, all pods in a file, and at most one screen on a terminal."""

from __future__ import annotations

from kubesim.attach.watch.table import UNBOUNDED, table
from kubesim.clock.clock import VIRTUAL_START
from tests.support.attach.pods import end, pod, running, waiting
from tests.support.attach.watching import Watching, scenario, watched


def drawn(pods: int, width: int = UNBOUNDED, height: int | None = None) -> list[str]:
    found: list[str] = []

    async def draw(watching: Watching) -> None:
        await watching.simulation.clock.sleep_until(VIRTUAL_START)
        agent = watching.agent
        agent.pod_received(pod(waiting("ImagePullBackOff"), metadata={"name": "stuck", "uid": "stuck"}))
        for number in range(pods):
            agent.pod_received(pod(running(), metadata={"name": f"web-{number:04}", "uid": f"u{number}"}))
        found.extend(table(agent, width=width, height=height).splitlines())

    watched(scenario("hello-pod"), during=draw, until=1_000_000)
    return found


def test_columns_of_restarts_and_missing_objects() -> None:
    rows: list[str] = []

    async def draw(watching: Watching) -> None:
        await watching.simulation.clock.sleep_until(VIRTUAL_START)
        agent = watching.agent
        often = running(restarts=18) | {"lastState": {"terminated": end(1)}}
        config = waiting("CreateContainerConfigError", 'secret "db" not found')
        for name, status in (("often", often), ("image", waiting("ImagePullBackOff")), ("config", config)):
            agent.pod_received(pod(status, metadata={"name": name, "uid": name}))
        rows.extend(line for line in table(agent).splitlines() if line.startswith(("POD", "shop/")))

    watched(scenario("hello-pod"), during=draw, until=1_000_000)
    columns = [[part.strip() for part in row.split("  ") if part.strip()] for row in rows]
    assert columns[0][:4] == ["POD", "STAGE", "RESTARTS", "WAITS FOR"]
    assert {tuple(row[:4]) for row in columns[1:]} == {
        ("shop/often", "ready", "18", "Running: 18 restarts, last: exit code 1"),
        ("shop/image", "starting", "0", "ImagePullBackOff: nginx:1.27"),
        ("shop/config", "starting", "0", "CreateContainerConfigError: Secret db not found"),
    }


def test_on_a_screen_it_fits_and_names_the_omitted_rows() -> None:
    lines = drawn(200, 80, 24)
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert lines[-1].startswith("... and ")
    assert "--once shows all" in lines[-1]
    first = next(number for number, line in enumerate(lines) if line.startswith("POD")) + 1
    assert lines[first].startswith("shop/stuck")
    assert lines[first + 1].startswith("    next: ")


def test_a_wide_terminal_has_one_line_per_pod() -> None:
    lines = drawn(3, 160, 40)
    assert lines[-1].startswith("shop/web-0002")
    assert not any("next: " in line for line in lines)


def test_in_a_file_it_shows_everything() -> None:
    lines = drawn(200)
    assert sum(line.startswith("shop/") for line in lines) == 201
    assert not any(line.endswith("…") for line in lines)
