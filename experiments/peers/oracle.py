#!/usr/bin/env python3
"""Compares every output of ONNX and TFLite files with onnxruntime's and the TFLite library's.

oracle.py [--verbose] [--operators] [MODEL...]

Models: all of MAFAT_MODELS/onnx and MAFAT_MODELS/tflite, or the named ones, on two pictures (or
random values). An error is the largest difference in an output relative to its largest value: at
most 2e-5 with direct convolutions, 1e-4 with --algorithm auto, 1e-5 for softmax outputs. Quantised
ONNX files, and a quantised twin of each float file (quantize_onnx.py), must be within one step of
onnxruntime. For quantized TFLite files it prints by how many steps the library differs, also on
recorded samples; its kernels differ from the written rule. For hybrid files, whose inputs TFLite
quantises, it prints the difference; the largest output must be the same one. Hybrid files must be
within 2e-5 of the same file with dequantized weights in double precision (double_tflite.py).
In deep networks with random weights one step can become many, and onnxruntime differs as much from
itself, optimised or not. With --operators, quantised ONNX and TFLite files are therefore compared
operator by operator, each with the other program's values as inputs (TFLite's also with random
ones): every tensor must be within one step.

Exit status: 0 all agree; 1 one differs, or does not run; 2 misuse."""

import argparse
import array
import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True   # nothing but results is written into the tree

import programs
from cut_tflite import Cut, widen
from flatbuffer import integers
from machine import ROOT
from model_works import ModelFiles, Refused
from programs import Failed
from run import difference
from workloads import PICTURE, Unavailable

PICTURES = [PICTURE, os.path.join(os.path.dirname(PICTURE), "person.jpg")]
BARS = {"direct": 2e-5, "auto": 1e-4}
SOFTMAX_BAR = 1e-5
# in the message that refuses a file
QUANTISED = re.compile(r"quanti|\bu?int(8|16)\b|QLinear|hybrid", re.IGNORECASE)
CUTTER = os.path.join(programs.HERE, "cut_onnx.py")
QUANTISER = os.path.join(programs.HERE, "quantize_onnx.py")
STEP_BAR = 1.01
# Float graphs run as written: optimised, onnxruntime differs from itself. Integer kernels exist
# only in optimised graphs.
PEERS = {".onnx": (programs.OnnxRuntime, ["--plain"]), ".tflite": (programs.TFLite, [])}


def is_softmax(values, tensor):
    """True if values along the last dimension other than 1 sum up to 1."""
    size = next((n for n in reversed(tensor.dims) if n > 1), 1)
    return size > 1 and min(values) >= 0 and all(
        abs(sum(values[at:at + size]) - 1) < 1e-4 for at in range(0, len(values), size))


def is_quantised(path):
    with open(path, "rb") as file:
        return path.endswith(".onnx") and b"QuantizeLinear" in file.read()


def as_steps(ours, theirs, tensor):
    """Largest difference of an output in steps. It may hold integers, which onnxruntime returns and
    mafat dequantizes, or dequantized values."""
    if tensor.scale is not None:
        return max(abs(round(real / tensor.scale) + tensor.zero - number) for real, number in zip(ours, theirs))
    return max(abs(a - b) for a, b in zip(ours, theirs)) / step_of(theirs)


def read_array(kind, path):
    values = array.array(kind)
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values


def step_of(values):
    """Estimates the quantization step: the least distance of two values, or 1/255 of the range if
    that is larger."""
    found = sorted(set(values) | {0.0})
    reach = (found[-1] - found[0]) / 255
    return max(min((b - a for a, b in zip(found, found[1:]) if b - a > reach / 2), default=0), reach) or 1.0


def has_same_largest(ours, theirs):
    """True if their largest value is our largest, within two steps."""
    return ours[theirs.index(max(theirs))] >= max(ours) - 2 * STEP_BAR * step_of(ours)


class Files:
    """A model and its input."""

    def __init__(self, model, raw):
        self.tflite, self.raw = model, raw


