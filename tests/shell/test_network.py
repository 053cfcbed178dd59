"""Listeners and clients inside one pod, and their view by probes."""

from __future__ import annotations

from kubesim.clock import LoopClock
from kubesim.shell import HttpAnswer, HttpRequest, Listener, LoopbackNetwork, Ports, ShellContainer
from tests.support.shell import SECOND, play, run


class Cluster(LoopbackNetwork):
    """A network with two names: a responding service, and an unreachable address."""

    def __init__(self) -> None:
        super().__init__()
        self.web = Ports()
        self.web.listen(Listener(80, answer=lambda request: HttpAnswer(200 if request.path == "/" else 404, "hello\n")))

    def resolve(self, host: str) -> str | None:
        return {"web": "10.0.0.1", "lost": "10.0.0.2"}.get(host)

    def reach(self, address: str) -> Ports | None:
        return self.web if address == "10.0.0.1" else None

    def remote(self, address: str, port: int) -> None:
        return None


def test_httpd_serves_files_until_it_ends() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(SECOND)
        assert ports.at(8080) is None
        await clock.sleep(5 * SECOND)
        listener = ports.at(8080)
        assert listener is not None
        assert listener.request(HttpRequest("/")) == HttpAnswer(200, "hello\n")
        assert listener.request(HttpRequest("/missing")) == HttpAnswer(404, "404 Not Found")
        container.kill()
        assert ports.at(8080) is None

    play("mkdir /w; echo hello > /w/index.html; sleep 3; httpd -f -p 8080 -h /w", story, network=LoopbackNetwork(ports))


def test_servers_are_recognized_by_their_command_line() -> None:
    async def story(container: ShellContainer, clock: LoopClock) -> tuple[int, ...]:
        await clock.sleep(SECOND)
        return container.kernel.network.ports.numbers()

    assert play(["busybox", "httpd", "-f", "-p", "81"], story) == (81,)
    assert play("httpd -p 82 -h /tmp; sleep 100", story) == (82,)
    assert play(["python3", "-m", "http.server", "83"], story) == (83,)
    assert play("nc -lk -p 84", story) == (84,)
    assert play(["nginx", "-g", "daemon off;"], story) == (80,)
    assert play(["redis-server"], story) == (6379,)
    assert play(["/agnhost", "netexec", "--http-port=85"], story) == (85,)
    assert play(["/agnhost", "serve-hostname", "--tcp", "--port", "86"], story) == (86,)
    assert play(["/agnhost", "grpc-health-checking"], story) == (5000, 8080)
    assert play(["/agnhost", "grpc-health-checking", "--port", "87", "--http-port=88"], story) == (87, 88)


def test_a_listener_on_loopback_is_unreachable_from_outside() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(SECOND)
        assert ports.at(8080) is None
        assert ports.at(8080, loopback=True) is not None

    play("httpd -f -p 127.0.0.1:8080 -h /tmp", story, network=LoopbackNetwork(ports))


def test_nc_serves_one_connection_and_a_loop_makes_it_a_web_server() -> None:
    ports = Ports()

    async def story(container: ShellContainer, clock: LoopClock) -> None:
        await clock.sleep(SECOND)
        for _ in range(3):
            listener = ports.at(8080)
            assert listener is not None
            assert listener.request(HttpRequest()) == HttpAnswer(200, "hi\n")
        assert container.log.text() == "served\n" * 3

    play(
        'while true; do printf "HTTP/1.1 200 OK\\r\\n\\r\\nhi\\n" | nc -l -p 8080; echo served; done',
        story,
        network=LoopbackNetwork(ports),
    )
    assert ports.numbers() == ()


def test_clients() -> None:
    network = Cluster()
    assert run("wget -qO- http://web/", network=network).out == "hello\n"
    assert run("wget -q http://web; cat index.html", network=network).out == "hello\n"
    assert run("wget -qO- http://web/x", network=network).err == "wget: server returned error: HTTP/1.1 404 Not Found\n"
    assert run("wget -qO- http://nobody", network=network).err == "wget: bad address 'nobody'\n"
    assert run("wget -qO- http://web:81", network=network).err == (
        "wget: can't connect to remote host (10.0.0.1): Connection refused\n"
    )
    late = run("wget -q -T 5 -O- http://lost", network=network)
    assert (late.code, late.err, late.seconds) == (1, "wget: download timed out\n", 5)
    assert run("curl -s -o /dev/null -w '%{http_code}\\n' http://web/x", network=network).out == "404\n"
    assert [run(f"curl -sf {url}", network=network).code for url in ("web", "web/x", "nobody", "web:81")] == [
        0,
        22,
        6,
        7,
    ]
    assert run("curl -m 3 -s lost", network=network).seconds == 3
    assert run("nc -z web 80 && ! nc -z web 81 && nc -z -w 2 lost 80; echo $?", network=network).out == "1\n"
    assert run("nslookup web > /dev/null && ! nslookup nobody 2> /dev/null && echo ok", network=network).out == "ok\n"


def test_a_container_reaches_its_own_pod() -> None:
    ports = Ports()
    network = LoopbackNetwork(ports, "10.0.0.9", "web-0")
    script = (
        "cd /tmp; echo me > index.html; httpd -p 8080; for h in localhost 10.0.0.9 web-0; do wget -qO- $h:8080; done"
    )
    assert run(script, network=network).out == "me\nme\nme\n"
