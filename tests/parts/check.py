#!/usr/bin/env python3
"""check.py [--all]: does a run enter code that the program has dropped? Under gdb all rights are taken from what
build/run_inference_symbols drops (seal.py); each function that a run enters there is a failure, named with its part and caller:
it belongs into `run`, or into a part that this run needs (runner/os/parts.def). For every format, level of kernels and decoder,
and for common command lines. Without --all: a sample. Exit status 77 where gdb is missing or may not trace.
Covers runner/os/parts.c: where each part of the program is."""
import base64
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

BUILD = os.environ.get("BUILD", "build")
PROGRAM = os.path.realpath(f"{BUILD}/run_inference_symbols")
SEAL = os.path.realpath(__file__).replace("check.py", "seal.py")
SHAPES = "models/shapes/shapes"
LEVELS = ("portable", "avx2", "avx512") if os.uname().machine == "x86_64" else ("portable", "neon")
PROGRESSIVE = """/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wgALCAAQABABAREA/8QAFAABAAAA
AAAAAAAAAAAAAAAAA//aAAgBAQAAAAE3B//EABUQAQEAAAAAAAAAAAAAAAAAAAAD/9oACAEBAAE/AJJJJP/aAAgBAQAAABCv/9k="""
ARITHMETIC = """/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////yQALCAAQABABAREA/8wABgAQEAX/
2gAIAQEAAD8A/Sn+67SdSP/Z"""
CFG = """[net]\nwidth=40\nheight=32\nchannels=3
[convolutional]\nbatch_normalize=1\nfilters=16\nsize=3\npad=1\nactivation=leaky
[maxpool]\nsize=2\nstride=2
[convolutional]\nfilters=20\nsize=3\npad=1\nactivation=mish
[convolutional]\ngroups=20\nfilters=20\nsize=3\npad=1\nactivation=relu
[convolutional]\nfilters=20\nsize=1\nactivation=linear
[shortcut]\nfrom=-3\nactivation=linear
[upsample]\nstride=2
[route]\nlayers=-1,0
[reorg]\nstride=2
[convolutional]\nfilters=30\nsize=1\nactivation=linear
[region]\nnum=5\nclasses=1\nsoftmax=1\nanchors=1,1,1,1,1,1,1,1,1,1
"""


def skip(why):
    print(f"skip check-parts: {why}")
    sys.exit(77)


