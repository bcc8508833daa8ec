"""The compared programs: mafat, the yardstick and the peers. Each is built or found once and provides command lines."""

import glob
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

from hold import held_library, held_package, preloaded
from machine import find_levels
from workloads import Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
DEBIAN_PYTHON = "/usr/bin/python3"   # python3-onnx is Debian's; another python3 may come first in PATH
TIMEOUT_SECONDS = 1800
ONNX2NCNN = "onnx2ncnn"   # one of ncnn's tools; built if protobuf is installed


class Failed(Exception):
    """A program ended with an error; the message is its last line."""


class Run:
    """One finished process."""

    def __init__(self, output, total_ms, cpu_ms, cpu_share):
        self.output = output
        self.cpu_ms = cpu_ms         # CPU time of the whole process
        self.total_ms = total_ms     # from before its start to its first line of output
        self.cpu_share = cpu_share   # CPU time / elapsed time; below 1 it waited


def last_line(text, code):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "exit status %d" % code


def start(command, cpus, log, cwd=None, env=None):
    """Restricts this process to the given CPUs; a started process inherits them, so no other
    program runs in between."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, cwd=cwd,
                                env=dict(os.environ, **(env or {})))
    finally:
        os.sched_setaffinity(0, before)


def cpu_seconds():
    """Processor seconds of all ended processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, cpus, folder, cwd=None, env=None):
    """Runs a program to its end."""
    with open(os.path.join(folder, "log"), "w+", encoding="utf-8", errors="replace") as log:
        cpu_before, before = cpu_seconds(), time.perf_counter()
        process = start(command, cpus, log, cwd, env)
        timer = threading.Timer(TIMEOUT_SECONDS, process.kill)
        timer.start()
        try:
            first = process.stdout.readline()
            total_ms = (time.perf_counter() - before) * 1e3
            rest, _ = process.communicate()
            cpu, elapsed = cpu_seconds() - cpu_before, time.perf_counter() - before
        finally:
            timer.cancel()
            if process.poll() is None:
                process.kill()
                process.wait()
        if process.returncode != 0:
            log.seek(0)
            raise Failed(last_line(log.read(), process.returncode))
    return Run((first + rest).decode("utf-8", "replace"), total_ms, cpu * 1e3, cpu / elapsed)


def compile_program(command, hint, libraries=()):
    """Builds a program unless it is newer than its source, peer.h and the libraries."""
    out = command[command.index("-o") + 1]
    sources = [word for word in command if word.startswith(HERE)] + [os.path.join(HERE, "peer.h"), *libraries]
    if os.path.exists(out) and os.path.getmtime(out) > max(os.path.getmtime(source) for source in sources):
        return
    os.makedirs(os.path.dirname(out), exist_ok=True)
    if not shutil.which(command[0]):
        raise Unavailable("%s is missing; %s" % (command[0], hint))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise Unavailable("does not compile (%s); %s" % (errors[0].split("error: ")[-1] if errors else "?", hint))


class Mafat:
    """This build's run_inference."""

    name = "mafat"
    tolerance = 1e-4
    level = "unknown"   # kernel level, known after a run
    FORK = ["--fork", "darknet"]   # the peers compute like pjreddie's Darknet

    def __init__(self, build):
        self.program = os.path.join(build, "run_inference")
        if not os.path.exists(self.program):
            raise Unavailable("%s is missing; make" % self.program)
        self.version = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]

    def command(self, files, picture, repeat, options=(), dump=None):
        words = [self.program, "--json", "--quiet", *(self.FORK if files.is_darknet else []), "--repeat", str(repeat), *options]
        for wish, _ in files.dumps(dump) if dump else []:
            words += ["--dump-output", wish]
        return words + files.words() + files.input_words(picture)

    def files(self, files, picture):
        return files.words() + [picture]

    def dumped(self, files, path):
        """The files that the outputs are in."""
        return [file for _, file in files.dumps(path)]


