"""Workloads from ONNX and TFLite files: their inputs and outputs."""

import array
import json
import os
import random
import shutil
import subprocess

from programs import compile_program
from workloads import PICTURE, Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
# Mean, scale and channel order of pictures; default: 0..1, red first.
FEEDS = {
    "yolox_nano": (0, 1, "bgr"),
    "yolox_nano_dynamic_range": (0, 1, "bgr"),
    "yunet_n_320_320": (0, 1, "bgr"),
    "FastestDet": (0, 1 / 255, "bgr"),
    "ultraface_RFB-320": (127, 1 / 128, "rgb"),
    "mobilenet_v1_0.25_128_float": (127.5, 1 / 127.5, "rgb"),
    "mnist_8": (0, 1, "rgb"),
    "pretrainedResnet": (0, 1, "rgb"),
    "posenet_mobilenet_v1_100_257x257_integer_quant": (127.5, 1 / 127.5, "rgb"),
}
BYTES = {"uint8": 0, "int8": 0x80}    # XORed into a picture's bytes to give the input's
SAMPLES = ("cifar10", "magic_wand", "text_class")   # their inputs are in MAFAT_MODELS/samples
# Recorded inputs of quantised files, in MAFAT_MODELS/samples: floats, or bytes of a picture or of
# the input.
RECORDED = {"kws_ref_model": "aww", "vww_96_int8": "vww", "pretrainedResnet_quant": "resnet", "micro_speech_quantized": "micro_speech",
            "ssd_mobilenet_v1_quant": "ssd"}
OF_PICTURES = ("resnet", "ssd")
LEAST_SIDE = 28                                     # smallest input that counts as a picture


class Refused(Exception):
    """Raised if run_inference refuses the file, with its message."""


class Tensor:
    """An input or output as described by --predict."""

    def __init__(self, told):
        self.name, self.dims, self.type = told["name"], told["dims"], told["type"]
        self.scale, self.zero = told.get("scale"), told.get("zero_point")   # of 8-bit ports
        self.n = 1
        for size in self.dims:
            self.n *= size

    def picture(self):
        """(height, width, channels, is channels-last), or None if it is no picture."""
        if len(self.dims) != 4 or self.dims[0] != 1:
            return None
        for at, is_last in ((1, False), (3, True)):
            sides = [size for i, size in enumerate(self.dims) if i not in (0, at)]
            if self.dims[at] in (1, 3) and min(sides) >= LEAST_SIDE:
                return sides[0], sides[1], self.dims[at], is_last
        return None


