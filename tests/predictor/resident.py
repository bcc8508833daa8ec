#!/usr/bin/env python3
"""Compares predicted and measured resident bytes of networks, plans, budgets and pictures.

The prediction must never be below, and at most 2 % and 256 KiB above. Without --whole a sample of
small networks. Weights are random, generated for one network at a time; BUILD names the build
folder, MAFAT_MODELS the folder with the trained Yolo-Fastest and with ONNX and TFLite files. Exit
status 0: all within the bar."""

import argparse
import csv
import glob
import json
import math
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

BUILD = os.environ.get("BUILD", "build")
CFGS = "/usr/share/darknet/cfg"
DOG = "/usr/share/darknet/data/dog.jpg"
SLACK_BYTES, SLACK_SHARE = 256 << 10, 0.02   # largest excess over the measurement
SAMPLE = ["cifar", "tiny", "yolov3-tiny"]
MODELS = ["onnx/yolox_nano.onnx", "onnx/FastestDet.onnx", "onnx/ultraface_RFB-320.onnx", "onnx/yunet_n_320_320.onnx",
          "tflite/mobilenet_v1_0.25_128_float.tflite", "tflite/vww_96_float.tflite", "tflite/kws_ref_model.tflite",
          # models of the sample
          "tflite/mobilenet_v1_0.25_128_quant.tflite", "tflite/ssd_mobilenet_v1_quant.tflite"]
RUNS_OF_A_CFG, RUNS_OF_OURS = 4, 20
MAY_LOCK = os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY


def bar(measured):
    return SLACK_BYTES + SLACK_SHARE * measured


# ---- pictures

def write_ppm(path, w, h, rng):
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (w, h) + rng.randbytes(w * h * 3))


def write_png(path, w, h, rng):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows = b"".join(b"\0" + rng.randbytes(w * 3) for _ in range(h))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def write_elements(path, n, kind):
    with open(path, "wb") as file:
        file.write((b"\x55" if kind in ("int8", "uint8") else struct.pack("<f", 0.5)) * n)


# ---- networks