class Peer:
    """Programs that print one JSON object, as documented in peer.h."""

    environment = None
    tolerance = 1e-4   # relative to the largest value
    may_read = reads = ("cfg",)   # formats of models; fewer if something is missing
    reads_twins = False   # quantised TFLite files, through twin_onnx.py
    is_held = False    # restricted to a level below the processor's
    converts = False   # reads only converted models
    picture, takes_threads = "jpg", False   # for networks of a cfg
    settings = {"1 thread": []}             # if it has no option for threads
    hint = "experiments/peers/install.sh"

    def command(self, files, picture, repeat, options=(), dump=None):
        return ([*self.program, "--repeat", str(repeat), *options] + (["--dump", dump] if dump else []) +
                self.model(files) + [picture])

    def model(self, files):
        return [files.cfg, files.weights]

    def files(self, files, picture):
        return self.model(files) + [picture]

    def dumped(self, files, path):
        """The files that the outputs are in, one after the other."""
        return [path]

    def prepare(self, files, folder):
        """Writes what the peer needs besides cfg and weights."""

    def idle(self, cpus, folder):
        """Memory of a process that loaded the libraries but no model, and the library's version."""
        report = json.loads(run([*self.program, "--idle"], cpus, folder, env=self.environment).output)
        self.version = report["version"]
        return report["measured_resident_bytes"]


class Darknet(Peer):
    """Debian's libdarknet."""

    name = "Darknet"
    hint = "apt-get install darknet"
    library = "/usr/lib/darknet"

    def __init__(self, build):
        self.program = [os.path.join(build, "peers", "peer_darknet")]
        if not os.path.exists(os.path.join(self.library, "include", "darknet.h")):
            raise Unavailable("libdarknet is missing; %s" % self.hint)
        package = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "darknet"], capture_output=True, text=True,
                                 check=False) if shutil.which("dpkg-query") else None
        version = package.stdout.strip() if package and package.returncode == 0 else "unknown"
        compile_program(["gcc", "-std=c11", "-D_GNU_SOURCE", '-DDARKNET_VERSION="%s"' % version, "-O2", "-isystem", self.library + "/include",
                         "-o", *self.program, os.path.join(HERE, "peer_darknet.c"),
                         "-L" + self.library, "-ldarknet", "-Wl,-rpath," + self.library,
                         "-Wl,--allow-shlib-undefined", "-lm"], self.hint)


class OpenCV(Peer):
    """OpenCV's DNN module."""

    name = "OpenCV DNN"
    tolerance = 2e-4   # it adds 1e-6 below the root, Darknet after it; some trained variances are small
    hint = "apt-get install --no-install-recommends g++ pkg-config libopencv-dev"

    def __init__(self, build):
        self.program = [os.path.join(build, "peers", "peer_opencv")]
        found = shutil.which("pkg-config") and subprocess.run(
            ["pkg-config", "--cflags-only-I", "opencv4"], capture_output=True, text=True, check=False)
        if not found or found.returncode != 0:
            raise Unavailable("its headers are missing; %s" % self.hint)
        compile_program(["g++", "-std=c++17", "-O2", *found.stdout.split(), "-o", *self.program,
                         os.path.join(HERE, "peer_opencv.cpp"),
                         "-lopencv_dnn", "-lopencv_imgcodecs", "-lopencv_core"], self.hint)


class OnnxRuntime(Peer):
    """onnxruntime, through its package for node."""

    name = "onnxruntime"
    may_read, reads, reads_twins = ("cfg", "onnx", "tflite"), ("cfg", "onnx"), True
    picture, takes_threads = "ppm", True

    def __init__(self, build):
        modules = os.path.join(build, "peers", "node_modules")
        if not shutil.which("node"):
            raise Unavailable("node is missing; %s" % self.hint)
        if not os.path.isdir(os.path.join(modules, "onnxruntime-node")):
            raise Unavailable("onnxruntime-node is missing; %s" % self.hint)
        self.program = ["node", os.path.join(HERE, "peer_onnxruntime.js")]
        self.environment = {"NODE_PATH": os.path.abspath(modules)}

    @staticmethod
    def missing_converter():
        """The reason why no cfg can be run, or None."""
        found = subprocess.run([DEBIAN_PYTHON, "-c", "import onnx"], capture_output=True, check=False)
        return None if found.returncode == 0 else ("python3-onnx, which its models are written with, is missing; "
                                                   "apt-get install --no-install-recommends python3-onnx")

    def model(self, files):
        return [files.onnx]

    def prepare(self, files, folder):
        if not files.is_darknet and not files.onnx.endswith(".twin.onnx"):
            return
        if self.missing_converter():
            raise Failed(self.missing_converter())
        if not files.is_darknet:
            run([DEBIAN_PYTHON, os.path.join(HERE, "twin_onnx.py"), files.tflite, files.onnx], os.sched_getaffinity(0), folder)
            return
        run([DEBIAN_PYTHON, os.path.join(HERE, "write_onnx.py"), files.cfg, files.weights, files.onnx],
            os.sched_getaffinity(0), folder)


