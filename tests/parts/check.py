#!/usr/bin/env python3
"""check.py [--all]: checks that no run enters code that the program has dropped. For every format,
kernel level and decoder, and for common command lines, gdb makes what run_inference_symbols
drops inaccessible (seal.py). Each function that a run enters there is a failure, printed with
its part and caller: place it in `run`, or in a part that this run needs (runner/os/parts.def).
Without --all: a sample. Exit status 77 if gdb is missing or may not trace.
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
SEAL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "seal.py")
LEVELS = {"x86_64": ("portable", "avx2", "avx512"), "aarch64": ("portable", "neon")}
FORMATS = ("cfg", "packed", "onnx", "tflite", "integers")
DECODERS = ("jpeg", "progressive", "png", "ppm", "floats")
GRAPHS = ("onnx", "tflite", "onnx-integers", "tflite-integers")

JPEGS = {
    "progressive":
        "/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////"
        "////wgALCAAQABABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//aAAgBAQAAAAE3B//EABUQAQEAAAAAAAAAAAAAAAAA"
        "AAAD/9oACAEBAAE/AJJJJP/aAAgBAQAAABCv/9k=",
    "arithmetic":
        "/9j/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////"
        "////yQALCAAQABABAREA/8wABgAQEAX/2gAIAQEAAD8A/Sn+67SdSP/Z"}

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

# {format} names a model, {decoder} a picture, {folder} a folder for outputs.
COMMAND_LINES = """
{cfg} {ppm} {jpeg} {png} {progressive}
{onnx} {ppm} {jpeg} {png} {progressive}
{cfg} {folder}/missing.jpg {jpeg}
--threads 2 {kinds} {jpeg}
--threads 2 {integers} {ppm}
--plan rows1:streamed/NoCut {kinds} {jpeg}
--plan rows1:streamed/NoCut {packed} {jpeg} {ppm}
--plan 1x1:loaded/NoCut --threads 2 {cfg} {png}
--memory 3M --best-effort {cfg} {jpeg}
--plan 3x3/4/2x2 {kinds} {jpeg}
--plan panels/NoCut {kinds} {ppm}
--search fdt {onnx} {jpeg}
--search fdt --threads 2 {kinds} {jpeg}
--search separable {tflite} {ppm}
--algorithm winograd {cfg} {jpeg}
--algorithm winograd-large {cfg} {jpeg}
--json --thresh 0 --names models/shapes/shapes.names {cfg} {jpeg}
--report {cfg} {jpeg}
--report --json {onnx} {jpeg}
--fast-memory 64K --json {cfg} {jpeg}
--fast-memory 64K --report --plan 3x3/4/2x2 {kinds} {ppm}
--repeat 3 {cfg} {jpeg}
--dump-output {folder}/out.raw {onnx} {ppm}
--dump-output {folder}/out.npy {integers} {ppm}
--image-scaling fast {int8} {jpeg}
--resize letterbox --mean 127.5 --scale 1/127.5 {onnx} {jpeg}
--decode yolox --input {boxes_input} {boxes}
--sandbox auto {cfg} {jpeg}
--sandbox auto {onnx} {ppm}
"""


def skip(why):
    print(f"skip check-parts: {why}")
    sys.exit(77)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def tool(name, *arguments):
    """The output of a program of the build folder, or None."""
    done = subprocess.run([f"{BUILD}/{name}", *arguments], capture_output=True, text=True, check=False)
    return None if done.returncode else done.stdout


def png(width, height, pixels):
    rows = b"".join(b"\1" + pixels[i:i + width * 3] for i in range(0, len(pixels), width * 3))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = (struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
             for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def make_pictures(folder):
    """Writes a picture for each decoder."""
    width, height = 50, 30
    pixels = bytes(i * 7 % 256 for i in range(width * height * 3))
    pictures = {"jpeg": "models/shapes/holdout/000000.jpg",
                "png": write(f"{folder}/plain.png", png(width, height, pixels)),
                "ppm": write(f"{folder}/plain.ppm", b"P6\n%d %d\n255\n" % (width, height) + pixels)}
    for name, data in JPEGS.items():
        pictures[name] = write(f"{folder}/{name}.jpg", base64.b64decode(data))
    return pictures


def make_models(folder):
    """The arguments that name each model."""
    cfg = "models/shapes/shapes.cfg models/shapes/shapes.weights"
    kinds = f"{folder}/kinds.cfg {folder}/kinds.weights"
    models = {"cfg": cfg, "kinds": kinds, "boxes": f"{folder}/boxes.onnx", "onnx": f"{folder}/picture.onnx",
              "tflite": f"{folder}/picture.tflite", "integers": f"{folder}/integers.tflite"}
    write(f"{folder}/kinds.cfg", CFG.encode())
    tool("parts_models", folder)
    tool("make_weights", "--quiet", *kinds.split())
    for name, source in (("packed", cfg), ("packed-onnx", models["onnx"]),
                         ("packed-tflite", models["integers"]), ("int8", f"--weights int8 {kinds}")):
        models[name] = f"{folder}/{name}.packed"
        if tool("pack_weights", *source.split(), models[name]) is None:
            sys.exit(f"check.py: pack_weights fails on {source}")
    return models


def zeros(folder, model):
    """--input options for each input of a model; None: it cannot run."""
    said = tool("run_inference", "--predict", "--json", "--quiet", *model.split())
    inputs = re.search(r'"inputs":\[(.*?)\],"outputs"', said or "")
    arguments = []
    for name, element, dims in re.findall(r'"name":"(.*?)","type":"(.*?)","dims":\[(.*?)\]',
                                          inputs.group(1) if inputs else ""):
        n_bytes = {"float32": 4, "int32": 4, "int64": 8}.get(element, 1)
        for size in filter(None, dims.split(",")):
            n_bytes *= int(size)
        arguments += ["--input", f"{name}=" + write(f"{folder}/{n_bytes}.raw", bytes(n_bytes))]
    return arguments or None


def matrix(folder, models, pictures, levels, everything):
    """Formats x levels x decoders; in a sample only one level for each combination of the others."""
    formats = [*FORMATS, "kinds", "int8", "packed-onnx", "packed-tflite"] if everything else FORMATS
    decoders = [*DECODERS, "arithmetic"] if everything else DECODERS
    for i, name in enumerate(formats):
        for j, level in enumerate(levels):
            for k, decoder in enumerate(decoders):
                if everything or (i + j + k) % len(levels) == 0:
                    floats = zeros(folder, models[name]) if decoder == "floats" else []
                    picture = [] if floats else [pictures[decoder]]
                    yield f"{name} {level} {decoder}", ["--cpu", level, *floats, *models[name].split(), *picture]


def command_lines(folder, models, pictures):
    names = {**models, **pictures, "folder": folder, "boxes_input": write(f"{folder}/84.raw", bytes(84))}
    for line in COMMAND_LINES.strip().splitlines():
        yield line, line.format(**names).split()


def graphs(folder, levels, n):
    """Random graphs of ONNX and TFLite on zeros."""
    for kind in GRAPHS:
        for i in range(n):
            path = f"{folder}/{kind}{i}.{kind.split('-', maxsplit=1)[0]}"
            tool("random_graphs", kind, "--print", str(i + 1), path)
            inputs = zeros(folder, path)
            if inputs:
                yield f"graph {i + 1} of {kind}", ["--cpu", levels[i % len(levels)], *inputs, path]


def run(arguments):
    """The entries of one run, and failures."""
    # a sandbox forbids making pages executable again
    sandbox = [] if "--sandbox" in arguments else ["--sandbox", "off"]
    command = ["gdb", "-q", "-nx", "-batch", "-x", SEAL, "--args", PROGRAM, "--quiet", *sandbox, *arguments]
    try:
        said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=180, env={**os.environ, "LC_ALL": "C"},
                              check=False).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return ["it did not end within 180 seconds"]
    lines = [line[6:] for line in said.splitlines() if line.startswith("seal: ")]
    if "ptrace" in said and not lines:
        skip("gdb may not trace here")
    if not lines or not lines[-1].endswith("pages were sealed"):
        return lines or ["it ended before it dropped code: " + " ".join(said.split())[-300:]]
    return lines[:-1]


def main():
    everything = "--all" in sys.argv[1:]
    levels = LEVELS.get(os.uname().machine)
    if not levels:
        skip("seal.py knows no system call of this processor")
    if subprocess.run(["sh", "-c", "command -v gdb && command -v nm"], stdout=subprocess.DEVNULL, check=False).returncode:
        skip("gdb or nm is not installed")
    symbols = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=False).stdout
    if " mafat_linked_run" not in symbols or "__asan_init" in symbols:
        skip("run_inference is not static, or not linked by GNU ld: its code is in no parts")
    levels = [level for level in levels
              if tool("run_inference", "--quiet", "--predict", "--cpu", level, "models/shapes/shapes.cfg") is not None]
    failed = n = 0
    with tempfile.TemporaryDirectory() as folder:
        pictures, models = make_pictures(folder), make_models(folder)
        for cases in (matrix(folder, models, pictures, levels, everything),
                      command_lines(folder, models, pictures), graphs(folder, levels, 60 if everything else 3)):
            for name, arguments in cases:
                n += 1
                entries = run(arguments)
                if entries:
                    failed += 1
                    print(f"FAIL check-parts {name}: {'; '.join(entries)}", flush=True)
    print(f"{'FAIL' if failed else 'ok'} check-parts: {failed} of {n} runs entered code that was dropped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