class Network:
    """A cfg, its weights (both kinds if needed), and pictures, in a folder of their own."""

    repeats = 3   # with two threads: often enough that both find work
    type = "float32"   # type of the input

    def __init__(self, cfg, weights, folder, rng):
        self.cfg, self.folder = cfg, folder
        self.name = os.path.basename(cfg)[:-4]
        text = re.sub(r"[#;].*", "", open(cfg, encoding="utf-8").read())
        net = text[:text.find("[", text.find("]"))]
        self.n_layers = len(re.findall(r"^\s*\[", text, re.M)) - 1

        def value(key, default):
            found = re.findall(r"^\s*%s\s*=\s*(\d+)" % key, net, re.M)
            return int(found[-1]) if found else default
        self.shape = value("height", 0), value("width", 0), value("channels", 0)
        self.weights = {"darknet": weights or os.path.join(folder, "weights"), "packed": os.path.join(folder, "packed")}
        if not weights:
            subprocess.run([BUILD + "/make_weights", "--quiet", cfg, self.weights["darknet"]], check=True)
        self.make_pictures(rng)

    def make_pictures(self, rng):
        pictures = os.path.join(self.folder, "picture.")
        write_ppm(pictures + "ppm", 500, 375, rng)
        write_png(pictures + "png", 500, 375, rng)
        h, w, c = self.shape
        write_elements(pictures + "raw", h * w * c, self.type)
        self.pictures = {"ppm": pictures + "ppm", "png": pictures + "png", "raw": pictures + "raw"}
        jpegs = [DOG] if os.path.exists(DOG) else sorted(glob.glob("models/shapes/holdout/*.jpg"))
        if jpegs:
            self.pictures["jpeg"] = jpegs[0]
        if c not in (1, 3):
            self.pictures = {"raw": pictures + "raw"}

    def weights_of(self, kind):
        if kind == "packed" and not os.path.exists(self.weights[kind]):
            made = subprocess.run([BUILD + "/pack_weights", self.cfg, self.weights["darknet"], self.weights[kind]],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if made.returncode:
                return self.weights["darknet"]
        return self.weights[kind]

    def files(self, kind):
        return [self.cfg, self.weights_of(kind)]

    def close(self):
        shutil.rmtree(self.folder)


class Model(Network):
    """An ONNX or TFLite file, which contains its weights."""

    def __init__(self, path, folder, rng):
        self.path, self.folder, self.name = path, folder, os.path.basename(path)
        told = predicted(path)
        self.n_layers = told["network"]["layers"]
        self.repeats = max(3, 3 * 10**9 // max(told["macs"], 10**7))
        dims, self.type = told["inputs"][0]["dims"], told["inputs"][0]["type"]
        sizes = dims[1:] if len(dims) == 4 else [1, 1, math.prod(dims)]
        self.shape = (sizes[0], sizes[1], sizes[2]) if sizes[2] in (1, 3) else (sizes[1], sizes[2], sizes[0])
        self.make_pictures(rng)

    def files(self, kind):
        packed = os.path.join(self.folder, "packed")
        if kind == "packed" and not os.path.exists(packed):
            subprocess.run([BUILD + "/pack_weights", "--quiet", self.path, packed], check=True)
        return [packed if kind == "packed" else self.path]


def predicted(path):
    """The prediction for a model; None: it is not run."""
    done = subprocess.run([BUILD + "/run_inference", "--predict", "--json", "--quiet", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return json.loads(done.stdout) if done.returncode in (0, 3) else None


def run(network, options, kind, picture):
    """The run's JSON, or None, and the exit status."""
    words = [BUILD + "/run_inference", "--json", "--thresh", "0.9"] + options
    if "2" in options[1:2]:
        words += ["--repeat", str(network.repeats)]
    path = network.pictures[picture]
    words += ["--input", path] if picture == "raw" else []
    words += network.files(kind) + ([] if picture == "raw" else [path])
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = done.stdout.decode(errors="replace").splitlines()
    answer = json.loads(lines[-1]) if lines else {}
    warned = done.stderr.count(b"the difference is mostly in the")
    if answer and warned and judge(answer)[1] and answer["threads"] <= len(os.sched_getaffinity(0)):
        sys.exit("FAIL predictor: warns of what is within the bar: " + " ".join(words))
    return answer, done.returncode, " ".join(words[2:])


# ---- cases

def random_plan(network, rng):
    streams = rng.choice(["", "", ":loaded", ":streamed", ":streamed%d" % rng.randint(4, 16), ":loaded%d" % rng.choice([100, 300])])
    cut = rng.randint(1, max(1, network.n_layers - 1))
    first = rng.choice(["rows%d" % rng.randint(1, 8), "%dx%d" % (rng.randint(1, 5), rng.randint(1, 5)), "panels"])
    last = rng.choice(["1x1", "panels", "2x2", "rows%d" % rng.randint(1, 8), "panels:apart"])
    if first.startswith("rows"):
        first += rng.choice(["", "", ":bricks"])
    depthwise = rng.choice(["", "", ":dw%d" % rng.choice([0, 1, 4, 64])])
    group = (lambda text: (text if "x" in text or ":apart" in text else text + streams) + depthwise)
    if rng.random() < 0.2:
        return "%dx%d%s/NoCut" % (rng.randint(1, 5), rng.randint(1, 5), depthwise)
    return "%s/%d/%s%s" % (group(first), cut, group(last), rng.choice(["", "", "/inplace"]))


def needed(answer):
    found = re.search(r"--memory (\d+)K would do", json.dumps(answer))
    return int(found.group(1)) << 10 if found else None


def draws(network, n, rng):
    """n runs: (description, options, kind of weights, picture). Budgets are between the minimum and
    an unlimited run's need."""
    answer, status, _ = run(network, ["--memory", "1K"], "packed", next(iter(network.pictures)))
    floor = needed(answer) if status == 3 else None
    for i in range(n):
        kind = rng.choice(["darknet", "packed"])
        options = ["--threads", str(rng.choice([1, 1, 2])), "--algorithm", rng.choice(["auto", "auto", "direct", "winograd"])]
        options += ["--lock", "on"] if MAY_LOCK and i % 2 else []
        picture = rng.choice(sorted(network.pictures))
        if i == 0:
            yield "unlimited", ["--threads", "1"], "darknet", picture
        elif i % 3 == 1:
            yield "plan", options + ["--plan", random_plan(network, rng)], kind, picture
        elif floor:
            yield "budget", options + ["--memory", str(int(floor * rng.choice([1.0, 1.1, 1.3, 1.6, 2.2, 3, 5])))], kind, picture
        else:
            yield "unlimited", options, kind, picture


def model_files(folder, whole):
    found = sorted(glob.glob(folder + "/onnx/*.onnx") + glob.glob(folder + "/tflite/*.tflite"))
    return [path for path in found if whole or any(path.endswith("/" + name) for name in MODELS)]


def networks(whole, only):
    """(cfg, weights or None)"""
    models = os.environ.get("MAFAT_MODELS", "")
    for path in model_files(models, whole) if models else ():
        if not only or only in path:
            yield path, None, RUNS_OF_OURS if whole else 6
    ours = [("models/shapes/shapes.cfg", "models/shapes/shapes.weights")]
    ours += [(cfg, cfg[:-4] + ".weights") for cfg in sorted(glob.glob(os.path.join(models, "*.cfg"))) if models]
    for cfg, weights in ours:
        if not only or only in cfg:
            yield cfg, weights if os.path.exists(weights) else None, RUNS_OF_OURS if whole else 8
    for cfg in sorted(glob.glob(CFGS + "/*.cfg")):
        name = os.path.basename(cfg)[:-4]
        if (whole or name in SAMPLE or only) and (not only or only == name):
            yield cfg, None, RUNS_OF_A_CFG if whole else 6


def runnable(cfg):
    """True if the cfg is refused by name and line: then there is no prediction."""
    if not cfg.endswith(".cfg"):
        return predicted(cfg) is not None
    done = subprocess.run([BUILD + "/run_inference", "--json", "--quiet", cfg, "/dev/null", DOG], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=os.getcwd())
    return b".cfg:" not in done.stderr + done.stdout


def judge(answer):
    """Bytes above the measurement, and whether that is within the bar. A thread that finds no work,
    because the others have its processor, touches none of its memory; then the prediction is an
    upper bound."""
    over = answer["predicted_resident_bytes"] - answer["measured_resident_bytes"]
    idle = answer["threads"] > len(os.sched_getaffinity(0))
    return over, 0 <= over and (idle or over <= bar(answer["measured_resident_bytes"]))


def try_network(cfg, weights, n, folder, rng, rows):
    own = tempfile.mkdtemp(dir=folder)
    network = Network(cfg, weights, own, rng) if cfg.endswith(".cfg") else Model(cfg, own, rng)
    done = tries = 0
    while done < n and tries < 4 * n:
        for what, options, kind, picture in draws(network, n - done, rng):
            tries += 1
            answer, status, command = run(network, options, kind, picture)
            if status == 0:
                over, good = judge(answer)
                rows.append((over, good, network.name, what, answer["plan"], answer, picture, command))
                done += 1
            elif status not in (2, 3):  # an impossible plan, or too small a budget
                rows.append((0, False, network.name, what, "exit %d" % status, {}, picture, command))
                done += 1
    network.close()


def show(rows, n):
    print("%9s %10s %10s  %-18s %2s %-5s %-9s %s" % ("above", "predicted", "measured", "network", "th", "image", "what", "plan"))
    worst = sorted(rows, key=lambda r: -r[0])
    for over, _, name, what, plan, a, picture, _ in (worst if len(rows) <= 2 * n else worst[:n] + worst[-n:]):
        print("%9d %10d %10d  %-18s %2d %-5s %-9s %s" % (over, a.get("predicted_resident_bytes", 0), a.get("measured_resident_bytes", 0),
                                                         name, a.get("threads", 0), picture, what, plan[:70]))


def main():
    parser = argparse.ArgumentParser(description="predicted against measured resident bytes")
    parser.add_argument("--whole", action="store_true", help="every network, 200 runs and more (half an hour)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="this network alone")
    parser.add_argument("--csv", help="a line per run")
    o = parser.parse_args()
    rng, rows = random.Random(o.seed), []
    folder = tempfile.mkdtemp(prefix="predictor.", dir=os.environ.get("TMPDIR", BUILD))
    try:
        for cfg, weights, n in networks(o.whole, o.only):
            if not runnable(cfg):
                continue
            if sys.stderr.isatty():
                print("\r\033[K%s" % cfg, end="", file=sys.stderr)
            try_network(cfg, weights, n, folder, random.Random("%d %s" % (o.seed, os.path.basename(cfg))), rows)
    finally:
        shutil.rmtree(folder)
    if o.csv:
        with open(o.csv, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["above", "within", "network", "what", "plan", "predicted", "measured", "threads", "picture", "command"])
            for over, good, name, what, plan, a, picture, command in rows:
                out.writerow([over, good, name, what, plan, a.get("predicted_resident_bytes"), a.get("measured_resident_bytes"),
                              a.get("threads"), picture, command])
    show(rows, 8)
    bad = [r for r in rows if not r[1]]
    for r in bad[:40]:
        print("FAIL predictor %s: %d above the measured: run_inference %s" % (r[2], r[0], r[7]))
    below, above = -min((r[0] for r in rows), default=0), max((r[0] for r in rows), default=0)
    crowded = sum(1 for r in rows if r[5].get("threads", 0) > len(os.sched_getaffinity(0)))
    note = "; %d of two threads on one processor, which may be above it" % crowded if crowded else ""
    print("%s predictor: %d runs of %d networks, resident bytes predicted %d to %d above the measured, %d outside the bar%s" %
          ("FAIL" if bad or not rows else "ok", len(rows), len({r[2] for r in rows}), -below, above, len(bad), note))
    sys.exit(1 if bad or not rows else 0)


if __name__ == "__main__":
    main()