class ModelFiles:
    """A model and its input, in a folder of their own."""

    is_darknet = False

    def __init__(self, folder, model, run_inference):
        self.folder, self.model, self.tflite = folder, model, model
        self.onnx = model if model.endswith(".onnx") else model + ".twin.onnx"
        self.param, self.bin = model + ".param", model + ".bin"
        self.made = (self.param, self.bin)    # written by ncnn's converter
        self.raw = os.path.join(folder, "input.raw")
        asked = subprocess.run([run_inference, "--predict", "--json", "--quiet", model], capture_output=True, text=True, check=False)
        if asked.returncode not in (0, 3):   # 3: does not fit, but the report is the same
            raise Refused(asked.stderr.strip().splitlines()[-1] if asked.stderr.strip() else "exit status %d" % asked.returncode)
        told = json.loads(asked.stdout)
        self.inputs = [Tensor(one) for one in told["inputs"]]
        self.outputs = [Tensor(one) for one in told["outputs"]]

    def words(self):
        """Arguments of run_inference."""
        return [self.model]

    def input_words(self, path):
        return ["--input", path]

    def dumps(self, path):
        """The argument of --dump-output and its file, for each output."""
        return [("%s=%s.%d" % (output.name, path, i), "%s.%d" % (path, i)) for i, output in enumerate(self.outputs)]

    def split(self, values):
        """Splits concatenated values into an array for each output; None: wrong number of values."""
        if len(values) != sum(output.n for output in self.outputs):
            return None
        parts, at = [], 0
        for output in self.outputs:
            parts.append(values[at:at + output.n])
            at += output.n
        return parts

    def feed(self, picture, build, samples):
        """Writes the input: a picture, a recorded sample, or random values in 0..1."""
        if len(self.inputs) != 1:
            raise Unavailable("it has %d inputs" % len(self.inputs))
        name, wanted = os.path.splitext(os.path.basename(self.model))[0], self.inputs[0]
        sample = os.path.join(samples, name, "input", "0.bin")
        if wanted.type in BYTES:
            self.feed_bytes(picture, build, wanted)
        elif name in SAMPLES and os.path.isfile(sample) and os.path.getsize(sample) == 4 * wanted.n:
            shutil.copyfile(sample, self.raw)
        elif wanted.picture():
            self.feed_picture(picture, build, FEEDS.get(name, (0, 1 / 255, "rgb")), wanted.picture())
        else:
            draw = random.Random(1)
            with open(self.raw, "wb") as file:
                array.array("f", (draw.random() for _ in range(wanted.n))).tofile(file)

    def recorded(self, samples):
        """Names of recorded inputs, and their files."""
        name = RECORDED.get(os.path.splitext(os.path.basename(self.model))[0], "none")
        folder = os.path.join(samples, name, "input")
        return [("%s %s" % (name, file[:-len(".bin")]), os.path.join(folder, file))
                for file in sorted(os.listdir(folder) if os.path.isdir(folder) else []) if file.endswith(".bin")]

    def feed_recorded(self, path):
        """Recorded values in the input's type."""
        wanted = self.inputs[0]
        with open(path, "rb") as file:
            data = file.read()
        if len(data) == wanted.n:
            turn = BYTES[wanted.type] if path.split(os.sep)[-3] in OF_PICTURES else 0
            numbers = bytes(byte ^ turn for byte in data)
        else:
            least = -128 if wanted.type == "int8" else 0
            numbers = bytes(max(least, min(least + 255, round(real / wanted.scale) + wanted.zero)) & 255 for real in array.array("f", data))
        if len(numbers) != wanted.n:
            raise Unavailable("%s: expected %d numbers, found %d" % (path, wanted.n, len(numbers)))
        with open(self.raw, "wb") as file:
            file.write(numbers)

    def feed_bytes(self, picture, build, wanted):
        """A picture's bytes, or random ones."""
        if wanted.picture():
            self.feed_picture(picture, build, (0, 1, "rgb"), wanted.picture())
            values = array.array("f")
            with open(self.raw, "rb") as file:
                values.frombytes(file.read())
        else:
            draw = random.Random(1)
            values = [draw.randrange(256) for _ in range(wanted.n)]
        with open(self.raw, "wb") as file:
            file.write(bytes(round(value) ^ BYTES[wanted.type] for value in values))

    def feed_picture(self, picture, build, feed, shape):
        mean, scale, colours = feed
        height, width, channels, is_last = shape
        command = [picture_program(build), "--mean", str(mean), "--scale", repr(scale)]
        command += ["--bgr"] if colours == "bgr" else []
        command += ["--channels-last"] if is_last else []
        subprocess.run(command + [picture, str(width), str(height), str(channels), self.raw], check=True)


def picture_program(build):
    """Builds the program that decodes, stretches and scales pictures."""
    program = os.path.join(build, "peers", "picture_floats")
    compile_program(["gcc", "-std=c11", "-O2", "-o", program, os.path.join(HERE, "picture_floats.c"), "-ljpeg"],
                    "apt-get install libjpeg62-turbo-dev")
    return program


def models_folder():
    folder = os.environ.get("MAFAT_MODELS")
    if not folder:
        raise Unavailable("MAFAT_MODELS does not name a folder with the models")
    return folder


