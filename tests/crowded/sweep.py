#!/usr/bin/env python3
"""Opens models in cgroups that are too small for them, or hardly large enough: none may be killed.

The files of files.py are opened in cgroups of 4 to 64 MB, and real models in cgroups of 60 to 100 %
of their predicted least memory. Each is predicted and run. The exit status must be 0, 2 or 3, never
a signal, and the peak at most the predicted charge. Needs root and cgroups v1. BUILD names the build
folder, MAFAT_MODELS the folder of real models. Exit status: 0 all passed, 1 a run failed, 77 cannot
be tried here.

  --sample          a few of each
  --only PATTERN    files and models whose names contain it
  --files FOLDER    where the files are kept (default: crowded in the build folder)
  --verbose         a line for each run"""

import argparse
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "limits")]

import files   # noqa: E402
from groups import BUILD, Group, why_not, write   # noqa: E402

PROGRAM = os.path.realpath(BUILD + "/run_inference")
LAUNCHER = os.path.realpath(BUILD + "/launcher")
LIMITS_MB = [4, 5, 6, 8, 12, 16, 24, 32, 48, 64]
PERCENT = [60, 65, 70, 75, 80, 85, 90, 95, 98, 100]
MODELS = ["onnx/yolox_nano.onnx", "onnx/FastestDet.onnx", "onnx/ultraface_RFB-320.onnx", "onnx/yunet_n_320_320.onnx",
          "onnx/light_shufflenet.onnx", "onnx/micro_kws_m_static_qdq.onnx", "tflite/mobilenet_v1_0.25_128_float.tflite",
          "tflite/mobilenet_v2_1.0_224_quant.tflite", "tflite/vww_96_int8.tflite", "tflite/kws_ref_model.tflite",
          "tflite/ssd_mobilenet_v1_quant.tflite", "yolo-fastest-1.1.cfg"]
SAMPLE = (["scalars_5.onnx", "properties_small.onnx", "relus_3.onnx", "tensors.tflite", "sections.cfg",
           "lines.names"], [4, 8, 16],
          ["onnx/yunet_n_320_320.onnx", "tflite/kws_ref_model.tflite"], [60, 80, 95, 100])


def stay_on_one_processor():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def run(arguments, limit, seconds=300, prepare=None):
    """Exit status (negative: a signal), the answer, the message, and the group's peak. Too slow counts as killed."""
    with Group("mafat-crowded", limit) as group:
        write(group.folder + "/memory.swappiness", "0")   # another test's swap is none of ours
        words = ["timeout", "-s", "KILL", str(seconds), LAUNCHER, group.folder, PROGRAM, "--json"]
        done = subprocess.run(words + arguments, preexec_fn=prepare,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        peak = group.read("max_usage_in_bytes")
    try:
        answer = json.loads(done.stdout.splitlines()[0])
    except (IndexError, ValueError):
        answer = {}
    return done.returncode, answer, done.stderr.decode(errors="replace").strip(), peak


def charge_of(answer):
    """The predicted charge in the JSON of a run or a prediction; None: there is none."""
    return answer.get("predicted_charge_bytes") or answer.get("memory", {}).get("charge_bytes")


class Sweep:
    def __init__(self, verbose):
        self.verbose, self.bad, self.n = verbose, 0, 0

    def judge(self, name, found, charge=None):
        status, _, message, peak = found
        why = None
        if status not in (0, 2, 3):
            why = "killed" if status in (-9, 137) else "status %d: %s" % (status, message[:200])
        elif charge and peak > charge:
            why = "peak %d above the predicted charge %d" % (peak, charge)
        self.n += 1
        self.bad += why is not None
        if why or self.verbose:
            print("%s crowded %s: %s (status %d, peak %.2f MiB%s) %s" % (
                  "FAIL" if why else "ok", name, why or "as it should be", status,
                  peak / 1048576, ", predicted %.2f" % (charge / 1048576) if charge else "", message[:160]), flush=True)

    def try_both(self, name, arguments, inputs, limit):
        predicted = run(["--predict"] + arguments, limit)
        self.judge("%s, predicted" % name, predicted)
        # Each processor on which the program runs charges up to 64 pages ahead. The prediction counts those of
        # one. The kernel takes the others' back when the group reaches its limit, but not in a larger group.
        larger = limit is None or limit > (charge_of(predicted[1]) or 0)
        arguments = ["--threads", str(os.cpu_count())] + arguments if larger else arguments
        found = run(arguments + inputs, limit, prepare=stay_on_one_processor if larger else None)
        self.judge("%s, run" % name, found, charge_of(found[1]) if found[0] == 0 else None)

    def try_file(self, path, limits):
        name, arguments = os.path.basename(path), ["--plan-time", "1"] + files.command(path)
        inputs = ["--input", os.path.join(os.path.dirname(path), "input.bin")]
        self.try_both("%s without a limit" % name, arguments, inputs, None)
        for mb in limits:
            self.try_both("%s in %d MB" % (name, mb), arguments, inputs, mb << 20)

    def try_model(self, arguments, percents, folder):
        name = os.path.basename(arguments[0])
        status, answer, message, _ = run(["--predict", "--input", "/dev/zero"] + arguments, None)
        if status not in (0, 3):
            return self.judge(name, (1, answer, message, 0))
        path = os.path.join(folder, "model_input.bin")
        shape = answer["inputs"][0]
        n = 8 if shape["type"] == "int64" else 1 if shape["type"] in ("int8", "uint8") else 4
        for d in shape["dims"]:
            n *= d
        with open(path, "wb") as file:
            file.write(bytes(n))
        _, _, message, _ = run(["--memory", "1M", "--input", path] + arguments, None)
        least = int(message.split("--memory ")[-1].split("K")[0]) << 10 if "would do" in message else charge_of(answer)
        for percent in percents:
            self.try_both("%s in %d %% of %.2f MiB" % (name, percent, least / 1048576), arguments, ["--input", path],
                          least * percent // 100 // 4096 * 4096)


def model_arguments(path):
    weights = path[:-4] + ".weights"
    return [path, weights] if path.endswith(".cfg") else [path]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--files", default=BUILD + "/crowded")
    parser.add_argument("--verbose", action="store_true")
    o = parser.parse_args()
    reason = why_not()
    if reason:
        print("skip crowded: " + reason)
        sys.exit(77)
    names, limits, models, percents = SAMPLE if o.sample else (list(files.FILES), LIMITS_MB, MODELS, PERCENT)
    sweep = Sweep(o.verbose)
    for path in files.write(o.files, [name for name in names if o.only in name]):
        sweep.try_file(path, limits)
    root = os.environ.get("MAFAT_MODELS", "")
    for name in models:
        path = os.path.join(root, name)
        if o.only in name and os.path.exists(path):
            sweep.try_model(model_arguments(path), percents, o.files)
        elif o.only in name:
            print("skip crowded %s: MAFAT_MODELS names no folder with it" % name)
    print("%s crowded: %d of %d runs as they should be" % (
        "FAIL" if sweep.bad or not sweep.n else "ok", sweep.n - sweep.bad, sweep.n))
    sys.exit(1 if sweep.bad or not sweep.n else 0)


if __name__ == "__main__":
    main()
