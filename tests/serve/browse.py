#!/usr/bin/env python3
"""Tests the page of build/mafat_serve in a headless browser: browse.py CHROMIUM PORT PICTURE FOLDER
[TOKEN]. Controls Chromium through remote debugging over a WebSocket. Prints a line for each
check."""
import base64
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request

CHROMIUM, PORT, PICTURE, FOLDER = sys.argv[1:5]
TOKEN = sys.argv[5] if len(sys.argv) > 5 else None
PATIENCE = 60
failed = 0


def check(name, holds, found=""):
    global failed
    failed = failed or not holds
    print("ok serve browser:" if holds else "FAIL serve browser:", name + ("" if holds else ": found %.300s" % (found,)))


class Page:
    """A tab with its own connection."""

    def __init__(self, address):
        host, path = address[len("ws://"):].split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(("GET /%s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n" % (path, host, key)).encode())
        self.file = self.socket.makefile("rb")
        while self.file.readline() not in (b"\r\n", b""):
            pass
        self.number, self.problems = 0, []

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        n = len(data)
        head = bytes([0x81]) + (bytes([0x80 | n]) if n < 126 else struct.pack(">BH", 0xfe, n) if n < 65536 else struct.pack(">BQ", 0xff, n))
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self):
        data = b""
        while True:
            first, n = self.file.read(2)
            if n == 126:
                n, = struct.unpack(">H", self.file.read(2))
            elif n == 127:
                n, = struct.unpack(">Q", self.file.read(8))
            data += self.file.read(n)
            if first & 0x80:
                return json.loads(data)

    def do(self, method, **parameters):
        self.number += 1
        self.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = self.receive()
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.problems.append(json.dumps(answer["params"])[:400])
            if answer.get("id") == self.number:
                return answer.get("result", answer)

    def value(self, expression):
        return self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)["result"].get("value")

    def wait(self, expression):
        """The expression's value once it is not null; None if it stays null."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            value = self.value(expression)
            if value:
                return value
            time.sleep(.1)
        return None


def text(name):
    return "document.getElementById('%s').textContent" % name


def start():
    """Starts a browser with its own folder and process group. Returns its port, too."""
    browser = subprocess.Popen([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
                                "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--user-data-dir=" + FOLDER,
                                "--remote-debugging-port=0", "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and browser.poll() is None:
        try:
            with open(FOLDER + "/DevToolsActivePort") as file:
                return browser, int(file.readline())
        except (OSError, ValueError):
            time.sleep(.1)
    return browser, None


def try_page(page):
    page.do("Runtime.enable")
    page.do("Log.enable")
    page.do("DOM.enable")
    page.do("Page.navigate", url="http://127.0.0.1:%s/" % PORT)
    if TOKEN:
        check("a token is asked for", page.wait("document.readyState === 'complete' && !document.getElementById('ask').hidden"))
        page.problems.clear()  # a refusal appears on the console
        page.value("document.getElementById('token').value = '%s'; document.querySelector('#ask button').click()" % TOKEN)
    check("the running plan is shown", page.wait("/[0-9] MiB of/.test(%s)" % text("running")), page.value(text("running")))
    check("a plan is shown", page.wait(text("plan")))
    check("its bytes by tag", page.wait("document.querySelectorAll('#tags tr').length >= 8"))
    check("its map", page.wait("document.querySelectorAll('#map svg rect').length > 20"))

    root = page.do("DOM.getDocument")["root"]["nodeId"]
    file = page.do("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    page.do("DOM.setFileInputFiles", nodeId=file, files=[os.path.abspath(PICTURE)])
    check("a picture is answered", page.wait("/found in/.test(%s)" % text("said")), page.value(text("said")))
    check("its boxes are listed", page.value("document.querySelectorAll('#found tr').length >= 2"), page.value(text("found")))
    check("its boxes are drawn", page.value("""(() => { const c = document.getElementById('picture'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
      const wanted = [[86,180,233],[0,158,115],[230,159,0],[204,121,167],[141,134,201],[240,228,66],[213,94,0],[0,114,178]]; let n = 0;
      for (let i = 0; i < d.length; i += 4) n += wanted.some(w => w[0] === d[i] && w[1] === d[i + 1] && w[2] === d[i + 2]);
      return !c.hidden && c.width === 400 && n > 500 })()"""))

    def slide(to):
        page.value("document.getElementById('budget').value = %d; document.getElementById('budget').dispatchEvent(new Event('input'))" % to)
        page.wait("+document.getElementById('plan').dataset.memory === budget() && !asking")
        return [page.value(text(name)) for name in ("memory", "fits", "plan", "bytes", "ms")], page.value("document.getElementById('map').innerHTML.length")

    low, least, high = slide(0), slide(120), slide(1000)
    check("a budget that is too small", low[0][1] == "does not fit", low)
    check("the slider shows other plans", least[0][1] == high[0][1] == "fits" and least[0][2] != high[0][2], (least, high))
    check("of more bytes and fewer milliseconds", int(least[0][3].split()[0]) < int(high[0][3].split()[0]) and float(least[0][4].split()[0]) >= float(high[0][4].split()[0]), (least, high))
    check("and their maps", least[1] != high[1], (least, high))

    page.value("document.getElementById('said').textContent = ''; document.getElementById('camera').click()")
    check("the camera, live", page.wait("/found in/.test(%s) && !!stream" % text("said")), page.value(text("said")))
    first = page.value("document.getElementById('picture').toDataURL()")
    page.value("new Promise(done => setTimeout(done, 1500))")
    check("the camera goes on", page.value("document.getElementById('picture').toDataURL()") != first)
    page.value("document.getElementById('camera').click()")
    check("nothing is wrong on the console", not page.problems, page.problems)


browser, port = start()
try:
    if not port:
        print("skip serve browser: it does not start")
    else:
        with urllib.request.urlopen("http://127.0.0.1:%d/json" % port, timeout=PATIENCE) as answer:
            pages = [p for p in json.load(answer) if p["type"] == "page"]
        try_page(Page(pages[0]["webSocketDebuggerUrl"]))
finally:
    os.killpg(browser.pid, signal.SIGKILL)
    browser.wait()
sys.exit(failed)
