"""The compared networks, and their files in a folder of their own."""

import os
import random
import re
import shutil
import subprocess

CFGS = "/usr/share/darknet/cfg"
PICTURE = "/usr/share/darknet/data/dog.jpg"
HEADS = ("yolo", "region", "softmax")


class Unavailable(Exception):
    """Raised if a workload or program is missing; the message has the reason and a remedy."""


class Workload:
    """Darknet's files: a network or its first `layers` layers, and how often a process runs it."""

    format, picture = "cfg", "ppm"    # picture of rows compared with ncnn and onnxruntime
    tolerance = None    # each program's own

    def __init__(self, name, title, network, repeat, layers=None, trained=False, threads=(1,)):
        self.name, self.title, self.network, self.layers = name, title, network, layers
        self.repeat = repeat      # for fast programs; Darknet has fewer
        self.trained = trained    # trained weights from MAFAT_MODELS, else generated ones
        self.threads = threads    # for rows compared with ncnn and onnxruntime
        self.is_yolov2 = network == "yolov2"

    def prepare(self, folder, build):
        return prepare(self, folder, os.path.join(build, "make_weights"))

    def probes(self, files):
        """Files that end at each compared layer, made one at a time."""
        for depth in probe_depths(files):
            yield "layer %d" % (depth - 1), make_probe(files, depth)


WORKLOADS = [
    Workload("yolov2-16", "yolov2.cfg, layers 0..15, 608 x 608", "yolov2", 6, layers=16),
    Workload("yolov2", "yolov2.cfg, 608 x 608", "yolov2", 5, threads=(1, 2)),
    Workload("yolov3-tiny", "yolov3-tiny.cfg, 416 x 416", "yolov3-tiny", 10),
    Workload("yolo-fastest-1.1", "Yolo-Fastest 1.1, 320 x 320, trained", "yolo-fastest-1.1", 30, trained=True),
    Workload("yolo-fastest-1.1-xl", "Yolo-Fastest 1.1-xl, 320 x 320, trained", "yolo-fastest-1.1-xl", 30, trained=True, threads=(1, 2)),
    Workload("darknet19", "darknet19.cfg, 256 x 256", "darknet19", 10),
    Workload("resnet50", "resnet50.cfg, 256 x 256", "resnet50", 10),
]


class Files:
    """A workload's files. ONNX and ncnn models are written by the programs that read them."""

    is_darknet = True

    def __init__(self, folder, name):
        self.folder = folder
        self.cfg = os.path.join(folder, name + ".cfg")
        self.weights = os.path.join(folder, name + ".weights")
        self.onnx = os.path.join(folder, name + ".onnx")
        self.param = os.path.join(folder, name + ".param")
        self.bin = os.path.join(folder, name + ".bin")
        self.jpg = os.path.join(folder, "picture.jpg")
        self.ppm = os.path.join(folder, "picture.ppm")
        self.made = (self.onnx, self.param, self.bin)

    def words(self):
        """Arguments of run_inference."""
        return [self.cfg, self.weights]

    def input_words(self, path):
        return [path]

    def dumps(self, path):
        """The argument of --dump-output and its file."""
        return [(path, path)]

    def split(self, values):
        """The compared outputs: one."""
        return [values]


def read_text(path):
    """Reads text of any encoding, which comments in a cfg may have; write_text() restores the same
    bytes."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def write_text(path, text):
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


def split_sections(text):
    """[net], then a text for each layer."""
    return [part for part in re.split(r"(?m)^(?=\[)", text) if part.startswith("[")]


def section_name(text):
    return text[1:text.index("]")]


def single_picture(text):
    """Sets batch and subdivisions to 1: peers allocate for every picture of a batch."""
    return re.sub(r"(?m)^\s*(batch|subdivisions)\s*=.*$", r"\1=1", text)


def first_layers(text, layers):
    return "".join(split_sections(text)[:1 + layers])


def input_size(text):
    net = split_sections(text)[0]
    return tuple(int(re.search(r"(?m)^\s*%s\s*=\s*(\d+)" % key, net).group(1)) for key in ("width", "height"))


def write_ppm(path, width, height):
    """A picture of coarse random blocks with sharp edges and flat areas, the same in every run."""
    generator = random.Random(1)
    block = 16
    with open(path, "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height))
        for y in range(height):
            if y % block == 0:
                row = b"".join(bytes(generator.randrange(256) for _ in range(3)) * block
                               for _ in range(-(-width // block)))[:3 * width]
            file.write(row)


def prepare(workload, folder, make_weights):
    """The workload's Files in `folder`: cfg for one picture, weights, a JPEG, a PPM of the
    network's size."""
    source = CFGS
    if workload.trained:
        source = os.environ.get("MAFAT_MODELS")
        if not source:
            raise Unavailable("MAFAT_MODELS does not name a folder with the trained networks")
    cfg = os.path.join(source, workload.network + ".cfg")
    for needed in (cfg, PICTURE):
        if not os.path.isfile(needed):
            raise Unavailable("%s is missing%s" % (
                os.path.basename(needed), "" if needed.startswith(os.environ.get("MAFAT_MODELS", "\0"))
                else "; apt-get install darknet"))
    files = Files(folder, workload.name)
    text = single_picture(read_text(cfg))
    if workload.layers:
        text = first_layers(text, workload.layers)
    write_text(files.cfg, text)
    if workload.trained:
        shutil.copyfile(os.path.join(source, workload.network + ".weights"), files.weights)
    else:
        subprocess.run([make_weights, "--quiet", files.cfg, files.weights], check=True)
    shutil.copyfile(PICTURE, files.jpg)
    write_ppm(files.ppm, *input_size(text))
    return files


def make_probe(files, layers):
    """The same files with a cfg that ends after `layers` layers, so that a peer's last output can
    be compared."""
    probe = Files(files.folder, "probe-%d" % layers)
    write_text(probe.cfg, first_layers(read_text(files.cfg), layers))
    probe.weights, probe.jpg, probe.ppm = files.weights, files.jpg, files.ppm
    return probe


def probe_depths(files):
    """The compared layers: the last convolution before each head, or the last layer."""
    names = [section_name(part) for part in split_sections(read_text(files.cfg))[1:]]
    depths = []
    for i, name in enumerate(names):
        if name in HEADS:
            depths.append(max(k for k in range(i) if names[k].startswith("conv")) + 1)
    return depths or [len(names)]
