"""A headless Chromium driven over its DevTools protocol, with the standard library alone: start and
stop, commands and events over one WebSocket. It knows nothing of reports."""

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]


# Chromium's errors for a script whose page was left while it ran.
PAGE_LEFT = ("Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id")


class BrowserError(Exception):
    """The browser could not be started, or refused a command."""


class PageLeft(BrowserError):
    """The page was left while a script ran in it."""


class Socket:
    """The client half of a WebSocket: text messages only."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.tcp = socket.create_connection((name, int(port)), timeout=120)
        key = base64.b64encode(os.urandom(16)).decode()
        self.tcp.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.rest = b""
        head = b""
        while b"\r\n\r\n" not in head:
            head += self._some()
        status, self.rest = head.split(b"\r\n\r\n", 1)
        if b" 101 " not in status.split(b"\r\n")[0]:
            raise BrowserError(f"the browser refused the WebSocket: {status[:100]!r}")

    def _some(self):
        data = self.tcp.recv(1 << 20)
        if not data:
            raise BrowserError("the browser closed the connection")
        return data

    def _exactly(self, n):
        parts, have = [self.rest], len(self.rest)
        while have < n:
            parts.append(self._some())
            have += len(parts[-1])
        data = b"".join(parts)
        self.rest = data[n:]
        return data[:n]

    def send(self, text):
        data = text.encode()
        if len(data) < 126:
            head = struct.pack("!BB", 0x81, 0x80 | len(data))
        elif len(data) < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0xFE, len(data))
        else:
            head = struct.pack("!BBQ", 0x81, 0xFF, len(data))
        # A mask of zeros is allowed, and spares a pass over the data.
        self.tcp.sendall(head + b"\0\0\0\0" + data)

    def receive(self, timeout):
        """The next text message, or None where none came in time."""
        self.tcp.settimeout(timeout)
        try:
            if not self.rest:
                self.rest = self._some()
        except (TimeoutError, socket.timeout):
            return None
        self.tcp.settimeout(120)
        message = b""
        while True:
            first, second = self._exactly(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack("!H", self._exactly(2))
            elif length == 127:
                (length,) = struct.unpack("!Q", self._exactly(8))
            body = self._exactly(length)
            if first & 0x0F in (0, 1):
                message += body
                if first & 0x80:
                    return message.decode()


class Browser:
    """One headless browser with one page. `events` collects what the page reports."""

    def __init__(self, binary=None):
        binary = binary or next((p for p in map(shutil.which, NAMES) if p), None)
        if not binary:
            raise BrowserError("no Chromium was found; install one, or name it with --browser")
        self.profile = tempfile.mkdtemp(prefix="report-check-")
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-port=0",
            f"--user-data-dir={self.profile}", "about:blank",
        ]
        self.process = subprocess.Popen([binary, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.events = []
        self.number = 0
        self.socket = Socket(self._page_url())

    def _page_url(self):
        until = time.monotonic() + 90
        port_file = os.path.join(self.profile, "DevToolsActivePort")
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise BrowserError(f"the browser ended at once with code {self.process.returncode}")
            try:
                with open(port_file, encoding="ascii") as file:
                    port = int(file.readline())
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=20) as answer:
                    pages = [t for t in json.load(answer) if t["type"] == "page"]
                if pages:
                    return pages[0]["webSocketDebuggerUrl"]
            except (OSError, ValueError):
                pass
            time.sleep(0.2)
        raise BrowserError("the browser did not open its DevTools port within 90 s")

    def call(self, method, timeout=180, **parameters):
        """Sends a command and waits for its answer; events on the way are kept."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            message = self._next(until - time.monotonic())
            if message and message.get("id") == self.number:
                if "error" in message:
                    text = message["error"].get("message", "")
                    raise (PageLeft if text.startswith(PAGE_LEFT) else BrowserError)(f"{method}: {text}")
                return message["result"]
        raise BrowserError(f"{method}: no answer within {timeout} s")

    def _next(self, timeout):
        text = self.socket.receive(max(0.01, timeout))
        if text is None:
            return None
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def run(self, script, timeout=180):
        """The value of a JavaScript expression (a promise is awaited)."""
        answer = self.call(
            "Runtime.evaluate", timeout=timeout, expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(f"script failed: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def wait(self, condition, what, timeout=120):
        """Polls a JavaScript condition, also while one page gives way to the next."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            try:
                if self.run(condition):
                    return
            except PageLeft:
                pass
            time.sleep(0.1)
        raise BrowserError(f"{what}: not within {timeout} s")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(20)
        shutil.rmtree(self.profile, ignore_errors=True)
