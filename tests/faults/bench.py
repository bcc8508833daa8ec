"""Command lines of all programs that inject.py and kills.py run while something fails, each in its
own folders, and checks of what is left."""

import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
SHAPES = os.path.join(ROOT, "models", "shapes")
CFG, WEIGHTS = os.path.join(SHAPES, "shapes.cfg"), os.path.join(SHAPES, "shapes.weights")
JPEG = os.path.join(SHAPES, "holdout", "000000.jpg")
PATIENCE = 240  # seconds: a machine may be busy
GROUPS = "/sys/fs/cgroup/memory" if os.path.isdir("/sys/fs/cgroup/memory") else "/sys/fs/cgroup"


class Case:
    """A command. {out} is a folder for its outputs, {given} one of its inputs. measures: its
    results depend on measurements. needs: a program that may be missing. group: makes a control
    group, below one of its own. always: a call and an error included in every sample. serves: a
    server at {socket} that is asked for a picture and ended by TERM; its response is the result."""

    def __init__(self, name, command, makes=(), statuses=(0, 1, 2, 3), says="run_inference: ", measures=False, needs=None, group=False, always=None,
                 serves=False):
        self.name, self.command, self.makes, self.statuses, self.says = name, command, makes, statuses, says
        self.measures, self.needs, self.group, self.always, self.serves = measures, needs, group, always, serves

    def sample(self, points, n, seed):
        always = [p for p in points if (p[0], p[2]) == self.always]
        others = [p for p in points if (p[0], p[2]) != self.always]
        return always + (random.Random(seed).sample(others, n) if n < len(others) else others)


def program(name):
    return os.path.join(BUILD, name)


def cases():
    run = [program("run_inference"), "--quiet"]
    pack = [program("pack_weights"), "--quiet"]
    packed = "{given}/shapes.packed"
    return [
        Case("plain", run + [CFG, WEIGHTS, JPEG]),
        Case("json", run + ["--json", "--report", "--threads", "2", CFG, WEIGHTS, JPEG]),
        Case("streamed", run + ["--plan", "rows1:streamed/NoCut", CFG, WEIGHTS, JPEG]),
        Case("loaded", run + ["--threads", "2", "--plan", "1x1:loaded/6/1x1:loaded", packed, JPEG]),
        Case("rows", run + ["--threads", "2", "--plan", "rows2:streamed/8/panels:streamed", packed, JPEG]),
        Case("kept", run + ["--repeat", "2", "--algorithm", "direct", packed, JPEG]),
        Case("tiles", run + ["--plan", "2x2:loaded/NoCut", CFG, WEIGHTS, JPEG]),
        Case("several", run + ["--memory", "64M", CFG, WEIGHTS, JPEG, JPEG.replace("000000", "000001")]),
        Case("sweep", run + ["--predict", "--sweep", "8M,64M", CFG]),
        Case("front", run + ["--predict", "--pareto", "--memory", "64M", CFG], measures=True),  # the Pareto front depends on resident bytes
        Case("dump", run + ["--dump-output", "{out}/output", "--marks", "{out}/marks", CFG, WEIGHTS, JPEG], makes=("output", "marks")),
        Case("predict", run + ["--predict", "--memory", "64M", "--map", "{out}/map.svg", CFG], makes=("map.svg",)),
        Case("tight", run + ["--sandbox", "off", "--lock", "on", "--memory", "5M", CFG, WEIGHTS, JPEG]),
        Case("pack", pack + [CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2), says="pack_weights: "),
        Case("pack-half", pack + ["--weights", "fp16", "--measure", JPEG, CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2),
             says="pack_weights: "),
        Case("pack-int8", pack + ["--activations", "int8", "--calibrate", JPEG, CFG, WEIGHTS, "{out}/packed"], makes=("packed",), statuses=(0, 1, 2),
             says="pack_weights: "),
        Case("pack-check", pack + ["--check", packed], statuses=(0, 1, 2), says="pack_weights: "),
        Case("calibrate", [program("run_inference"), "--calibrate", "--quiet", "--memory", "64M"], makes=("calibration",), measures=True),
        Case("annotate", [program("annotate"), "-q", "-o", "{out}/drawn.png", "{given}/found.json"], makes=("drawn.png",), statuses=(0, 1, 2), says="annotate: ",
             needs=program("annotate")),
        Case("annotate-jpeg", [program("annotate"), "-q", "-o", "{out}/drawn.jpg", "{given}/found.json"], makes=("drawn.jpg",), statuses=(0, 1, 2),
             says="annotate: ", needs=program("annotate")),
        Case("limit", [program("memory_limit"), "--parent", "{group}", "--limit", "64M", "--output", "{out}/report", "--timeline", "{out}/timeline", "--"] + run + [CFG, WEIGHTS, JPEG],
             makes=("report", "timeline"), statuses=(0, 1, 2), says=("memory_limit: ", "run_inference: "),
             needs=program("memory_limit"), group=True, always=("close", "EIO")),  # a pipe's end that stays open unnoticed
        Case("doctor", [program("mafat"), "doctor", "--json", "{given}/bytes"], statuses=(0, 1, 2), says=("mafat doctor: ", "mafat: "), measures=True),
        Case("doctor-folder", [program("mafat"), "doctor", "{given}"], statuses=(0, 1, 2), says=("mafat doctor: ", "mafat: "), measures=True),
        Case("mafat", [program("mafat"), "run", "--quiet", CFG, WEIGHTS, JPEG], says=("mafat: ", "run_inference: ")),
        Case("ranks", run + ["--predict", "--ranks", "3", "--memory", "64M", CFG]),
        Case("transfers", run + ["--predict", "--search", "separable:objective=transfers", "--fast-memory", "64K", "--memory", "64M", CFG]),
        Case("timed", run + ["--search", "motes:measure", "--memory", "64M", "{given}/shapes.packed", JPEG], measures=True),
        Case("library", [program("failing_library"), CFG, WEIGHTS, JPEG], statuses=(0, 1), says="failing_library: "),
        Case("library-pack", [program("failing_library"), CFG, WEIGHTS, JPEG, "{out}/packed"], makes=("packed",), statuses=(0, 1), says="failing_library: "),
        Case("library-packed", [program("failing_library"), packed, packed, JPEG], statuses=(0, 1), says="failing_library: "),
        Case("serve", [program("mafat_serve"), "--listen", "unix:@{socket}", "--memory", "16M", "--timeout", "5", CFG, WEIGHTS], says="mafat_serve: ",
             serves=True),
        Case("make", [program("make_weights"), "--quiet", CFG, "{out}/weights"], makes=("weights",), says="make_weights: "),
    ]


