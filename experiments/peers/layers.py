#!/usr/bin/env python3
"""Measures the time of each layer, its share of the FMA peak, its parts, and ncnn's time.

Layers that run_inference computes in one step share a line, with ncnn's times added up. README.md
beside this file lists requirements and columns."""

import argparse
import bisect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True   # nothing is written into the tree

import programs
from machine import ROOT
from report import number, ratio, table
from workloads import WORKLOADS, Unavailable, prepare, read_text, section_name, split_sections
from write_ncnn import number as cfg_number, shapes

# Kernel functions: bodies.h names them alike for all levels.
SHARES = (("weights", r"winograd_weights"), ("input", r"winograd_input"), ("products", r"tile_\d|conv$"),
          ("output", r"winograd_output"), ("depthwise", r"depthwise"))


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--workload", action="append", choices=names, metavar="NAME",
                        help="only this one; may be repeated: " + ", ".join(names))
    parser.add_argument("--level", default="avx2", help="run_inference's --cpu (default: avx2)")
    parser.add_argument("--algorithm", default="auto", help="run_inference's --algorithm (default: auto)")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="processes of each, in turn (default: 5)")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), metavar="N",
                        help="the CPU to run on (default: the last one)")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="layers to list at the end (default: 10)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "profile"), metavar="FOLDER",
                        help="with programs that have symbols (default: build/profile)")
    options = parser.parse_args()
    options.workloads = [w for w in WORKLOADS if not options.workload or w.name in options.workload]
    return options


def percent_of_peak(macs, ms, peak):
    return number(100 * macs / ms / 1e6 / peak, 0) if macs and ms else ""


class Step:
    """The layers of one of our steps; the last one reads the others."""

    def __init__(self, layers, algorithm, macs):
        self.layers, self.algorithm, self.macs = layers, algorithm, macs
        self.ms, self.theirs = None, None
        self.samples = {}     # part of SHARES or another function -> number of samples

    def add_sample(self, function):
        part = next((name for name, pattern in SHARES if re.match(pattern, function)), function)
        self.samples[part] = self.samples.get(part, 0) + 1

    def share(self, part):
        total = sum(self.samples.values())
        return self.samples.get(part, 0) / total if total else None

    def rest(self):
        """The most frequent functions outside SHARES."""
        names = [name for name, _ in SHARES]
        others = sorted(((self.share(name), name) for name in self.samples if name not in names), reverse=True)
        return ", ".join("%s %.0f" % (name, 100 * share) for share, name in others[:2] if share >= 0.02)


