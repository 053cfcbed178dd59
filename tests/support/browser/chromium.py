"""A headless Chromium controlled by a test through the DevTools protocol, over two pipes instead of a port."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.browser.node import needs

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120  # real seconds, as the machine may be busy
_KEYS = {
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "PageUp": 33,
    "PageDown": 34,
    "Home": 36,
    "End": 35,
}


class Chromium:
    """A browser process with an empty profile. A context manager."""

    def __init__(self) -> None:
        program = shutil.which("chromium")
        needs(program is not None, "chromium is not installed")
        assert program is not None
        self._profile = tempfile.mkdtemp(prefix="kubesim-chromium-")
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()

        def as_three_and_four() -> None:
            high = os.dup(commands), os.dup(answers)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        line = [program, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            line, preexec_fn=as_three_and_four, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(commands)
        os.close(answers)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"chromium did not answer within {PATIENCE} s"
            received = os.read(self._read, 1 << 20)
            assert received, "chromium has ended"
            self._buffer += received
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def page(self, width: int = 1400, height: int = 900) -> BrowserPage:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return BrowserPage(self, session, width, height)


class BrowserPage:
    """A tab."""

    def __init__(self, browser: Chromium, session: str, width: int, height: int) -> None:
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **metrics)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a report, and wait until it has loaded."""
        self.open_url(path.as_uri() + fragment)

    def open_url(self, url: str) -> None:
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def wait(self, condition: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.value(condition):
            assert time.monotonic() < deadline, f"never true: {condition}; {self.problems()}"
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, f"{expression}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def text(self, selector: str) -> str:
        return str(self.value(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''"))

    def press(self, key: str, *, shift: bool = False) -> None:
        about: dict[str, Any] = {"key": key, "modifiers": 8 if shift else 0, "windowsVirtualKeyCode": _KEYS.get(key, 0)}
        typed = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def prefer(self, scheme: str, media: str = "") -> None:
        """Set the colour scheme to `light` or `dark`; `media` may be `print`."""
        self.call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def screenshot(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, landscape=True)["data"])

    def events(self, method: str) -> list[dict[str, Any]]:
        return [
            event["params"]
            for event in self._browser.events
            if event.get("method") == method and event.get("sessionId") == self._session
        ]

    def problems(self) -> list[str]:
        """Errors in the console: of scripts, of the Content-Security-Policy, of failed loads."""
        thrown = [str(each["exceptionDetails"]) for each in self.events("Runtime.exceptionThrown")]
        said = [
            str(each["args"])
            for each in self.events("Runtime.consoleAPICalled")
            if each["type"] in ("error", "warning")
        ]
        logged = [
            str(each["entry"])
            for each in self.events("Log.entryAdded")
            if each["entry"]["level"] in ("error", "warning")
        ]
        return [*thrown, *said, *logged]

    def requests(self) -> list[str]:
        """The requests of the page, except for the page itself."""
        urls = [each["request"]["url"] for each in self.events("Network.requestWillBeSent")]
        return [url for url in urls if not url.startswith(("file:///", "about:"))]
