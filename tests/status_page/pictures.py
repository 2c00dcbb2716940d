#!/usr/bin/env python3
"""Takes pictures of the status page in a headless Chromium: light, dark, and as a phone shows it.

Without arguments it has the story of the page run (tests/stories/status_page), which calls it again with the address of
a daemon that works. The pictures come into target/status-page/, to be looked at. It fails where the browser complains of
the page, such as of something that its Content-Security-Policy forbids, or where the page is wider than the screen.
Source of the commands: Chrome DevTools Protocol, over the pipe of --remote-debugging-pipe.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "status-page"
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
# Name, width, height, scheme.
PICTURES = [("light", 1280, 900, "light"), ("dark", 1280, 900, "dark"), ("phone", 390, 844, "dark")]
PATIENCE = 60
SHOWN = "!document.getElementById('grid').hidden && document.getElementById('live').textContent === 'live'"


class Browser:
    """A browser, and what it says."""

    def __init__(self, program, profile):
        # The browser reads from its descriptor 3 and writes to 4.
        (theirs_in, self.out), (self.into, theirs_out) = os.pipe(), os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                   "--remote-debugging-pipe", "--hide-scrollbars", "about:blank"]
        ours = f"exec 3<&{theirs_in} 4>&{theirs_out}; exec \"$@\""
        self.process = subprocess.Popen(["bash", "-c", ours, "browser", *command], pass_fds=[theirs_in, theirs_out],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.unread, self.complaints = 0, b"", []

    def ask(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"pictures: {method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def read(self):
        while b"\0" not in self.unread:
            more = os.read(self.into, 1 << 20)
            if not more:
                sys.exit("pictures: the browser ended")
            self.unread += more
        first, _, self.unread = self.unread.partition(b"\0")
        return json.loads(first)

    def note(self, told):
        if told.get("method") == "Log.entryAdded" and told["params"]["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["params"]["entry"]["text"])
        if told.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["params"]["exceptionDetails"]))

    def value(self, session, expression):
        return self.ask("Runtime.evaluate", session, expression=expression, returnByValue=True)["result"].get("value")


def take(browser, page, name, width, height, scheme):
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Log", "Runtime", "Page"):
        browser.ask(f"{domain}.enable", session)
    browser.ask("Emulation.setDeviceMetricsOverride", session, width=width, height=height, deviceScaleFactor=1,
                mobile=width < 500)
    browser.ask("Emulation.setEmulatedMedia", session,
                features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.ask("Page.navigate", session, url=page)
    until = time.monotonic() + PATIENCE
    while not browser.value(session, SHOWN):
        if time.monotonic() > until:
            sys.exit(f"pictures: {name} does not show anything; the browser says {browser.complaints}")
        time.sleep(0.1)
    wide = browser.value(session, "document.documentElement.scrollWidth")
    if wide > width:
        sys.exit(f"pictures: {name} is {wide} wide on a screen of {width}")
    # All of the page, also where it is longer than the screen.
    tall = max(height, browser.value(session, "document.documentElement.scrollHeight"))
    clip = {"x": 0, "y": 0, "width": width, "height": tall, "scale": 1}
    data = browser.ask("Page.captureScreenshot", session, format="png", captureBeyondViewport=True, clip=clip)["data"]
    file = OUT / f"{name}.png"
    file.write_bytes(base64.b64decode(data))
    browser.ask("Target.closeTarget", targetId=target)
    print(file)


def main():
    if len(sys.argv) < 2:
        environment = {**os.environ, "STATUS_PAGE_PICTURES": str(pathlib.Path(__file__).resolve())}
        command = ["cargo", "test", "--test", "stories", "--", "status_page", "--nocapture"]
        sys.exit(subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode)
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not program:
        sys.exit("pictures: chromium is needed (Debian: apt-get install chromium)")
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for picture in PICTURES:
                take(browser, sys.argv[1], *picture)
        finally:
            browser.process.terminate()
            browser.process.wait()
    if browser.complaints:
        sys.exit(f"pictures: the browser complains: {browser.complaints}")


if __name__ == "__main__":
    main()
