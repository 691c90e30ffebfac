"""A page in headless Chromium, driven through its DevTools protocol over two pipes.

Nothing listens on a port, and every wait has a time limit.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SECONDS = 120

# Chromium reads commands from descriptor 3 and answers on 4.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One tab.

    Attributes
    ----------
    events : list of dict
        Events that the browser has sent: console messages, exceptions, requests.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        self.events: list[dict[str, Any]] = []
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        import fcntl  # which Windows lacks

        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # High descriptors, so that neither is 3 or 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 64) for end in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _LAUNCH, *map(str, ends), CHROMIUM),
                *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-dev-shm-usage", "--disable-background-networking"),
                *("--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"),
            ],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (*ends, to_browser, from_browser):
            os.close(end)

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._write)  # which ends the browser
        os.close(self._read)
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _message(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0]
            piece = os.read(self._read, 1 << 20) if ready else b""
            if not piece:
                raise TimeoutError(f"Chromium said nothing for {SECONDS} s, or has ended")
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        if "method" in decoded:
            self.events.append(decoded)
        return decoded

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while (message := self._message()).get("id") != self._number:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def open(self, url: str) -> None:
        """Load or reload a page, and wait until it has loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._message()

    def look(self, *, width: int, scheme: str) -> None:
        """Emulate a window of this width, or a phone below 600 pixels, and a colour scheme."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=844 if phone else 900,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def evaluate(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key that writes a character: Enter or the space bar."""
        text = {"Enter": "\r", "Space": " "}[key]
        common = {"key": key.replace("Space", " "), "code": key, "windowsVirtualKeyCode": ord(text)}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, path: Path) -> bytes:
        """Write the whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        answer = self.call(
            "Page.captureScreenshot",
            captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1},
        )
        content = base64.b64decode(answer["data"])
        path.write_bytes(content)
        return content
