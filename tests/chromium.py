"""A headless Chromium by its DevTools protocol, over a small websocket: for measurements and pictures of pages."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any
from urllib.request import ProxyHandler, build_opener

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
)  # fmt: skip


class Chromium:
    """One page in a browser of its own, which ends with the `with`."""

    def __init__(self, *flags: str, size: tuple[int, int] = (1200, 900)) -> None:
        self.flags, self.size = flags, size

    def __enter__(self) -> Chromium:
        found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if found is None:
            raise SystemExit("Chromium is not installed")
        self.home = TemporaryDirectory(ignore_cleanup_errors=True)
        window = f"--window-size={self.size[0]},{self.size[1]}"
        self.process = subprocess.Popen(
            [found, *FLAGS, *self.flags, window, f"--user-data-dir={self.home.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        port = self._port()
        with build_opener(ProxyHandler({})).open(f"http://127.0.0.1:{port}/json") as answer:
            address = next(one["webSocketDebuggerUrl"] for one in json.load(answer) if one["type"] == "page")
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {address.split(str(port), 1)[1]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.number, self.events = 0, list[dict[str, Any]]()
        for domain in ("Page", "Runtime"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        self.home.cleanup()

    def _port(self) -> int:
        file, end = Path(self.home.name) / "DevToolsActivePort", monotonic() + 60
        while monotonic() < end:
            if file.exists() and (lines := file.read_text().split()):
                return int(lines[0])
            sleep(0.05)
        raise SystemExit("Chromium did not start")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; what happens meanwhile is kept in `events`."""
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        head = bytes([0x81]) + (
            bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0xFE]) + struct.pack(">H", len(text))
            if len(text) < 65536 else bytes([0xFF]) + struct.pack(">Q", len(text))
        )  # fmt: skip
        self.socket.sendall(head + bytes(4) + text)  # masked by zeros: a client must, and may choose
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _message(self) -> bytes:
        whole = b""
        while True:
            first, second = self.stream.read(2)
            size = second & 0x7F
            if size > 125:
                size = struct.unpack(">H" if size == 126 else ">Q", self.stream.read(2 if size == 126 else 8))[0]
            whole += self.stream.read(size)
            if first & 0x80:
                return whole

    def open(self, page: Path) -> None:
        """Load a file and wait until it is there."""
        self.go(page.absolute().as_uri())

    def go(self, address: str) -> None:
        """Load an address and wait until it is there."""
        self.events.clear()
        self.ask("Page.navigate", url=address)
        self.loaded()

    def loaded(self) -> None:
        """Wait until a page is there that was asked for since `events` was empty."""
        while not any(one["method"] == "Page.loadEventFired" for one in self.events):
            self.events.append(json.loads(self._message()))

    def run(self, script: str) -> Any:
        """The value of an expression in the page, awaited if it is a promise."""
        made = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in made:
            raise RuntimeError(str(made["exceptionDetails"].get("exception", made)))
        return made["result"].get("value")

    def faults(self) -> list[str]:
        """What went to the console or was thrown."""
        return [
            str(one) for one in self.events if one["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        ]

    def picture(self, target: Path, *, whole: bool = False) -> None:
        """A PNG of the window, or of the whole page."""
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        target.write_bytes(base64.b64decode(data))

    def print_pdf(self, target: Path) -> None:
        """The page as it would be printed."""
        target.write_bytes(base64.b64decode(self.ask("Page.printToPDF", printBackground=False)["data"]))

    def phone(self, width: int = 390, height: int = 844) -> None:
        """The window of a phone, with two pixels to one."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)

    def dark(self) -> None:
        """A reader who prefers dark pages."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
