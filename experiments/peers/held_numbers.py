#!/usr/bin/env python3
"""Checks whether a program restricted to AVX2 gives the same outputs as with all instructions.

  held_numbers.py [MODEL.tflite ...]

Runs onnxruntime on a twin of each file (by twin_onnx.py; default: the quantised files of
MAFAT_MODELS/tflite that bench times) on random values, both ways, and mafat at both levels on the
file; counts the outputs that differ. Needs what `make bench` needs for its rows restricted to AVX2.
BUILD names the build folder. Exit status: 0 printed, 77 not possible here."""

import array
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from programs import DEBIAN_PYTHON, HERE, HeldOnnxRuntime, OnnxRuntime, Unavailable

BUILD = os.environ.get("BUILD", "build")
FILES = ["kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "mobilenet_v1_0.25_128_quant", "mobilenet_v2_1.0_224_quant",
         "mcunet-320kb-1mb_imagenet", "posenet_mobilenet_v1_100_257x257_integer_quant", "ssd_mobilenet_v1_quant"]


def outputs_of(program, twin, numbers, folder):
    dump = os.path.join(folder, "dump")
    subprocess.run(program.program + ["--dump", dump, twin, numbers], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, **program.environment))
    with open(dump, "rb") as file:
        return array.array("f", file.read())


def ours(model, numbers, level, folder, names):
    files = [os.path.join(folder, "%s.%d" % (level, i)) for i in range(len(names))]
    dumps = [word for name, path in zip(names, files) for word in ("--dump-output", "%s=%s" % (name, path))]
    subprocess.run([BUILD + "/run_inference", "--quiet", "--cpu", level, "--input", numbers] + dumps + [model], check=True,
                   stdout=subprocess.DEVNULL)
    return [open(path, "rb").read() for path in files]


def told_of(model):
    """Values for the input, and names of the outputs."""
    told = json.loads(subprocess.run([BUILD + "/run_inference", "--predict", "--json", "--quiet", model], check=True,
                                     capture_output=True).stdout)
    rng, wanted = random.Random(1), told["inputs"][0]
    n = math.prod(wanted["dims"])
    numbers = array.array("f", (rng.uniform(-1, 1) for _ in range(n))).tobytes() if wanted["type"] == "float32" else rng.randbytes(n)
    return numbers, [output["name"] for output in told["outputs"]]


def compare(model, free, held, folder):
    numbers, twin = os.path.join(folder, "numbers.raw"), os.path.join(folder, "twin.onnx")
    given, names = told_of(model)
    with open(numbers, "wb") as file:
        file.write(given)
    subprocess.run([DEBIAN_PYTHON, os.path.join(HERE, "twin_onnx.py"), model, twin], check=True, stdout=subprocess.DEVNULL)
    a, b = outputs_of(free, twin, numbers, folder), outputs_of(held, twin, numbers, folder)
    differ = [abs(x - y) for x, y in zip(a, b) if x != y]
    same = ours(model, numbers, "avx2", folder, names) == ours(model, numbers, "avx512", folder, names)
    print("%-48s onnxruntime: %6d of %6d outputs differ, by up to %g; mafat: %s" %
          (os.path.basename(model), len(differ), len(a), max(differ, default=0), "the same bits" if same else "OTHER BITS"), flush=True)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    folder = os.path.join(os.environ.get("MAFAT_MODELS", ""), "tflite")
    models = sys.argv[1:] or [os.path.join(folder, name + ".tflite") for name in FILES]
    try:
        free, held = OnnxRuntime(BUILD), HeldOnnxRuntime(BUILD)
    except Unavailable as why:
        print("held_numbers.py: %s" % why, file=sys.stderr)
        return 77
    missing = [model for model in models if not os.path.exists(model)]
    if missing:
        print("held_numbers.py: needs %s" % missing[0], file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory(dir=BUILD) as work:
        for model in models:
            compare(model, free, held, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