def make_pictures(folder):
    """One a decoder: their names by it."""
    pictures = {"jpeg": os.path.realpath("models/shapes/holdout/000000.jpg")}
    for name, data in (("progressive", PROGRESSIVE), ("arithmetic", ARITHMETIC)):
        pictures[name] = f"{folder}/{name}.jpg"
        with open(pictures[name], "wb") as file:
            file.write(base64.b64decode(data))
    width, height = 50, 30
    pixels = bytes(i * 7 % 256 for i in range(width * height * 3))
    rows = b"".join(b"\1" + pixels[i:i + width * 3] for i in range(0, len(pixels), width * 3))
    chunks = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    pictures["png"], pictures["ppm"] = f"{folder}/plain.png", f"{folder}/plain.ppm"
    with open(pictures["png"], "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                                                 for kind, data in chunks))
    with open(pictures["ppm"], "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height) + pixels)
    return pictures


def make_models(folder):
    """Arguments that name a model, by format, and bytes of its raw input."""
    def tool(*arguments):
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    with open(f"{folder}/kinds.cfg", "w", encoding="ascii") as file:
        file.write(CFG)
    tool(f"{BUILD}/make_weights", "--quiet", f"{folder}/kinds.cfg", f"{folder}/kinds.weights")
    tool(f"{BUILD}/parts_models", folder)
    tool(f"{BUILD}/pack_weights", f"{SHAPES}.cfg", f"{SHAPES}.weights", f"{folder}/shapes.packed")
    tool(f"{BUILD}/pack_weights", "--weights", "int8", f"{folder}/kinds.cfg", f"{folder}/kinds.weights", f"{folder}/kinds.packed")
    tool(f"{BUILD}/pack_weights", f"{folder}/picture.onnx", f"{folder}/onnx.packed")
    tool(f"{BUILD}/pack_weights", f"{folder}/integers.tflite", f"{folder}/tflite.packed")
    square = 3 * 32 * 32
    return {"cfg": ([f"{SHAPES}.cfg", f"{SHAPES}.weights"], 4 * 3 * 160 * 160), "packed": ([f"{folder}/shapes.packed"], 4 * 3 * 160 * 160),
            "onnx": ([f"{folder}/picture.onnx"], 4 * square), "tflite": ([f"{folder}/picture.tflite"], 4 * square),
            "integers": ([f"{folder}/integers.tflite"], square),
            "kinds": ([f"{folder}/kinds.cfg", f"{folder}/kinds.weights"], 4 * 3 * 32 * 40),
            "int8": ([f"{folder}/kinds.packed"], 4 * 3 * 32 * 40), "packed-onnx": ([f"{folder}/onnx.packed"], 4 * square),
            "packed-tflite": ([f"{folder}/tflite.packed"], square)}


def raw(folder, n_bytes):
    path = f"{folder}/{n_bytes}.raw"
    with open(path, "wb") as file:
        file.write(bytes(n_bytes))
    return path


def matrix(folder, models, pictures, levels, everything):
    """Names and arguments: formats x levels x decoders."""
    formats = list(models) if everything else ["cfg", "packed", "onnx", "tflite", "integers"]
    decoders = [*pictures, "floats"] if everything else ["jpeg", "progressive", "png", "ppm", "floats"]
    for i, name in enumerate(formats):
        model, n_bytes = models[name]
        for j, level in enumerate(levels):
            for k, decoder in enumerate(decoders):
                if not everything and (i + j + k) % len(levels):
                    continue
                source = ["--input", raw(folder, n_bytes)] if decoder == "floats" else []
                yield f"{name} {level} {decoder}", ["--cpu", level, *source, *model, *([] if source else [pictures[decoder]])]


def command_lines(folder, models, pictures):
    shapes, kinds, integers, onnx = (models[name][0] for name in ("cfg", "kinds", "integers", "onnx"))
    several = [pictures[name] for name in ("ppm", "jpeg", "png", "progressive")]
    out = f"{folder}/out.raw"
    yield "several pictures", [*shapes, *several]
    yield "several pictures, ONNX", [*onnx, *several]
    yield "two threads", ["--threads", "2", *kinds, pictures["jpeg"]]
    yield "two threads, integers", ["--threads", "2", *integers, pictures["ppm"]]
    yield "streamed weights", ["--plan", "rows1:streamed/NoCut", *kinds, pictures["jpeg"]]
    yield "streamed weights, packed", ["--plan", "rows1:streamed/NoCut", *models["packed"][0], pictures["jpeg"], pictures["ppm"]]
    yield "loaded weights, two threads", ["--plan", "1x1:loaded/NoCut", "--threads", "2", *shapes, pictures["png"]]
    yield "little memory", ["--memory", "3M", "--best-effort", *shapes, pictures["jpeg"]]
    yield "tiles", ["--plan", "3x3/4/2x2", *kinds, pictures["jpeg"]]
    yield "panels", ["--plan", "panels/NoCut", *kinds, pictures["ppm"]]
    yield "Winograd", ["--algorithm", "winograd", *shapes, pictures["jpeg"]]
    yield "large Winograd", ["--algorithm", "winograd-large", *shapes, pictures["jpeg"]]
    yield "JSON, all boxes", ["--json", "--thresh", "0", "--names", f"{SHAPES}.names", *shapes, pictures["jpeg"]]
    yield "a report", ["--report", *shapes, pictures["jpeg"]]
    yield "a report, JSON", ["--report", "--json", *onnx, pictures["jpeg"]]
    yield "bytes moved", ["--fast-memory", "64K", "--json", *shapes, pictures["jpeg"]]
    yield "bytes moved, a report", ["--fast-memory", "64K", "--report", "--plan", "3x3/4/2x2", *kinds, pictures["ppm"]]
    yield "repeated", ["--repeat", "3", *shapes, pictures["jpeg"]]
    yield "outputs in a file", ["--dump-output", out, *onnx, pictures["ppm"]]
    yield "outputs as NumPy's", ["--dump-output", f"{folder}/out.npy", *integers, pictures["ppm"]]
    yield "a fast scale", ["--image-scaling", "fast", *models["int8"][0], pictures["jpeg"]]
    yield "a letterbox, another rule", ["--resize", "letterbox", "--mean", "127.5", "--scale", "1/127.5", *onnx, pictures["jpeg"]]
    yield "a head's boxes", ["--decode", "yolox", "--input", raw(folder, 84), f"{folder}/boxes.onnx"]
    yield "a picture that is missing", [*shapes, f"{folder}/missing.jpg", pictures["jpeg"]]
    yield "a sandbox", ["--sandbox", "auto", *shapes, pictures["jpeg"]]
    yield "a sandbox, ONNX", ["--sandbox", "auto", *onnx, pictures["ppm"]]


def graphs(folder, levels, n):
    """Random graphs of ONNX and TFLite on raw numbers."""
    for kind in ("onnx", "tflite", "onnx-integers", "tflite-integers"):
        for i in range(n):
            path = f"{folder}/{kind}{i}.{kind.split('-')[0]}"
            subprocess.run([f"{BUILD}/random_graphs", kind, "--print", str(i + 1), path], check=True, stdout=subprocess.DEVNULL)
            said = subprocess.run([f"{BUILD}/run_inference", "--predict", "--json", "--quiet", path], capture_output=True, text=True, check=False)
            inputs = re.search(r'"inputs":\[(.*?\])\}\]', said.stdout)
            if said.returncode or not inputs:
                continue
            arguments = []
            for name, element, dims in re.findall(r'"name":"([^"]*)","type":"([^"]*)","dims":\[([0-9,]*)\]', inputs.group(1)):
                n_bytes = {"8": 1, "2": 4}[element[-1]] if element[-1] in "82" else 8
                for size in filter(None, dims.split(",")):
                    n_bytes *= int(size)
                arguments += ["--input", f"{name}={raw(folder, n_bytes)}"]
            yield f"graph {i + 1} of {kind}", ["--cpu", levels[i % len(levels)], *arguments, path]


def run(arguments):
    """What gdb says of one run: the entries, or a failure."""
    sandbox = [] if "--sandbox" in arguments else ["--sandbox", "off"] # which forbids to open pages again
    command = ["gdb", "-q", "-nx", "-batch", "-x", SEAL, "--args", PROGRAM, "--quiet", *sandbox, *arguments]
    try:
        said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=180,
                              env={**os.environ, "LC_ALL": "C", "HOME": "/nonexistent"}, check=False).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return ["it did not end within 180 seconds"]
    lines = [line[6:] for line in said.splitlines() if line.startswith("seal: ")]
    if any("ptrace" in line or "Could not trace" in line for line in said.splitlines()):
        skip("gdb may not trace here")
    if not lines or not lines[-1].endswith("pages were sealed"):
        return lines or ["it ended before it dropped anything: " + " ".join(said.split())[-300:]]
    return lines[:-1]


def main():
    everything = "--all" in sys.argv[1:]
    if subprocess.run(["sh", "-c", "command -v gdb"], stdout=subprocess.DEVNULL, check=False).returncode:
        skip("gdb is not installed")
    symbols = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=False).stdout if os.path.exists(PROGRAM) else ""
    if " mafat_linked_run" not in symbols or "__asan_init" in symbols:
        skip("run_inference's code is not in parts: it is not static, or is linked by another linker than GNU ld")
    failed, n = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        pictures, models = make_pictures(folder), make_models(folder)
        levels = [level for level in LEVELS if not subprocess.run([f"{BUILD}/run_inference", "--quiet", "--predict", "--cpu", level, f"{SHAPES}.cfg"],
                                                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode]
        for cases in (matrix(folder, models, pictures, levels, everything), command_lines(folder, models, pictures),
                      graphs(folder, levels, 60 if everything else 3)):
            for name, arguments in cases:
                n += 1
                entries = run(arguments)
                if entries:
                    failed += 1
                    print(f"FAIL check-parts {name}: {'; '.join(entries)}", flush=True)
    print(f"{'FAIL' if failed else 'ok'} check-parts: {n} runs, {failed} of them entered code that was dropped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
