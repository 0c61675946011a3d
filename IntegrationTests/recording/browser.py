# SPDX-License-Identifier: MIT
"""A headless Chromium, controlled over a pipe (Chrome DevTools Protocol), with the standard library alone."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time


class Browser:
    """One page. `problems` has the problems of the page: exceptions, console errors, refused or foreign requests."""

    def __init__(self, timeout=180):
        self.timeout, self.problems, self.requests, self.number, self.buffer = timeout, [], [], 0, b""
        self.profile = tempfile.mkdtemp(prefix="pulse-browser-")
        (to_read, self.to), (self.source, to_write) = os.pipe(), os.pipe()
        # Chromium reads from descriptor 3 and writes to 4.
        low, high = os.dup(to_read), os.dup(to_write)
        os.close(to_read)
        os.close(to_write)

        def descriptors():
            reading, writing = os.dup(low), os.dup(high)
            reading, writing = self.above(reading), self.above(writing)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium") or "chromium", "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
             "--disable-extensions", "--disable-component-update", "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(low)
        os.close(high)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    @staticmethod
    def above(descriptor):
        """The same descriptor with a number other than 3 and 4."""
        import fcntl
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path):
        """Opens a file or a URL of this host."""
        self.problems.clear()
        self.requests.clear()
        self.loaded = False
        self.call("Page.navigate", url=path if "://" in str(path) else "file://" + os.path.abspath(path))
        end = time.monotonic() + self.timeout
        while not self.loaded:
            self.read(end)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def media(self, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        end = time.monotonic() + self.timeout
        while True:
            answer = self.read(end)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def read(self, end):
        while b"\0" not in self.buffer:
            if not select.select([self.source], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser says nothing")
            data = os.read(self.source, 1 << 20)
            if not data:
                raise ConnectionError(f"the browser has ended, with {self.process.wait()}")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method, values):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(f"exception: {values['exceptionDetails']}")
        elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
            self.problems.append(f"console: {values['args']}")
        elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {values['entry']['text']} {values['entry'].get('url', '')}")
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {values['message']}")
            self.number += 1
            os.write(self.to, json.dumps({"id": self.number, "method": "Page.handleJavaScriptDialog",
                                          "params": {"accept": False}, "sessionId": self.session}).encode() + b"\0")
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