class Layers:
    """A workload, its steps and their measurements."""

    def __init__(self, workload, options, files, folder):
        self.workload, self.options, self.files, self.folder = workload, options, files, folder
        self.sections = split_sections(read_text(files.cfg))
        self.shapes = shapes(self.sections)
        self.cpus = {options.cpu}
        self.ours = [os.path.join(options.build, "run_inference"), "--json", "--quiet", "--fork", "darknet",
                     "--cpu", options.level, "--algorithm", options.algorithm]
        self.steps = self.read_steps()
        self.by_layer = {layer: step for step in self.steps for layer in step.layers}

    # ---- ours ----

    def our_command(self, *more):
        return self.ours + [*more, self.files.cfg, self.files.weights, self.files.ppm]

    def read_steps(self):
        """Reads the steps from --report, where a layer computed inside another names it."""
        done = subprocess.run(self.our_command("--report"), capture_output=True, text=True, check=True)
        self.plan = json.loads(done.stdout)["plan"]
        inside, found = {}, {}
        for line in done.stderr.splitlines():
            match = re.match(r"  (\d+) +(\S.*?) +[\d.]+ +(\d+) +[-\d.]+ +[-\d]+$", line)
            if not match:
                continue
            layer, text, macs = int(match.group(1)), match.group(2), int(match.group(3))
            outer = re.search(r"\(in (\d+)\)", text)
            inside[layer] = int(outer.group(1)) if outer else layer
            found[layer] = ("winograd" in text, macs)
        members = {}
        for layer in inside:
            last = layer
            while inside[last] != last:
                last = inside[last]
            members.setdefault(last, []).append(layer)
        return [Step(sorted(layers), "winograd" if any(found[layer][0] for layer in layers) else "direct",
                     sum(found[layer][1] for layer in layers)) for _, layers in sorted(members.items())]

    def run_ours(self, repeat, *before):
        """Runs our program and returns the intervals of every run."""
        path = os.path.join(self.folder, "marks")
        command = [*before, *self.our_command("--marks", path, "--repeat", str(repeat))]
        programs.run(command, self.cpus, self.folder)
        return self.read_marks(path, repeat)

    def read_marks(self, path, repeat):
        """Intervals in nanoseconds with their steps, run by run; runs have equally many lines."""
        with open(path, encoding="utf-8") as file:
            words = [line.split() for line in file]
            lines = [(int(index), int(start), int(end)) for index, _, start, end in words]
        n = len(lines) // repeat
        if n * repeat != len(lines):
            raise programs.Failed("--marks: the runs differ")
        return [[(start, end, self.by_layer[index]) for index, start, end in lines[i:i + n] if index in self.by_layer]
                for i in range(0, len(lines), n)]

    def time_ours(self):
        """Each step's least time over the runs of a process: other load only adds."""
        for run in self.run_ours(self.workload.repeat):
            sums = {}
            for start, end, step in run:
                sums[step] = sums.get(step, 0) + (end - start) / 1e6
            for step, ms in sums.items():
                step.ms = ms if step.ms is None else min(step.ms, ms)

    def sample_ours(self):
        """Samples the running function every 0.1 ms with perf; --marks gives the step."""
        data = os.path.join(self.folder, "perf.data")
        # repeats for three seconds
        repeat = min(1000, 1 + int(3000 / sum(step.ms for step in self.steps if step.ms)))
        record = ["perf", "record", "-o", data, "-e", "cpu-clock", "-F", "10000", "-k", "CLOCK_MONOTONIC"]
        runs = self.run_ours(repeat, *record)
        intervals = sorted((interval for run in runs for interval in run), key=lambda interval: interval[0])
        starts = [interval[0] for interval in intervals]
        script = ["perf", "script", "-i", data, "--ns", "-F", "time,ip,sym"]
        for line in subprocess.run(script, capture_output=True, text=True, check=True).stdout.splitlines():
            match = re.match(r"\s*(\d+)\.(\d+): +[0-9a-f]+ (\S+)", line)
            if not match:
                continue
            at = int(match.group(1)) * 10 ** 9 + int(match.group(2).ljust(9, "0"))
            i = bisect.bisect_right(starts, at) - 1
            if i >= 0 and at < intervals[i][1]:
                intervals[i][2].add_sample(match.group(3))

    # ---- ncnn ----

    def time_theirs(self, ncnn):
        """With NCNN_BENCHMARK, ncnn prints a line for each layer on stderr; names start with
        Darknet's numbers."""
        command = ncnn.command(self.files, self.files.ppm, self.workload.repeat)
        with open(os.path.join(self.folder, "lines"), "w+", encoding="utf-8", errors="replace") as lines:
            if programs.start(command, self.cpus, lines).wait() != 0:
                raise programs.Failed("ncnn fails")
            lines.seek(0)
            text = lines.read()
        least, sums = {}, {step: 0 for step in self.steps}
        for name, ms in re.findall(r"(?m)^\w+ +(\d+_\S+) +([\d.]+)ms", text):
            least[name] = min(least.get(name, float("inf")), float(ms))
        for name, ms in least.items():
            step = self.by_layer.get(int(name.split("_")[0]))
            if step:
                sums[step] += ms
        for step, ms in sums.items():
            step.theirs = ms if step.theirs is None else min(step.theirs, ms)

    # ---- the table ----

    def kind(self, layer):
        """A short name of the layer's kind."""
        section, (c, h, w) = self.sections[1 + layer], self.shapes[layer]
        name = section_name(section)
        size, stride, groups = (cfg_number(section, key, 1) for key in ("size", "stride", "groups"))
        if name != "convolutional":
            return {"maxpool": "max%d/%d" % (size, stride), "shortcut": "add"}.get(name, name)
        return "%s%dx%d%s %d" % ("dw" if groups > 1 else "", size, size, "/%d" % stride if stride > 1 else "", c)

    def shape_before(self, layer):
        if layer > 0:
            return self.shapes[layer - 1]
        net = self.sections[0]
        return cfg_number(net, "channels", 3), cfg_number(net, "height"), cfg_number(net, "width")

    def megabytes(self, step):
        """Bytes of input, stored weights and output of a step, each once: the least traffic."""
        def floats(shape):
            return shape[0] * shape[1] * shape[2]
        total = floats(self.shape_before(step.layers[0])) + floats(self.shapes[step.layers[-1]])
        for layer in step.layers:
            section = self.sections[1 + layer]
            if section_name(section) == "convolutional":
                size = cfg_number(section, "size", 1)
                filters, channels = self.shapes[layer][0], self.shape_before(layer)[0]
                total += filters * channels * size * size // cfg_number(section, "groups", 1)
        return total * 4 / 1e6

    def computed(self, step):
        """Multiply-adds as computed: Winograd computes complete tiles of 4 x 4 outputs with 36
        products each."""
        if step.algorithm != "winograd":
            return step.macs
        _, h, w = self.shapes[step.layers[0]]
        return step.macs * 36 / 144 * (-(-h // 4) * 4 * (-(-w // 4) * 4)) / (h * w)

    def lost(self, step, peak):
        """Milliseconds beyond the computed multiply-adds at peak speed."""
        return step.ms - self.computed(step) / (peak * 1e6)

    def lines(self, peak):
        total = sum(step.ms for step in self.steps if step.ms)
        for step in self.steps:
            if not step.ms or step.ms < 0.002:
                continue
            products = step.share("products")
            busy = products * step.ms if products else None
            c, h, w = self.shape_before(step.layers[0])
            yield [" ".join(str(layer) for layer in step.layers), " ".join(self.kind(layer) for layer in step.layers),
                   "%dx%dx%d" % (h, w, c), step.algorithm if step.macs else "", number(step.macs / 1e6, 0),
                   number(step.ms, 3), number(100 * step.ms / total, 1), percent_of_peak(step.macs, step.ms, peak),
                   *(number(share and 100 * share, 0) for share in (step.share(part) for part, _ in SHARES)),
                   step.rest(),
                   "" if step.share("depthwise") else percent_of_peak(self.computed(step), busy, peak),
                   number(self.megabytes(step), 2), number(self.megabytes(step) / step.ms, 1),
                   number(self.lost(step, peak), 3), number(step.theirs, 3), ratio(step.ms, step.theirs)]

    def class_lines(self, peak):
        """Sums over the layers of a kind."""
        sums = {}
        for step in self.steps:
            if step.ms:
                name = " ".join(self.kind(layer).split()[0] for layer in step.layers)
                name += ", winograd" if step.algorithm == "winograd" else ""
                old = sums.get(name, (0, 0, 0, 0))
                sums[name] = (old[0] + 1, old[1] + step.ms, old[2] + (step.theirs or 0), old[3] + step.macs)
        for name, (n, ms, theirs, macs) in sorted(sums.items(), key=lambda item: -item[1][1]):
            yield [name, str(n), number(ms, 3), number(theirs, 3), ratio(ms, theirs), percent_of_peak(macs, ms, peak)]


HEADS = ["layers", "kind", "input", "algorithm", "MMAC", "ms", "% of all", "% of peak",
         *("%s %%" % part for part, _ in SHARES), "rest %", "products % of peak", "MB", "GB/s", "lost ms", "ncnn ms",
         "ours / ncnn"]
CLASS_HEADS = ["kind", "layers", "ms", "ncnn ms", "ours / ncnn", "% of peak"]


def measure_peak(options):
    """The level's peak in 1e9 multiply-adds a second, from kernel_check."""
    command = [os.path.join(options.build, "kernel_check"), "--bench", "--cpu", options.level, "--shape", "yolov2/12"]
    with tempfile.TemporaryDirectory(prefix="layers-") as folder:
        text = programs.run(command, {options.cpu}, folder).output
    return float(re.search(r"%s ([\d.]+)" % options.level, text.splitlines()[0]).group(1)) / 2


def find_ncnn(options):
    for tree in filter(None, os.environ.get("MAFAT_NCNN", "").split(":")):
        ncnn = programs.Ncnn(options.build, tree)
        if ncnn.tells_layers() and ncnn.level == options.level:
            return ncnn
    print("layers.py: no ncnn: MAFAT_NCNN names no tree of level %s that was built with NCNN_BENCHMARK" % options.level,
          file=sys.stderr)
    return None


def measure(workload, options, ncnn, folder):
    files = prepare(workload, folder, os.path.join(options.build, "make_weights"))
    layers = Layers(workload, options, files, folder)
    if ncnn:
        ncnn.prepare(files, folder)
    for _ in range(options.runs):
        layers.time_ours()
        if ncnn:
            layers.time_theirs(ncnn)
    if shutil.which("perf"):
        layers.sample_ours()
    return layers


def describe(layers, step):
    return "%s, %s: %s" % (layers.workload.name, " ".join(str(layer) for layer in step.layers),
                           " ".join(layers.kind(layer) for layer in step.layers))


def print_worst(everything, peak, n):
    """Shares of the workload's time, so that small networks weigh as much as large ones."""
    totals = {layers: sum(step.ms or 0 for step in layers.steps) for layers in everything}
    steps = [(layers, step) for layers in everything for step in layers.steps if step.ms]
    for title, lost in (("Most time above the peak's", lambda layers, step: layers.lost(step, peak)),
                        ("Most time above ncnn's", lambda layers, step: step.ms - step.theirs if step.theirs else 0)):
        ranked = sorted(((lost(layers, step) / totals[layers], layers, step) for layers, step in steps),
                        key=lambda entry: -entry[0])
        print("\n## %s\n" % title)
        print(table(["layers", "lost, % of the network's time", "ms", "% of peak", "ncnn ms"],
                    [[describe(layers, step), number(100 * share, 1), number(step.ms, 3),
                      percent_of_peak(step.macs, step.ms, peak), number(step.theirs, 3)]
                     for share, layers, step in ranked[:n]]), end="")


def main():
    options = read_options()
    everything = []
    try:
        peak = measure_peak(options)
        ncnn = find_ncnn(options)
        print("# Where the time goes, layer by layer\n\nlevel %s, --algorithm %s, one thread; peak %.1f GMAC/s" % (
            options.level, options.algorithm, peak))
        for workload in options.workloads:
            with tempfile.TemporaryDirectory(prefix="layers-") as folder:
                layers = measure(workload, options, ncnn, folder)
            everything.append(layers)
            ours, theirs = (sum(getattr(step, of) or 0 for step in layers.steps) for of in ("ms", "theirs"))
            print("\n## %s\n\nplan %s; sum of layers %.2f ms, ncnn %.2f ms\n" % (
                workload.title, layers.plan, ours, theirs))
            print(table(HEADS, list(layers.lines(peak))))
            print(table(CLASS_HEADS, list(layers.class_lines(peak))), end="", flush=True)
        print_worst(everything, peak, options.worst)
    except (Unavailable, programs.Failed) as reason:
        print("layers.py: %s" % reason, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