class HeldOnnxRuntime(OnnxRuntime):
    """The same on a processor that is said to have AVX2 at most."""

    name, level, is_held = "onnxruntime, avx2", "avx2", True
    may_read, reads = ("tflite",), ()

    def __init__(self, build):
        super().__init__(build)
        if "avx512" not in find_levels():
            raise Unavailable("this processor has no more than AVX2")
        modules, held = os.path.join(build, "peers", "node_modules"), os.path.join(os.path.abspath(build), "peers", "avx2", "node_modules")
        for package in ("onnxruntime-node", "onnxruntime-common"):
            library = "bin/napi-v6/linux/x64/libonnxruntime.so.1" if package.endswith("node") else None
            held_package(os.path.join(modules, package), os.path.join(held, package), library)
        self.environment = {"NODE_PATH": held, "LD_PRELOAD": preloaded(build)}


class TFLite(Peer):
    """TFLite's C library from a package for node, with its own kernels or its XNNPACK delegate."""

    name = "TFLite"
    may_read = reads = ("tflite",)
    picture = "raw"
    settings = {"own kernels": [], "XNNPACK": ["--xnnpack"]}
    folders = {"x86_64": "linux_amd64", "aarch64": "linux_arm64"}

    def __init__(self, build):
        package = os.path.join(os.path.abspath(build), "peers", "tflite", "package", "cc_deps")
        folder = os.path.join(package, self.folders.get(platform.machine(), "none"))
        library = os.path.join(folder, "libtensorflowlite_c.so")
        self.program = [os.path.join(build, "peers", "peer_tflite")]
        if not os.path.exists(library):
            raise Unavailable("its C library is missing; %s" % self.hint)
        compile_program(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-isystem", os.path.join(package, "include"), "-o", *self.program,
                         os.path.join(HERE, "peer_tflite.c"), library, "-Wl,-rpath," + folder], self.hint, [library])

    def model(self, files):
        return [files.tflite]


class HeldTFLite(TFLite):
    """The same on a processor that is said to have AVX2 at most."""

    name, level, is_held = "TFLite, avx2", "avx2", True
    reads, reads_twins = (), True    # quantised files only

    def __init__(self, build):
        super().__init__(build)
        if "avx512" not in find_levels():
            raise Unavailable("this processor has no more than AVX2")
        folder, library = os.path.join(os.path.abspath(build), "peers", "avx2", "tflite"), "libtensorflowlite_c.so"
        held_library(os.path.join(os.path.abspath(build), "peers", "tflite", "package", "cc_deps", self.folders[platform.machine()], library),
                     os.path.join(folder, library))
        self.environment = {"LD_LIBRARY_PATH": folder, "LD_PRELOAD": preloaded(build)}