class Oracle:
    """The available peers, and the results."""

    def __init__(self, build, folder, is_verbose, has_operators):
        self.build, self.folder, self.is_verbose, self.has_operators = build, folder, is_verbose, has_operators
        self.cpus = os.sched_getaffinity(0)
        self.mafat, self.failed = programs.Mafat(build), False
        self.peers = {}
        for suffix, (kind, options) in PEERS.items():
            try:
                self.peers[suffix] = (kind(build), options)
            except Unavailable as reason:
                print("skip oracle *%s: %s: %s" % (suffix, kind.name, reason))

    def compare_steps(self, files):
        """Largest difference of each output in steps."""
        peer, _ = self.peers[".onnx"]
        expected, found = self.outputs(peer, files, []), self.outputs(self.mafat, files, [])
        if expected is None or found is None:
            raise Failed("%s puts out another number of values" % peer.name)
        return [as_steps(*each) for each in zip(found, expected, files.outputs)]

    def run_piece(self, piece, model, folder):
        """For each output, the number of differing values and the largest difference in steps."""
        dumps = {name: os.path.join(folder, "dump-%d" % k) for k, name in enumerate(piece["outputs"])}
        words = [self.mafat.program, "--json", "--quiet"]
        for option, files in (("--input", piece["inputs"]), ("--dump-output", dumps)):
            words += [word for name, path in files.items() for word in (option, "%s=%s" % (name, path))]
        programs.run(words + [model], self.cpus, self.folder)
        told = {one.name: one for one in ModelFiles(folder, model, self.mafat.program).outputs}
        for name, path in dumps.items():
            numbers = read_array("B" if piece["outputs"][name].endswith(".uint8.raw") else "b", piece["outputs"][name])
            reals, tensor = read_array("f", path), told[name]
            if tensor.n != len(reals) or tensor.n != len(numbers):
                raise Failed("%s: expected %d numbers, found %d and %d" % (name, tensor.n, len(reals), len(numbers)))
            off = [step for step in (abs(round(a / tensor.scale) + tensor.zero - b) for a, b in zip(reals, numbers)) if step]
            yield name, len(off), max(off, default=0)

    def tell_operators(self, name, picture, files):
        """Prints a line for each operator of a quantized file that differs too much."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            done = subprocess.run([programs.DEBIAN_PYTHON, CUTTER, files.model, files.raw, folder], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, BUILD=self.build))
            if done.returncode != 0:
                raise Failed(programs.last_line(done.stderr, done.returncode))
            rows = [row for k, piece in enumerate(json.loads(done.stdout))
                    for row in self.run_piece(piece, os.path.join(folder, "piece-%d.onnx" % k), folder)]
        self.tell_rows(name, picture, rows, "")

    def tell_rows(self, name, picture, rows, more):
        """Prints tensors with the number of differing values and the largest difference in steps."""
        bad = ["     %s%s: %d steps" % ("FAIL " if most > 1 else "", tensor, most) for tensor, n, most in rows
               if most > 1 or (self.is_verbose and n)]
        self.failed |= any(most > 1 for _, _, most in rows)
        print("%-4s oracle %-44s %-11s %3d tensors  %d steps (at most 1), %d numbers are off%s" % (
            "FAIL" if any(most > 1 for _, _, most in rows) else "ok", name, picture, len(rows), max(most for _, _, most in rows),
            sum(n for _, n, _ in rows), more), *bad, sep="\n", flush=True)

    def tell_steps(self, name, picture, files, steps):
        bad = ["     %s%s: %.2f steps" % ("FAIL " if step > STEP_BAR else "", output.name, step)
               for output, step in zip(files.outputs, steps) if step > STEP_BAR or self.is_verbose]
        is_bad = max(steps) > STEP_BAR
        self.failed |= is_bad
        print("%-4s oracle %-44s %-11s %2d output%s  %.2f steps (at most 1)" % (
            "FAIL" if is_bad else "ok", name, picture, len(files.outputs), " " if len(files.outputs) == 1 else "s", max(steps)), *bad, sep="\n", flush=True)

    def run_floats(self, path, files):
        """Outputs in double precision of a hybrid file with dequantized weights."""
        twin, dump = os.path.join(self.folder, "widened.tflite"), os.path.join(self.folder, "dump")
        widen(path, twin)
        programs.run([programs.DEBIAN_PYTHON, os.path.join(programs.HERE, "double_tflite.py"), twin, files.raw, dump], self.cpus, self.folder)
        return files.split(read_array("f", dump))

    def tell_library(self, name, picture, files, kind):
        """Difference of TFLite from an integer file ("maps") or a hybrid one ("weights"), and of
        ours from its float twin."""
        algorithm = ["--algorithm", "direct"] if kind == "weights" else []
        expected, found = self.outputs(self.peers[".tflite"][0], files, []), self.outputs(self.mafat, files, algorithm)
        if expected is None or found is None:
            raise Failed("TFLite puts out another number of values")
        error = max(difference([ours], [theirs]) for ours, theirs in zip(found, expected))
        if kind == "weights":
            of_floats = max(difference([ours], [theirs]) for ours, theirs in zip(found, self.run_floats(files.model, files)))
            is_bad, why = of_floats > BARS["direct"], ""
            text = "hybrid, %.1e off its floats in double precision (at most %.0e), TFLite %.1e" % (of_floats, BARS["direct"], error)
        else:
            steps = max(max(abs(a - b) for a, b in zip(ours, theirs)) / step_of(theirs) for ours, theirs in zip(found, expected))
            is_bad, why = not all(has_same_largest(ours, theirs) for ours, theirs in zip(found, expected)), ", which is another"
            text = "TFLite off by %.0f steps, %.1e of the largest" % (steps, error)
        self.failed |= is_bad
        print("%-4s oracle %-44s %-11s %2d output%s  %s%s" % (
            "FAIL" if is_bad else "ok", name, picture, len(files.outputs), " " if len(files.outputs) == 1 else "s", text, why if is_bad else ""), flush=True)

    def run_cut(self, files, cut, inputs, outputs):
        """The library's outputs for `files`. inputs: their files."""
        with open(files.raw, "wb") as file:
            for path in inputs:
                with open(path, "rb") as one:
                    file.write(one.read())
        dump, peer = os.path.join(self.folder, "dump"), self.peers[".tflite"][0]
        programs.run(peer.command(files, files.raw, 1, [], dump), self.cpus, self.folder, env=getattr(peer, "environment", None))
        reals, at = read_array("f", dump), 0
        for one in outputs:
            yield one, one.numbers(reals[at:at + one.n])
            at += one.n

    def run_operator(self, model, inputs, outputs):
        """mafat's outputs of one operator. inputs: files, in the order of its maps."""
        told = ModelFiles(self.folder, model, self.mafat.program)
        words = [self.mafat.program, "--json", "--quiet", "--decode", "none"]
        for tensor, path in zip(told.inputs, inputs):
            words += ["--input", "%s=%s" % (tensor.name, path)]
        dumps = [os.path.join(self.folder, "put-%d" % k) for k in range(len(outputs))]
        for tensor, path in zip(told.outputs, dumps):
            words += ["--dump-output", "%s=%s" % (tensor.name, path)]
        programs.run(words + [model], self.cpus, self.folder)
        return [one.values(one.numbers(read_array("f", path))) for one, path in zip(outputs, dumps)]

    def tell_pieces(self, name, shown, files):
        """Compares each operator of a TFLite file with the library, on the library's values and on
        random ones."""
        cut, rows, draw = Cut(files.model), [], random.Random(1)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            whole = Files(os.path.join(folder, "whole.tflite"), os.path.join(folder, "in.raw"))
            cut.write(whole.tflite, cut.made())
            known = {t: files.raw for t in cut.inputs}
            for one, numbers in self.run_cut(whole, cut, [files.raw], cut.made()):
                known[one.index] = os.path.join(folder, "%d.raw" % one.index)
                with open(known[one.index], "wb") as file:
                    file.write(numbers)
            for operator, inputs, outputs in cut.pieces():
                piece = Files(os.path.join(folder, "piece.tflite"), os.path.join(folder, "in.raw"))
                cut.write(piece.tflite, outputs, inputs, operator)
                drawn = [os.path.join(folder, "drawn-%d.raw" % k) for k in range(len(inputs))]
                for one, path in zip(inputs, drawn):
                    with open(path, "wb") as file:
                        if one.has_numbers():
                            file.write(draw.randbytes(one.n))
                        else:
                            array.array("f", (draw.uniform(-1, 1) for _ in range(one.n))).tofile(file)
                for given in ([known[one.index] for one in inputs], drawn):
                    expected = list(self.run_cut(piece, cut, given, outputs))
                    found = self.run_operator(piece.tflite, given, outputs)
                    for (one, theirs), ours in zip(expected, found):
                        off = [abs(a - b) for a, b in zip(ours, one.values(theirs)) if a != b]
                        rows.append((one.name, len(off), max(off, default=0)))
        self.tell_rows(name, shown, rows, " with what the library's put out and at random; %d of %d operators" % (len(list(cut.pieces())), len(cut.operators)))

    def make_twin(self, path, inputs):
        """The quantized twin of a float model; None if it cannot be quantized."""
        twin = os.path.join(self.folder, os.path.basename(path).replace(".onnx", "-quantized.onnx"))
        done = subprocess.run([programs.DEBIAN_PYTHON, QUANTISER, path, twin, *inputs], capture_output=True, text=True, check=False,
                              env=dict(os.environ, BUILD=self.build))
        if done.returncode != 0:
            print("skip oracle %s: %s" % (os.path.basename(twin), programs.last_line(done.stderr, done.returncode)), flush=True)
        return twin if done.returncode == 0 else None

    def run_twin(self, path, inputs):
        twin = self.make_twin(path, list(inputs.values()))
        if not twin:
            return
        files = ModelFiles(self.folder, twin, self.mafat.program)
        for name, raw in inputs.items():
            files.raw = raw
            self.tell_steps(os.path.basename(twin), name, files, self.compare_steps(files))

    def outputs(self, program, files, options):
        path = os.path.join(self.folder, "dump")
        values, written = array.array("f"), program.dumped(files, path)
        programs.run(program.command(files, files.raw, 1, options, path), self.cpus, self.folder, env=getattr(program, "environment", None))
        for each in written:
            with open(each, "rb") as file:
                values.frombytes(file.read())
            os.unlink(each)
        return files.split(values)

    def compare(self, files, suffix):
        """The error of every output for each algorithm, and which outputs are softmaxed."""
        peer, options = self.peers[suffix]
        expected = self.outputs(peer, files, options)
        if expected is None:
            raise Failed("%s puts out another number of values" % peer.name)
        found = {name: self.outputs(self.mafat, files, ["--algorithm", name]) for name in BARS}
        errors = {name: [difference([ours], [theirs]) for ours, theirs in zip(parts, expected)] for name, parts in found.items()}
        return errors, [is_softmax(values, tensor) for values, tensor in zip(expected, files.outputs)]

    def tell(self, name, picture, files, errors, softmaxed):
        """Prints a line for the model, and one for each output that differs too much or is
        requested."""
        bad = []
        for i, output in enumerate(files.outputs):
            bars = {algorithm: SOFTMAX_BAR if softmaxed[i] else bar for algorithm, bar in BARS.items()}
            text = "; ".join("%s %.1e (at most %.0e)" % (algorithm, errors[algorithm][i], bars[algorithm]) for algorithm in BARS)
            is_bad = any(errors[algorithm][i] > bars[algorithm] for algorithm in BARS)
            if is_bad or self.is_verbose:
                bad.append("     %s%s: %s" % ("FAIL " if is_bad else "", output.name, text))
            self.failed |= is_bad
        print("%-4s oracle %-44s %-11s %2d output%s  direct %.1e  auto %.1e%s" % (
            "FAIL" if any("FAIL" in line for line in bad) else "ok", name, picture, len(files.outputs), " " if len(files.outputs) == 1 else "s",
            max(errors["direct"]), max(errors["auto"]), "  softmaxed" if all(softmaxed) else ""), *bad, sep="\n", flush=True)

    def run_model(self, path):
        name, suffix = os.path.basename(path), os.path.splitext(path)[1]
        if suffix not in self.peers:
            return
        try:
            files = ModelFiles(self.folder, path, self.mafat.program)
            is_picture, fed, samples = files.inputs[0].picture(), {}, os.path.join(os.path.dirname(os.path.dirname(path)), "samples")
            given = [(os.path.basename(picture) if is_picture else "numbers", picture, None) for picture in (PICTURES if is_picture else PICTURES[:1])]
            for shown, picture, recorded in given + [(sample, None, file) for sample, file in files.recorded(samples)]:
                files.raw = fed[shown] = os.path.join(self.folder, shown + ".raw")
                if recorded:
                    files.feed_recorded(recorded)
                else:
                    files.feed(picture, self.build, samples)
                numbers = integers(path) if suffix == ".tflite" else ""
                if numbers == "maps" and self.has_operators:
                    self.tell_pieces(name, shown, files)
                elif numbers:
                    self.tell_library(name, shown, files, numbers)
                elif is_quantised(path) and self.has_operators:
                    self.tell_operators(name, shown, files)
                elif is_quantised(path):
                    self.tell_steps(name, shown, files, self.compare_steps(files))
                else:
                    self.tell(name, shown, files, *self.compare(files, suffix))
            if suffix == ".onnx" and not is_quantised(path) and not self.has_operators:
                self.run_twin(path, fed)
        except Refused as reason:
            text = str(reason).replace(os.path.dirname(path) + "/", "").replace("run_inference: ", "")
            left_out = QUANTISED.search(text.replace(name, "", 1))
            self.failed |= not left_out
            print("%-4s oracle %s" % ("skip" if left_out else "FAIL", text), flush=True)
        except (Failed, Unavailable) as reason:
            self.failed = True
            print("FAIL oracle %s: %s" % (name, reason), flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--verbose", action="store_true", help="every output")
    parser.add_argument("--operators", action="store_true", help="quantised files operator by operator")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    options = parser.parse_args()
    build = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
    models = [os.path.abspath(path) for path in options.models]
    folder = os.environ.get("MAFAT_MODELS")
    if not models and not folder:
        print("skip oracle: MAFAT_MODELS does not name a folder with ONNX and TFLite files")
        return 0
    if not all(os.path.exists(path) for path in PICTURES):
        print("skip oracle: its pictures are missing; apt-get install darknet")
        return 0
    models = models or sorted(glob.glob(os.path.join(folder, "onnx", "*.onnx")) + glob.glob(os.path.join(folder, "tflite", "*.tflite")))
    os.makedirs(os.path.join(build, "peers"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="oracle-", dir=os.path.join(build, "peers")) as work:
        oracle = Oracle(build, work, options.verbose, options.operators)
        for model in models:
            oracle.run_model(model)
    return 1 if oracle.failed else 0


if __name__ == "__main__":
    sys.exit(main())
