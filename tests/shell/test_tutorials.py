"""Commands of the Kubernetes documentation and of well-known tutorials, unmodified."""

from __future__ import annotations

from kubesim.clock import LoopClock
from kubesim.shell import (
    CommandResult,
    ExitStatus,
    HttpAnswer,
    HttpRequest,
    LoopbackNetwork,
    Ports,
    ShellContainer,
    VirtualFiles,
)
from tests.support.shell import SECOND, play, run, sh


async def probe(container: ShellContainer, *argv: str) -> int:
    outcome = await container.exec(argv, timeout=SECOND)
    assert isinstance(outcome, CommandResult)
    return outcome.exit_code


def test_liveness_exec() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> list[int]:
        codes = []
        for _ in range(8):
            await clock.sleep(5 * SECOND)
            codes.append(await probe(container, "cat", "/tmp/healthy"))
        return codes

    assert play("touch /tmp/healthy; sleep 30; rm -f /tmp/healthy; sleep 600", story) == [0, 0, 0, 0, 0, 1, 1, 1]


def test_liveness_http() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> list[int]:
        codes = []
        for _ in range(4):
            await clock.sleep(4 * SECOND)
            listener = ports.at(8080)
            assert listener is not None
            answer = listener.request(HttpRequest("/healthz"))
            codes.append(0 if answer is None else answer.status)
        return codes

    assert play(["/agnhost", "liveness"], story, network=LoopbackNetwork(ports)) == [200, 200, 500, 500]


def test_health_checks_by_grpc() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> list[str | None]:
        await clock.sleep(SECOND)
        server, control = ports.at(5000), ports.at(8080)
        assert server is not None
        assert control is not None
        received = [server.check("users"), server.check("")]
        assert control.request(HttpRequest("/make-not-serving")) == HttpAnswer(200, "1s")
        received.append(server.check("users"))
        assert control.request(HttpRequest("/make-serving")) == HttpAnswer(200, "1s")
        assert control.request(HttpRequest("/")) == HttpAnswer(404, "404 page not found\n")
        received.append(server.check("users"))
        await clock.sleep(4 * SECOND)
        return [*received, server.check("users")]

    command = ["/agnhost", "grpc-health-checking", "--service", "users", "--delay-unhealthy-sec", "5"]
    assert play(command, story, network=LoopbackNetwork(ports)) == [
        "SERVING",
        None,
        "NOT_SERVING",
        "SERVING",
        "NOT_SERVING",
    ]
    always = [*command[:-1], "-1"]
    assert play(always, story, network=LoopbackNetwork(ports)) == ["SERVING", None, "NOT_SERVING", "SERVING", "SERVING"]


def test_readiness_by_a_file() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> list[int]:
        codes = []
        for _ in range(4):
            await clock.sleep(4 * SECOND)
            codes.append(await probe(container, "cat", "/tmp/r"))
        container.signal(15)
        assert await container.exited() == ExitStatus(0)
        return codes

    script = "(sleep 5; touch /tmp/r; sleep 8; rm /tmp/r) & trap 'exit 0' TERM; sleep 100000 & wait"
    assert play(script, story) == [1, 0, 0, 1]


def test_counter() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> str:
        await clock.sleep(2 * SECOND + 1)
        return container.log.text()

    assert play('i=0; while true; do echo "$i: $(date)"; i=$((i+1)); sleep 1; done', story) == (
        "0: Sat Jan  1 00:00:00 UTC 2000\n1: Sat Jan  1 00:00:01 UTC 2000\n2: Sat Jan  1 00:00:02 UTC 2000\n"
    )


def test_lifecycle_hooks_of_nginx() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> None:
        hook = "echo Hello from the postStart handler > /usr/share/message"
        assert await container.exec(sh(hook)) == CommandResult(0, "", "")
        assert container.files.read("/usr/share/message") == "Hello from the postStart handler\n"
        await container.exec(sh("nginx -s quit; while killall -0 nginx; do sleep 1; done"))
        assert await container.exited() == ExitStatus(0)

    play(["/docker-entrypoint.sh", "nginx", "-g", "daemon off;"], story)


def test_an_init_container_waits_for_a_service() -> None:
    class Names(LoopbackNetwork):
        known = False

        def resolve(self, host: str) -> str | None:
            return "10.0.0.1" if self.known and host.startswith("myservice") else None

        def reach(self, address: str) -> Ports | None:
            return None

    names = Names()

    async def story(container: ShellContainer, clock: LoopClock) -> tuple[int, str, ExitStatus]:
        clock.call_at(clock.now() + 5 * SECOND, setattr, names, "known", True)
        status = await container.exited()
        out = "".join(line.text + "\n" for line in container.log.lines if line.stream == "stdout")
        return clock.elapsed() // SECOND, out.partition("Name:")[0], status

    script = (
        "until nslookup myservice.$(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace).svc.cluster.local; "
        "do echo waiting for myservice; sleep 2; done"
    )
    assert play(script, story, network=names) == (6, "waiting for myservice\n" * 3, ExitStatus(0))


def test_graceful_termination_runs_the_trap_after_the_sleep() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> tuple[float, ExitStatus]:
        await clock.sleep(round(3.3 * SECOND))
        container.signal(15)
        status = await container.exited()
        return clock.elapsed() / SECOND, status

    assert play("trap 'sleep 2; exit 0' TERM; while :; do sleep 1; done", story) == (6, ExitStatus(0))


def test_short_examples() -> None:
    assert run("echo The app is running! && sleep 3600").seconds == 3600
    assert run(["/bin/sh", "-c", "--", "sleep 5; echo ok"]).out == "ok\n"
    assert run(["sh", "-c", "echo Hello, Kubernetes! && sleep 1"]).out == "Hello, Kubernetes!\n"
    assert run(["printenv", "A", "B"], environment={"A": "1", "B": "2"}).out == "1\n2\n"
    assert run(["/bin/echo", "$(GREETING)"]).out == "$(GREETING)\n"
    assert run(["env"], environment={"X": "1"}).out == "X=1\n"
    assert run('for i in 9 8 7; do echo $i; done; if [ "$DEBUG" = true ]; then exit 1; fi').out == "9\n8\n7\n"


def test_a_job_that_processes_a_work_queue() -> None:
    files = VirtualFiles()
    outcome = run(
        """
        set -eu
        mkdir -p /results/out
        for item in apple banana; do
          echo "processing $item" | tee -a /results/out/log
          sleep 5
        done
        [ "$(wc -l < /results/out/log)" -eq 2 ] || exit 1
        """,
        files=files,
    )
    assert (outcome.code, outcome.seconds) == (0, 10)
    assert files.read("/results/out/log") == "processing apple\nprocessing banana\n"