class ModelWorkload:
    """A file onnx/NAME.onnx or tflite/NAME.tflite of MAFAT_MODELS, and how often a process runs it."""

    layers, is_yolov2, threads = None, False, (1,)
    picture = "raw"    # raw values for all programs
    is_quantised = False
    tolerance = None   # the program's own

    def __init__(self, name, title, path, repeat, is_memory_judged=False):
        self.name, self.title, self.path, self.repeat = name, title, path, repeat
        self.format = path.split("/")[0]
        self.is_memory_judged = is_memory_judged

    def prepare(self, folder, build):
        source = os.path.join(models_folder(), self.path)
        if not os.path.isfile(source):
            raise Unavailable("%s is missing in the folder that MAFAT_MODELS names" % self.path)
        if not os.path.isfile(PICTURE):
            raise Unavailable("%s is missing; apt-get install darknet" % os.path.basename(PICTURE))
        model = os.path.join(folder, os.path.basename(self.path))
        shutil.copyfile(source, model)
        try:
            files = ModelFiles(folder, model, os.path.join(build, "run_inference"))
        except Refused as reason:
            raise Unavailable(str(reason)) from None
        files.feed(PICTURE, build, os.path.join(models_folder(), "samples"))
        return files

    def probes(self, files):
        """The compared results: all outputs."""
        yield "all outputs", files


class QuantisedWorkload(ModelWorkload):
    """Integers: TFLite's fast kernels sometimes differ by a step from its reference, and later
    layers amplify it."""

    is_quantised, tolerance = True, 0.25

    def __init__(self, name, title, file, repeat):
        super().__init__(name, title, "tflite/%s.tflite" % file, repeat)


MODEL_WORKLOADS = [
    ModelWorkload("yolox-nano", "yolox_nano.onnx, 416 x 416", "onnx/yolox_nano.onnx", 40, True),
    ModelWorkload("fastestdet", "FastestDet.onnx, 352 x 352", "onnx/FastestDet.onnx", 100, True),
    ModelWorkload("ultraface", "ultraface_RFB-320.onnx, 320 x 240", "onnx/ultraface_RFB-320.onnx", 100, True),
    ModelWorkload("yunet", "yunet_n_320_320.onnx, 320 x 320", "onnx/yunet_n_320_320.onnx", 150, True),
    ModelWorkload("super-resolution", "super_resolution_10.onnx, 224 x 224", "onnx/super_resolution_10.onnx", 25),
    ModelWorkload("mnist", "mnist_8.onnx, 28 x 28", "onnx/mnist_8.onnx", 5000),
    ModelWorkload("mobilenet-v1", "mobilenet_v1_0.25_128_float.tflite, 128 x 128", "tflite/mobilenet_v1_0.25_128_float.tflite", 1000, True),
    ModelWorkload("vww", "vww_96_float.tflite, 96 x 96", "tflite/vww_96_float.tflite", 1500, True),
    ModelWorkload("resnet8", "pretrainedResnet.tflite (ResNet-8), 32 x 32", "tflite/pretrainedResnet.tflite", 2000),
    QuantisedWorkload("mobilenet-v2-int8", "MobileNet v2, uint8, 224 x 224", "mobilenet_v2_1.0_224_quant", 60),
    QuantisedWorkload("mobilenet-v2-pytorch-int8", "MobileNet v2, int8 by PyTorch, 224 x 224", "mobilenet_v2_1.0_224_int8_pytorch", 60),
    QuantisedWorkload("mobilenet-v1-int8", "MobileNet v1 0.25, uint8, 128 x 128", "mobilenet_v1_0.25_128_quant", 1500),
    QuantisedWorkload("mcunet-int8", "MCUNet 320 KB, int8, 176 x 176", "mcunet-320kb-1mb_imagenet", 300),
    QuantisedWorkload("vww-int8", "vww_96, int8, 96 x 96", "vww_96_int8", 2000),
    QuantisedWorkload("resnet8-int8", "ResNet-8, int8, 32 x 32", "pretrainedResnet_quant", 2000),
    QuantisedWorkload("kws-int8", "kws_ref_model, int8, 49 x 10", "kws_ref_model", 5000),
    QuantisedWorkload("posenet-int8", "PoseNet, int8, 257 x 257", "posenet_mobilenet_v1_100_257x257_integer_quant", 30),
    QuantisedWorkload("ssd-int8", "SSD MobileNet v1, uint8, 300 x 300", "ssd_mobilenet_v1_quant", 20),
]
