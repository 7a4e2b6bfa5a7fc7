# SPDX-License-Identifier: GPL-3.0-or-later
"""A small client of ChromeDriver: a headless Chromium without network, over W3C WebDriver's HTTP
interface, with python3's standard library alone.

sources: W3C WebDriver (sessions, actions, elements), ChromeDriver's own additions
(goog:chromeOptions, goog:loggingPrefs, /goog/cdp/execute) and the Chrome DevTools Protocol."""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver, 12.2: an element reference's key
KEYS = {"tab": "\ue004", "enter": "\ue007", "shift": "\ue008", "escape": "\ue00c", "space": " ",
        "left": "\ue012", "up": "\ue013", "right": "\ue014", "down": "\ue015"}
TIMEOUT_S = 60
# 127.0.0.1 alone, never a proxy of the environment's
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class WebDriverError(Exception):
    """What the browser or its driver answered in place of a value."""


def programs():
    """(browser, driver, reason): the two programs, or None for both and why."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    lacking = [name for name, path in (("chromium", browser), ("chromium-driver", driver)) if not path]
    if lacking:
        return None, None, "no %s (packages: chromium chromium-driver)" % " and no ".join(lacking)
    return browser, driver, None


class Browser:
    """One driver, one browser, one session; every test begins with fresh()."""

    def __init__(self, browser, driver):
        self.folder = tempfile.mkdtemp(prefix="carm-browser-")
        self.process = None
        self.base = None
        self.patience = 4.0  # a busy machine; factor on the seconds of wait(); small where a failure is expected
        try:
            self._start(browser, driver)
        except BaseException:
            self.close()
            raise

    def _start(self, browser, driver):
        log = os.path.join(self.folder, "driver.log")
        # what it writes goes into the folder, nothing into a user's home
        own = dict.fromkeys(("TMPDIR", "HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), self.folder)
        # a group of its own: the end takes the browser's processes along
        with open(log, "wb") as out:
            self.process = subprocess.Popen([driver, "--port=0"], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL, start_new_session=True,
                                            env=dict(os.environ, **own))
        port = None
        end = time.monotonic() + 20
        while not port:
            with open(log, encoding="utf-8", errors="replace") as f:
                port = re.search(r"started successfully on port (\d+)", f.read())
            if self.process.poll() is not None or time.monotonic() > end:
                raise WebDriverError("chromedriver did not start")
            time.sleep(0.02)
        self.base = "http://127.0.0.1:%s/session" % port.group(1)
        options = {
            "binary": browser,
            # the sandbox needs user namespaces, which containers lack; the pages are our own
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--disable-extensions",
                     "--force-device-scale-factor=1", "--window-size=1280,1000",
                     "--host-resolver-rules=MAP * ~NOTFOUND",
                     # nothing listens there: no address is reached either, 127.0.0.1 included
                     "--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>",
                     "--user-data-dir=" + os.path.join(self.folder, "profile")]}
        answer = self._http("POST", self.base, {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base += "/" + answer["sessionId"]
        self.version = answer["capabilities"].get("browserVersion", "?")
        self.home = self.call("GET", "window")
        try:
            self.go(self.base)  # the driver's own address
        except WebDriverError:
            self.go("about:blank")
        else:
            raise AssertionError("the browser has a network")

    @staticmethod
    def _http(method, url, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        try:
            with OPENER.open(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error).get("value", {})
            raise WebDriverError("%s: %s" % (value.get("error"), value.get("message", "").split("\n")[0]))

    def call(self, method, path, body=None):
        return self._http(method, self.base + "/" + path, {} if method == "POST" and body is None else body)

    def close(self):
        """Ends the browser and the driver, and removes what they wrote."""
        if self.process:
            try:
                if self.base:
                    self._http("DELETE", self.base)
            except (OSError, ValueError, WebDriverError):
                pass
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None
        for _ in range(20):  # the browser's last processes may still be writing
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                break
            time.sleep(0.05)

    # ---- tabs, pages, scripts

    def fresh(self, url=None, width=1280, height=1000, **features):
        """Leaves the page of the test before, its tabs, keys and log; then loads this one in that many
        CSS pixels. features are media features (prefers_color_scheme="dark") or media="print"."""
        for handle in self.call("GET", "window/handles"):
            if handle != self.home:
                self.call("POST", "window", {"handle": handle})
                self.call("DELETE", "window")
        self.call("POST", "window", {"handle": self.home})
        self.call("DELETE", "actions")
        self.go("about:blank")
        self.size(width, height)
        self.media(**features)
        self.log("browser")
        self.log("performance")
        if url:
            self.go(url)

    def tab(self, width=1280, height=1000):
        """A second tab, and on to it."""
        handle = self.call("POST", "window/new", {"type": "tab"})["handle"]
        self.call("POST", "window", {"handle": handle})
        self.size(width, height)

    def size(self, width, height):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)

    def media(self, media="", **features):
        self.cdp("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def go(self, url):
        self.call("POST", "url", {"url": url})

    def js(self, script, *arguments):
        """Runs a function's body with `arguments`; elements come and go as objects."""
        return self.call("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def cdp(self, command, **parameters):
        return self.call("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})

    def log(self, kind):
        """The entries since the last call: kind is browser (the console) or performance (the network)."""
        return self.call("POST", "se/log", {"type": kind})

    def wait(self, what, script, *arguments, seconds=10):
        """The first true value of the script within that time."""
        end = time.monotonic() + seconds * self.patience
        while True:
            value = self.js(script, *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise AssertionError("waited %g s in vain: %s" % (seconds * self.patience, what))
            time.sleep(0.02)

    # ---- a person's hands

    def find(self, selector):
        return self.call("POST", "element", {"using": "css selector", "value": selector})

    def click(self, selector):
        element = self.find(selector)
        self.call("POST", "element/%s/click" % element[ELEMENT])

    def move(self, x, y):
        """The mouse, to a point of the window; over another one first, so that it really moves."""
        step = {"type": "pointerMove", "duration": 0}
        self.call("POST", "actions", {"actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [dict(step, x=max(0, round(x) - 2), y=max(0, round(y) - 2)),
                        dict(step, x=round(x), y=round(y))]}]})

    def drag(self, x, y, dx, dy):
        step = {"type": "pointerMove", "duration": 0}
        self.call("POST", "actions", {"actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [dict(step, x=round(x), y=round(y)), {"type": "pointerDown", "button": 0},
                        dict(step, x=round(x + dx / 2), y=round(y + dy / 2)),
                        dict(step, x=round(x + dx), y=round(y + dy)),
                        {"type": "pointerUp", "button": 0}]}]})

    def wheel(self, x, y, delta):
        self.call("POST", "actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": delta,
             "duration": 0, "origin": "viewport"}]}]})

    def key(self, *names):
        strokes = []
        for name in names:
            value = KEYS.get(name, name)
            strokes += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "actions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("GET", "screenshot")))

    def pdf(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=False)["data"])
