"""Options of models and queries, by the names of include/mafat.h; sizes drop "_bytes": memory, reserve, beside."""
from __future__ import annotations

import os
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_float, c_int, c_size_t, pointer

from mafat._library import EINVAL, WARN, Error, Handle, ModelOptions, count_bytes, library, number_for, path_of, text_of

TYPE_CHECKING = False  # as type checkers do not think: at run time typing would take more memory than all of this
if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Sequence
    from typing import IO, Any, TypedDict, Union

    Path = Union[str, bytes, os.PathLike]
    Source = Union[Path, IO[bytes], memoryview, bytearray, mmap.mmap]  # a file, open or in memory, too

    class Options(TypedDict, total=False):
        """What mafat.open, predict and sweep take by keyword. None is the default everywhere."""

        memory: int | str        # budget for the whole process: bytes, or "16M"; default: its cgroups' limit, else what is available
        plan: str                # mafat-plan(7); default: search for one
        search: str              # "best", "greedy", "least", "fdt", "motes", "separable"; with words: "motes:beam=8,delta=1.1"
        layers: int              # run the first so many layers
        outputs: Sequence[int]   # layers that Model.read_layer shall read, beside the last one and heads
        arena: Arena             # shared with other models
        width: int               # of the input, in place of the cfg's
        height: int
        algorithm: str           # of convolutions: "direct", "winograd", "winograd-large", "auto"
        threads: int             # that compute; default 1; or THREADS_AUTO
        cpu: str                 # highest kernel level, such as "avx2"
        best_effort: bool        # run the smallest plan even if it does not fit
        picture: Path            # its header says what decoding costs; default: a JPEG of 12 megapixels
        picture_may_fail: bool
        floats_only: bool        # neither pictures nor arrays of pixels will come, numbers at most
        fork: str                # whose Darknet: "darknet", "alexeyab", "auto"
        max_boxes: int           # that detections are made of, before suppression
        reserve: int | str       # bytes of the budget that are left to what is no process's to foresee
        lock: str                # arena and kept weights in memory: "on", "off", "auto"
        image_scaling: str       # "exact", or "fast": JPEGs are decoded smaller
        mean: float | Sequence[float]   # of pictures: (byte - mean) * scale, of each channel in the input's order
        scale: float | Sequence[float]
        channels: str            # "rgb", "bgr", "gray": the input's
        resize: str              # "stretch", "letterbox", "corner", "crop"
        frames: str              # of video, for Model.run_frame in place of pictures: "640x480:yuv420p", yuvj420p, nv12, yuyv, rgb24, mjpeg
        frames_stay: bool        # Model.frame_room holds a frame until its boxes are known; default: until it was read
        frames_outside: bool     # frames lie elsewhere, and need no room
        beside: int | str        # bytes of the budget that the caller holds beside the model
        pad: float               # a byte for what a letterbox leaves
        decode: str              # what outputs of ONNX and TFLite files hold: "yolov8", ..., "classes", "auto", "none"
        constants: Sequence[str]  # "NAME=FILE": inputs of such files that are known beforehand
        plan_seconds: float      # that looking for a plan may take


class Arena(Handle):
    """Memory that several models run in, one after the other: it grows to what the largest of them needs. To run two at once is
    an Error of EINVAL for the second; each run takes away what could be read of the others. While somebody has a model's frame_room
    no other model is opened in it: to grow it moves."""

    _closes = "mafat_arena_close"

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Any] = []  # bytes of it that were handed out, as long as somebody has them
        self._call(library.mafat_arena_open, byref(self._handle))


SIZES = {"memory": "memory_bytes", "reserve": "reserve_bytes", "beside": "beside_bytes"}
OTHERS = ("warnings", "link", "memory_name", "replace_name", "n_outputs", "n_constants", "n_calibrate")  # set here
CONVERT: dict[Any, Callable[[Any], Any]] = {c_char_p: path_of, c_int: lambda value: number_for(c_int, int(value)), c_bool: bool, c_double: float, c_size_t: count_bytes}


def in_use(rooms: list[Any]) -> list[Any]:
    """Those of the bytes handed out (weak references) that somebody still has."""
    return [room for room in (weak() for weak in rooms) if room is not None]


def floats(values: float | Sequence[float]) -> Sequence[float]:
    """One number for each of up to three channels."""
    numbers = [float(values)] * 3 if isinstance(values, (int, float)) else [float(v) for v in values]
    if len(numbers) not in (1, 3):
        raise Error(EINVAL, f"expected one number or three, found {len(numbers)}")
    return numbers * (3 // len(numbers))


def fill(struct: Structure, options: dict, where: str) -> None:
    """Sets fields by their names. What they point to lives as long as the struct."""
    kinds = dict(struct._fields_)
    for name, value in options.items():
        field = SIZES.get(name, name)
        kind = kinds.get(field)
        if kind is None or field in OTHERS or (field == name and name.endswith("_bytes")):
            raise TypeError(f"{where}() has no option '{name}'")
        if value is None:
            continue
        if name == "arena":
            struct.arena = value._alive()
        elif kind is POINTER(c_size_t) or kind is POINTER(c_double):
            setattr(struct, field, pointer(kind._type_(CONVERT[kind._type_](value))))
        elif kind is POINTER(c_float):
            setattr(struct, field, (c_float * 3)(*floats(value)))
        elif kind is POINTER(c_int) or kind is POINTER(c_char_p):
            item = kind._type_
            values = [CONVERT[item](v) for v in value]
            setattr(struct, field, (item * len(values))(*values))
            setattr(struct, "n_" + field, len(values))
        else:
            setattr(struct, field, CONVERT[kind](value))


def model_options(options: dict, where: str, warn: Callable[[str], None]) -> ModelOptions:
    struct = ModelOptions()
    struct.memory_name = b"memory"
    struct.warnings.warn = WARN(lambda _, text: warn(text_of(text)))
    fill(struct, options, where)
    return struct