class Ncnn(Peer):
    """ncnn from an installed tree, whose tools convert the models."""

    name = "ncnn"
    may_read, converts = ("cfg", "onnx"), True
    picture, takes_threads = "ppm", True
    hint = "experiments/peers/README.md says how it is installed"
    libraries = ("lib", "lib64", os.path.join("lib", "%s-linux-gnu" % platform.machine()))

    def __init__(self, build, tree):
        self.tools = os.path.join(tree, "bin")
        header = self.find(tree, os.path.join("include", "ncnn", "platform.h"))
        library = self.find(tree, *(os.path.join(folder, "libncnn.*") for folder in self.libraries))
        for tool in ("darknet2ncnn", "ncnnoptimize"):
            self.find(self.tools, tool)
        with open(header, encoding="utf-8") as file:
            self.built_with = set(re.findall(r"(?m)^#define NCNN_(\w+) 1$", file.read()))
        if os.access(os.path.join(self.tools, ONNX2NCNN), os.X_OK):
            self.reads = ("cfg", "onnx")
        self.level = self.find_level()
        self.name = "ncnn, %s" % self.level
        kind = self.level + ("_layers" if self.tells_layers() else "")
        self.program = [os.path.join(build, "peers", "peer_ncnn_" + kind)]
        compile_program(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-isystem", os.path.join(tree, "include"),
                         "-o", *self.program, os.path.join(HERE, "peer_ncnn.c"), library,
                         "-Wl,-rpath," + os.path.dirname(library), "-lstdc++", "-lgomp", "-lm"], self.hint, [library])

    def find(self, folder, *patterns):
        """The first file there is."""
        for pattern in patterns:
            found = sorted(glob.glob(os.path.join(os.path.abspath(folder), pattern)))
            if found:
                return found[0]
        raise Unavailable("no %s in a tree that MAFAT_NCNN names; %s" % (patterns[0], self.hint))

    def find_level(self):
        """The best level of this machine for which it was built."""
        found = find_levels()
        if found == ["neon"]:
            return "neon"
        built = [level for level in ("avx512", "avx2") if level.upper() in self.built_with]
        both = [level for level in built if level in found]
        if not both or ("RUNTIME_CPU" not in self.built_with and both != built):
            raise Unavailable("a tree that MAFAT_NCNN names was built for another processor; %s" % self.hint)
        return both[0]

    def tells_layers(self):
        """True if built to print each layer's time."""
        return "BENCHMARK" in self.built_with

    def model(self, files):
        return [files.param, files.bin]

    def command(self, files, picture, repeat, options=(), dump=None):
        named = [] if files.is_darknet else [word for output in files.outputs for word in ("--output", output.name)]
        return super().command(files, picture, repeat, [*options, *named], dump)

    def convert(self, files, folder):
        """Converts an ONNX file. The converter does not report the input's size, on which ncnn's
        choice of algorithms depends."""
        dims, cpus = files.inputs[0].dims, os.sched_getaffinity(0)
        run([os.path.join(self.tools, ONNX2NCNN), files.onnx, files.param, files.bin], cpus, folder)
        size = dict(enumerate(reversed(dims[1:]))) if len(dims) == 4 else {0: dims[-1]}
        with open(files.param, encoding="utf-8") as file:
            text = file.read()
        with open(files.param, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(?m)^(Input .*?)$", lambda line: line[1] + "".join(" %d=%d" % each for each in size.items()), text))
        run([os.path.join(self.tools, "ncnnoptimize"), files.param, files.bin, files.param, files.bin, "0"], cpus, folder)

    def prepare(self, files, folder):
        if not files.is_darknet:
            return self.convert(files, folder)
        run([sys.executable, os.path.join(HERE, "write_ncnn.py"), self.tools, files.cfg, files.weights, files.param,
             files.bin], os.sched_getaffinity(0), folder)


class Yardstick:
    """A hard-wired YOLOv2 that shows the reachable speed; found by MAFAT_YARDSTICK."""

    name = "yardstick"
    settings = {"direct": ["-R", "2"],
                "winograd, 4 rows": ["-R", "4", "-k", "dwwdwwdw", "-wl", "1", "-us", "32"],
                "winograd, 8 rows": ["-R", "8", "-k", "dwwdwwdw", "-wl", "1", "-us", "64"]}

    def __init__(self, folder, cpus):
        source = os.environ.get("MAFAT_YARDSTICK")
        if not source:
            raise Unavailable("MAFAT_YARDSTICK does not name its folder")
        self.folder = folder   # it reads w.bin and img.bin in its working folder
        self.program = os.path.join(folder, "net")
        compile_program(["gcc", "-O3", "-march=native", "-w", "-o", self.program, os.path.join(source, "net.c"), "-lm"],
                        "it needs AVX-512")
        try:
            run([self.program], cpus, folder, cwd=folder)   # the first call only writes its weights
        except Failed as error:
            raise Unavailable("does not run (%s)" % error) from None

    def command(self, options, layers, repeat):
        return [self.program, *options, *(["-last", "12"] if layers == 16 else []), "-reps", str(min(repeat, 60))]

    @staticmethod
    def read(output):
        """Parses its line: milliseconds and bytes."""
        match = re.search(r"best ([\d.]+) avg ([\d.]+) .* HWM (\d+) kB", output)
        if not match:
            raise Failed("printed something unexpected")
        return {"best_ms": float(match.group(1)), "average_ms": float(match.group(2)),
                "peak_resident_bytes": int(match.group(3)) * 1024}

