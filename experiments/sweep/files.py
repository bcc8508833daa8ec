"""Private copies of programs and their files, in a folder on a disk: no other process holds them in
the page cache, so they can be evicted before each run."""

import os
import re
import shutil
import subprocess

import programs
import workloads
from sweep.cells import COLD_LIBRARIES, Misuse

KINDS = {"mafat": programs.Mafat, "mafat-packed": programs.Mafat, "darknet": programs.Darknet, "opencv": programs.OpenCV,
         "onnxruntime": programs.OnnxRuntime}


def in_memory(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=False).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def libraries_of(program):
    """The files that the dynamic loader maps."""
    found = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", found)


def is_foreign(path):
    """Tells if a file of an npm package is for another system or processor."""
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(os.uname().machine, "?")
    parts = path.split(os.sep)
    return "bin" in parts and any(part in ("darwin", "win32") or part in ("x64", "arm64") and part != machine for part in parts)


def find_program(who, build):
    """Builds a program if it is ours. Raises Misuse if it is missing; the message says how to
    install it."""
    try:
        program = KINDS[who](build)
    except workloads.Unavailable as missing:
        raise Misuse("%s: %s" % (who, missing)) from None
    if who == "onnxruntime" and program.missing_converter():
        raise Misuse("%s: %s" % (who, program.missing_converter()))
    if who == "mafat-packed":
        program.packer = os.path.join(build, "pack_weights")
        if not os.access(program.packer, os.X_OK):
            raise Misuse("%s: %s is missing; make" % (who, program.packer))
    return program


class Runner:
    """An available program, with private copies of our files."""

    def __init__(self, who, build, folder):
        self.peer = find_program(who, build)
        self.binary = None        # evicted before each run
        self.libraries = []       # in the page cache before each run
        self.environment = getattr(self.peer, "environment", None) or {}
        if who == "onnxruntime":
            node = os.path.realpath(shutil.which("node"))
            package = os.path.join(self.environment["NODE_PATH"], "onnxruntime-node", "bin")
            found = [os.path.join(root, name) for root, _, names in os.walk(package) for name in names]
            self.libraries = [node, *libraries_of(node), *(path for path in found if not is_foreign(path))]
        else:
            program = self.peer.program if isinstance(self.peer.program, str) else self.peer.program[0]
            self.binary = os.path.join(folder, os.path.basename(program))
            if not os.path.exists(self.binary):
                shutil.copy2(program, self.binary)
            self.peer.program = self.binary if isinstance(self.peer.program, str) else [self.binary]
            self.libraries = libraries_of(self.binary)
        self.copies = os.path.join(folder, who + "-libraries")

    def copy_libraries(self):
        """Copies a program's libraries, so that no other process has mapped them. Returns the words before its command that select the copies, and the files."""
        missing = not os.path.isdir(self.copies)
        words = ["env", "LD_LIBRARY_PATH=" + self.copies]
        if missing:
            os.mkdir(self.copies)
        if "NODE_PATH" in self.environment:
            modules = os.path.join(self.copies, "node_modules")
            words.append("NODE_PATH=" + modules)
            if missing:
                shutil.copytree(self.environment["NODE_PATH"], modules,
                                ignore=lambda folder, names: [name for name in names if is_foreign(os.path.join(folder, name))])
        if missing:
            found = {path for library in self.libraries for path in [library, *libraries_of(library)]}
            for path in found:
                if not os.path.basename(path).startswith("ld-"):   # the loader is found by its path
                    shutil.copy2(path, self.copies)
        return words, [os.path.join(root, name) for root, _, names in os.walk(self.copies) for name in names]

    def make_cold(self, prepared):
        """Uses private copies of its libraries."""
        words, prepared.cold_libraries = self.copy_libraries()
        program, *options = prepared.command
        # node's binary counts as a library here
        copy = os.path.join(self.copies, os.path.basename(os.path.realpath(shutil.which(program))))
        prepared.command = [*words, copy if os.path.exists(copy) else program, *options]
        prepared.first_option = len(words) + 1


