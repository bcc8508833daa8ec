"""Options of models and queries, by the names of include/mafat.h; sizes drop "_bytes": memory, reserve, beside."""
from __future__ import annotations

import os
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_double, c_float, c_int, c_size_t, pointer

from mafat._library import EINVAL, WARN, Error, Handle, ModelOptions, count_bytes, library, number_for, path_of, text_of

TYPE_CHECKING = False  # type checkers assume True: importing typing takes more memory than this package
if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Sequence
    from typing import IO, Any, TypedDict, Union

    Path = Union[str, bytes, os.PathLike]
    Source = Union[Path, IO[bytes], memoryview, bytearray, mmap.mmap]  # or an open file, or a file in memory

    class Options(TypedDict, total=False):
        """Keyword arguments of mafat.open, predict and sweep. None is the default of all."""

        memory: int | str        # budget of the whole process: bytes or "16M"; default: what is free below the cgroup's limit, else available memory
        plan: str                # mafat-plan(7); default: search for one
        search: str              # "best", "greedy", "least", "fdt", "motes", "separable", with parameters: "motes:beam=8,delta=1.1"
        layers: int              # run only the first layers
        outputs: Sequence[int]   # layers for Model.read_layer, besides the last one and heads
        arena: Arena             # shared with other models
        width: int               # of the input, instead of the cfg's
        height: int
        algorithm: str           # of convolutions: "direct", "winograd", "winograd-large", "auto"
        threads: int             # default 1; THREADS_AUTO: the fastest number
        cpu: str                 # highest kernel level, such as "avx2"
        best_effort: bool        # run the smallest plan even if it does not fit
        picture: Path            # decoding is predicted from its header; default: a JPEG of 12 megapixels
        picture_may_fail: bool
        floats_only: bool        # inputs are arrays of floats, never pictures
        fork: str                # Darknet fork: "darknet" (pjreddie's), "alexeyab", "auto"
        max_boxes: int           # before suppression
        reserve: int | str       # part of the budget left free for kernel memory
        lock: str                # lock arena and kept weights in memory: "on", "off", "auto"
        image_scaling: str       # "exact", or "fast": JPEGs are decoded smaller
        mean: float | Sequence[float]   # of pictures: (byte - mean) * scale, for each channel in the input's order
        scale: float | Sequence[float]
        channels: str            # of the input: "rgb", "bgr", "gray"
        resize: str              # "stretch", "letterbox", "corner", "crop"
        frames: str              # format of video frames for Model.run_frame: "640x480:yuv420p", yuvj420p, nv12, yuyv, rgb24, mjpeg
        frames_stay: bool        # keep the frame in Model.frame_room until its boxes are known; default: until it is read
        frames_outside: bool     # frames are stored outside the arena
        beside: int | str        # part of the budget that the caller uses besides the model
        pad: float               # byte that fills the border of a letterbox
        decode: str              # head of an ONNX or TFLite file: "yolov8", ..., "classes", "auto", "none"
        constants: Sequence[str]  # "NAME=FILE": inputs of such files that are constants
        plan_seconds: float      # limit of the search for a plan; below 0: the first plan
        runs: float              # expected number: a search pays in many; default 1


class Arena(Handle):
    """Memory that several models share, one running after the other. It grows to the needs of the largest.

    Running two at once is an Error (EINVAL) for the second. A run overwrites the outputs of the other models. While a
    frame_room of a model is referenced, no other model can be opened in the arena, since growing would move it.
    """

    _closes = "mafat_arena_close"

    def __init__(self) -> None:
        super().__init__()
        self._rooms: list[Any] = []  # weak references to the frame_rooms in it
        self._call(library.mafat_arena_open, byref(self._handle))


SIZES = {"memory": "memory_bytes", "reserve": "reserve_bytes", "beside": "beside_bytes"}
OTHERS = ("warnings", "link", "memory_name", "replace_name", "n_outputs", "n_constants", "n_calibrate")  # set by this package
CONVERT: dict[Any, Callable[[Any], Any]] = {c_char_p: path_of, c_int: lambda value: number_for(c_int, int(value)), c_bool: bool, c_double: float, c_size_t: count_bytes}


def in_use(rooms: list[Any]) -> list[Any]:
    """The frame_rooms that are still referenced."""
    return [room for room in (weak() for weak in rooms) if room is not None]


def floats(values: float | Sequence[float]) -> Sequence[float]:
    """One number for each of three channels."""
    numbers = [float(values)] * 3 if isinstance(values, (int, float)) else [float(v) for v in values]
    if len(numbers) not in (1, 3):
        raise Error(EINVAL, f"expected one number or three, found {len(numbers)}")
    return numbers * (3 // len(numbers))


def fill(struct: Structure, options: dict, where: str) -> None:
    """Sets fields by name. Pointers stay valid as long as the struct."""
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