class Client:
    """A client of a starting server: requests a picture and the other pages, and ends the server.
    `found`, once joined: the picture's result; None without a complete response."""

    class Connection(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect("\0" + self.host)

    def __init__(self, name, process):
        self.at, self.process, self.found = name, process, None
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def join(self):
        self.thread.join()
        return self.found

    def ask(self, method, path, body=None):
        connection = self.Connection(self.at, timeout=30)
        try:
            connection.request(method, path, body, {"Host": "a"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return None, b""
        finally:
            connection.close()

    def wait(self):
        """Waits until it listens or has ended."""
        ends = time.monotonic() + PATIENCE / 2
        while self.process.poll() is None and time.monotonic() < ends:
            if self.ask("GET", "/healthz")[0]:
                return
            time.sleep(0.05)

    def server(self):
        """The traced process, or the process itself."""
        pid = self.process.pid
        try:
            with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                if file.read().strip() != "strace":
                    return pid
            with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
                return int(file.read().split()[0])
        except (OSError, IndexError):
            return None

    def work(self):
        self.wait()
        with open(JPEG, "rb") as file:
            status, text = self.ask("POST", "/detect", file.read())
        told = json.loads(text) if status == 200 else {"boxes_left_out": 1}
        if not told["boxes_left_out"]:
            self.found = told["detections"]
        for path in ("/metrics", "/plan?memory=8M"):
            self.ask("GET", path)
        server = self.server()
        if server and self.process.poll() is None:
            try:
                os.kill(server, signal.SIGTERM)
            except ProcessLookupError:
                pass


def answer(text):
    """Detections or plan of an output, without measured memory and milliseconds."""
    if text.startswith(b"{"):
        told = json.loads(text)
        return [told[key] for key in ("image", "network", "inputs", "outputs", "detections")]
    lines = [re.sub(rb" in [0-9.]+ ms| of [0-9.]+(?= MiB)| [0-9]+\.[0-9]+", b"", line) for line in text.splitlines()]
    predicted = [line for line in lines if line.startswith((b"inputs ", b"outputs ", b"plan ", b"work "))]
    return predicted or lines


def is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def collect_groups(path):
    """Removes a group. True if there were groups below it."""
    below = [name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name))]
    for name in below:
        os.rmdir(os.path.join(path, name))
    os.rmdir(path)
    return below


def is_whole(name, content):
    """True if a file with measured or drawn contents is complete."""
    if name.endswith(".png"):
        return content.endswith(b"IEND\xaeB\x60\x82")
    if name.endswith(".jpg"):
        return content.endswith(b"\xff\xd9")
    return content.endswith(b"\n")


class Bench:
    def __init__(self, folder):
        self.given = os.path.join(folder, "given")
        self.folder = folder
        os.mkdir(self.given)
        subprocess.run([program("pack_weights"), "--quiet", CFG, WEIGHTS, os.path.join(self.given, "shapes.packed")], check=True)
        with open(os.path.join(self.given, "found.json"), "wb") as found:
            subprocess.run([program("run_inference"), "--quiet", "--json", CFG, WEIGHTS, JPEG], stdout=found, check=True)
        with open(os.path.join(self.given, "bytes"), "wb") as file:
            file.write(bytes(range(256)) * 6000)

    def run(self, case, wrapper=(), meanwhile=None):
        """Exit status (None: timeout), stdout, stderr, and remaining files by name. wrapper: words
        before the command. meanwhile: called with the started process."""
        out = tempfile.mkdtemp(dir=self.folder)
        group = os.path.join("mafat-faults", os.path.basename(out))
        if case.group:
            os.makedirs(os.path.join(GROUPS, group))
        command = [word.replace("{out}", out).replace("{given}", self.given).replace("{group}", group).replace("{socket}", os.path.basename(out)) for word in case.command]
        environment = dict(os.environ, XDG_CACHE_HOME=out if case.measures else "/dev/null", TMPDIR=out, MALLOC_ARENA_MAX="1")
        with subprocess.Popen(list(wrapper) + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, stdin=subprocess.DEVNULL,
                              start_new_session=True) as process:
            client = Client(os.path.basename(out), process) if case.serves else None
            try:
                if meanwhile:
                    meanwhile(process)
                stdout, stderr = process.communicate(timeout=PATIENCE)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # and the processes that it traces
                stdout, stderr = process.communicate()
                status = None
            if client:
                stdout += json.dumps(client.join()).encode()
        lives = meanwhile and goes_on(process.pid)
        left = collect(out)
        if lives:
            left["a process"] = b""
        if case.group and collect_groups(os.path.join(GROUPS, group)):
            left["a control group"] = b""
        return status, stdout.replace(out.encode(), b"OUT"), stderr.replace(out.encode(), b"OUT"), left


def goes_on(session):
    """True if a process of the session exists after ten seconds."""
    for _ in range(1000):
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


def collect(out):
    """The files by name. A calibration's name is a hash of the machine, so it is replaced."""
    left = {}
    for folder, _, names in os.walk(out):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                left["calibration" if re.fullmatch(r"(?!calibrating)[a-z0-9-]+-[0-9a-f]+", name) and folder != out else name] = file.read()
    shutil.rmtree(out)
    return left


def wrong_files(case, left, expected):
    """The problem with the remaining files, or None."""
    for name, content in left.items():
        if name not in case.makes:
            return "leaves %s" % name
        measured = name.endswith((".png", ".jpg")) or name in ("marks", "report", "timeline", "calibration")
        # marks are truncated first, then grow
        if measured and name != "marks" and not is_whole(name, content):
            return "leaves a part of %s: %s" % (name, content[-40:])
        measured |= name.endswith(".svg") and len(content) == len(expected[name])
        if not measured and content != expected[name]:
            return "leaves %s of %d bytes instead of %d" % (name, len(content), len(expected[name]))
    return None


def wrong_answer(case, status, stdout, left, expected):
    """The problem with the output of a successful run, or None."""
    if status != 0:
        return None
    if case.serves:
        return "another answer: %s" % stdout[:200].decode(errors="replace") if stdout not in (b"null", expected[1]) else None
    if not case.measures and answer(stdout) != answer(expected[1]):
        return "another answer: %s" % stdout[:200].decode(errors="replace")
    if case.measures and stdout.startswith(b"{") and not is_json(stdout):
        return "no JSON: %s" % stdout[-200:].decode(errors="replace")
    if set(expected[3]) - set(left):
        return "has not made %s" % ", ".join(set(expected[3]) - set(left))
    return None


def can_run(case):
    return not ((case.needs and not os.access(case.needs, os.X_OK)) or (case.group and not os.access(GROUPS, os.W_OK)))