class Prepared:
    """One program on one network: command, start of its options, files to evict, libraries to keep
    in the page cache, libraries to evict, environment."""

    def __init__(self, command, evicted, environment):
        self.command, self.first_option, self.evicted, self.environment = command, 1, evicted, environment
        self.cached_libraries, self.cold_libraries = [], []


class Files:
    """Files in `folder`, each made at its first use."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, build
        self.sources, self.parts, self.runners, self.prepared = {}, {}, {}, {}

    def runner(self, who):
        if who not in self.runners:
            self.runners[who] = Runner(who, self.build, self.folder)
        return self.runners[who]

    def call(self, command, what):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            raise Misuse("%s: %s" % (what, self.clean(programs.last_line(done.stderr, done.returncode))))

    def clean(self, text):
        """The text without paths of this folder."""
        return re.sub(re.escape(self.folder) + r"/(\d+-[^/]*/)?", "", text)

    def source(self, network):
        """The whole network, whichever part is run: cfg for one picture, weights, picture, a PPM of
        its size."""
        key = network.cfg, network.weights, network.image
        if key in self.sources:
            return self.sources[key]
        folder = os.path.join(self.folder, "%d-%s" % (len(self.sources), network.name))
        os.mkdir(folder)
        files = workloads.Files(folder, network.name)
        files.jpg = os.path.join(folder, "picture" + os.path.splitext(network.image)[1])
        files.packed = os.path.join(folder, network.name + ".packed")
        text = workloads.single_picture(workloads.read_text(network.cfg))
        workloads.write_text(files.cfg, text)
        shutil.copyfile(network.image, files.jpg)
        if network.weights:
            shutil.copyfile(network.weights, files.weights)
        else:
            self.call([os.path.join(self.build, "make_weights"), "--quiet", files.cfg, files.weights], "make_weights")
        self.sources[key] = files
        return files

    def part(self, network):
        """The network truncated at the last layer, for programs that only run whole ones."""
        source = self.source(network)
        key = source.folder, network.part
        if key not in self.parts:
            files = source
            if network.part:
                files = workloads.Files(source.folder, "%s-%d" % (network.name, network.part))
                files.weights, files.jpg, files.ppm = source.weights, source.jpg, source.ppm
                workloads.write_text(files.cfg, workloads.first_layers(workloads.read_text(source.cfg), network.part))
            self.parts[key] = files
        return self.parts[key]

    def prepare(self, network, program):
        """Returns Prepared. Raises Misuse if the program is missing or cannot run this network."""
        key = network, program.label
        if key not in self.prepared:
            self.prepared[key] = self.make(network, program)
        return self.prepared[key]

    def make(self, network, program):
        runner = self.runner(program.who)
        layers = ["--layers", str(network.part)] if network.part else []
        if program.who in ("opencv", "onnxruntime"):
            files, options = self.part(network), []
        else:
            files, options = self.source(network), layers + [word for word in program.options if word != COLD_LIBRARIES]
        picture = files.jpg
        if program.who == "onnxruntime":
            picture = files.ppm
            try:
                if not os.path.exists(files.ppm):
                    workloads.write_ppm(files.ppm, *workloads.input_size(workloads.read_text(files.cfg)))
                if not os.path.exists(files.onnx):
                    runner.peer.prepare(files, self.folder)
            except (programs.Failed, AttributeError) as reason:   # a cfg without a size
                raise Misuse("onnxruntime cannot have %s: %s" % (network.name, self.clean(str(reason)))) from None
        if program.who == "mafat-packed":
            packed = workloads.Files(files.folder, network.name)
            packed.weights = files.packed
            if not os.path.exists(files.packed):
                self.call([runner.peer.packer, "--quiet", files.cfg, files.weights, files.packed], "pack_weights")
            files = packed
        command = runner.peer.command(files, picture, 1, options)
        evicted = ([runner.binary] if runner.binary else []) + runner.peer.files(files, picture)
        prepared = Prepared(command, evicted, runner.environment)
        if COLD_LIBRARIES in program.options:
            runner.make_cold(prepared)
        else:
            prepared.cached_libraries = runner.libraries
        return prepared
