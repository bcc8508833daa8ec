"""libmafat.so.0 by ctypes: structs as declared in include/, functions, errors.

Structs begin with their size, so that this package works with other versions of the library.
python/tests/test_layout.py compares them with the headers.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64,
                    c_ubyte, c_void_p, sizeof)

SONAME = "libmafat.so.0"


class Error(Exception):
    """An error of the library, with its one-line message.

    code: ENOMEM, EIO, EFORMAT, EUNSUPPORTED, ELIMIT, EINVAL or ECANCELED; name: the library's name of the code.
    """

    code: int
    name: str

    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code
        self.name = text_of(library.mafat_error_name(code))

    def __reduce__(self):
        return Error, (self.code, str(self))


ENOMEM = -1        # the system refused memory
EIO = -2           # a file could not be opened, read or written
EFORMAT = -3       # a file's content is damaged or inconsistent
EUNSUPPORTED = -4  # well-formed, but not something this build runs
ELIMIT = -5        # a plan or size exceeds a limit or the budget
EINVAL = -6        # an argument or option makes no sense
ECANCELED = -7     # Model.cancel ended the run

THREADS_AUTO = -1  # the number that is predicted to be the fastest


class Diagnostic(Structure):
    _fields_ = [("text", c_char * 512)]


WARN = CFUNCTYPE(None, c_void_p, c_char_p)


class WarningSink(Structure):
    _fields_ = [("warn", WARN), ("context", c_void_p)]


class Sized(Structure):
    """A struct that begins with its size; all other fields are 0."""

    _fields_ = [("size", c_size_t)]

    def __init__(self) -> None:
        super().__init__(sizeof(self))


def open_library() -> ctypes.CDLL:
    """The library named by MAFAT_LIBRARY, else the system's. CDLL releases the interpreter lock during calls."""
    name = os.environ.get("MAFAT_LIBRARY")
    where = ("the library that MAFAT_LIBRARY names" if name else
             f"{SONAME}: install the package libmafat0, or set MAFAT_LIBRARY to the library's path")
    try:
        loaded = ctypes.CDLL(name or SONAME)
    except OSError as error:
        raise ImportError(f"{error}: expected {where}") from None
    if not hasattr(loaded, "mafat_model_options_fields"):
        raise ImportError(f"{name or SONAME}: expected {where}, found another library, or one older than this package")
    return loaded


library = open_library()

TYPES = {"size_t": c_size_t, "int": c_int, "bool": c_bool, "double": c_double, "char*": c_char_p, "size_t*": POINTER(c_size_t),
         "int*": POINTER(c_int), "float*": POINTER(c_float), "char**": POINTER(c_char_p), "mafat_warning_sink": WarningSink}


def options_of(loaded: ctypes.CDLL) -> list:
    """The fields of the library's struct, without the size."""
    loaded.mafat_model_options_fields.restype = c_char_p
    words = loaded.mafat_model_options_fields().decode().split()
    return [(name, TYPES.get(kind, c_void_p)) for name, kind in (word.split(":") for word in words[1:])]


class ModelOptions(Sized):
    _fields_ = options_of(library)


class FrameFacts(Sized):
    _fields_ = [("width", c_int), ("height", c_int), ("format", c_char_p), ("bytes", c_size_t), ("varies", c_bool)]


class MemoryFacts(Structure):
    _fields_ = [("process", c_size_t), ("threads", c_size_t), ("weights", c_size_t), ("activations", c_size_t), ("input", c_size_t),
                ("scratch", c_size_t), ("io", c_size_t), ("image", c_size_t), ("image_before", c_bool), ("kernel", c_size_t),
                ("rest", c_size_t), ("resident_bytes", c_size_t), ("charge_bytes", c_size_t)]


class PlanFacts(Sized):
    _fields_ = [("text", c_char_p), ("algorithm", c_char_p), ("threads", c_int), ("n_layers", c_int), ("n_groups", c_int),
                ("fits", c_bool), ("memory", MemoryFacts), ("arena_bytes", c_size_t), ("arena_bound_bytes", c_size_t),
                ("peak_name", c_char_p), ("peak_layer", c_int), ("peak_bytes", c_size_t), ("macs", c_uint64),
                ("redundant_macs", c_uint64), ("padded_macs", c_uint64), ("weights_read_bytes", c_uint64), ("latency_ms", c_double),
                ("compute_ms", c_double), ("reading_ms", c_double), ("calibrated", c_bool), ("raw_charge_bytes", c_size_t)]


class GroupFacts(Sized):
    _fields_ = [("first", c_int), ("last", c_int), ("cut", c_char * 256), ("rows", c_int), ("panels", c_bool), ("tile_rows", c_int),
                ("tile_cols", c_int), ("weights", c_char_p), ("peak_bytes", c_size_t), ("macs", c_uint64),
                ("redundant_macs", c_uint64), ("padded_macs", c_uint64), ("paper_bytes", c_size_t)]


class LayerFacts(Sized):
    _fields_ = [("type", c_char_p), ("in_h", c_int), ("in_w", c_int), ("in_c", c_int), ("out_h", c_int), ("out_w", c_int),
                ("out_c", c_int), ("kernel_size", c_int), ("stride", c_int), ("filters", c_int), ("group", c_int), ("inside", c_int),
                ("algorithm", c_char_p), ("weights", c_char_p), ("weights_bytes", c_size_t), ("macs", c_uint64),
                ("step_macs", c_uint64), ("arena_bytes", c_size_t), ("ms", c_double), ("position", c_int)]


class PictureFacts(Structure):
    _fields_ = [("channels", c_char_p), ("resize", c_char_p), ("mean", c_float * 3), ("scale", c_float * 3), ("pad", c_float),
                ("source", c_char_p), ("assumed", c_char_p)]


class ModelFacts(Sized):
    _fields_ = [("kind", c_int), ("input_h", c_int), ("input_w", c_int), ("input_c", c_int), ("cpu", c_char_p),
                ("budget_bytes", c_size_t), ("budget_source", c_char_p), ("packed", c_bool), ("kept_weights_bytes", c_size_t),
                ("reads_method", c_char_p), ("reads_directly", c_bool), ("load_ms", c_double),
                ("fork", c_char_p), ("fork_sign", c_char_p), ("max_boxes", c_int), ("reserve_bytes", c_size_t), ("lock", c_char_p),
                ("lock_reason", c_char_p), ("locked_bytes", c_size_t), ("picture", PictureFacts), ("decode", c_char_p),
                ("decode_sign", c_char_p), ("n_inputs", c_int), ("n_outputs", c_int), ("n_classes", c_int)]


class PortFacts(Sized):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("rank", c_int), ("dims", c_int64 * 8), ("n", c_size_t), ("scale", c_double),
                ("zero", c_int)]


class RunFacts(Sized):
    _fields_ = [("image_ms", c_double), ("layers_ms", c_double), ("picture_w", c_int), ("picture_h", c_int),
                ("input_failed", c_bool), ("weights_read_bytes", c_uint64), ("stall_scope", c_char_p), ("stall_some_us", c_uint64),
                ("stall_full_us", c_uint64)]


class ProcessFacts(Sized):
    _fields_ = [("resident_bytes", c_size_t), ("peak_bytes", c_size_t), ("swap_in_bytes", c_uint64), ("swap_out_bytes", c_uint64),
                ("major_faults", c_uint64)]


class FrontFacts(Sized):
    _fields_ = [("text", c_char_p), ("threads", c_int), ("charge_bytes", c_size_t), ("latency_ms", c_double)]


class Detection(Structure):
    _fields_ = [("class_id", c_int), ("confidence", c_float), ("x", c_float), ("y", c_float), ("w", c_float), ("h", c_float)]


class Detections(Structure):
    _fields_ = [("list", POINTER(Detection)), ("n", c_size_t), ("left_out", c_size_t), ("points", POINTER(c_float)), ("n_points", c_int)]


class ClassScore(Structure):
    _fields_ = [("class_id", c_int), ("confidence", c_float)]


class File(Sized):
    _fields_ = [("path", c_char_p), ("has_fd", c_bool), ("fd", c_int), ("data", c_void_p), ("bytes", c_size_t)]


class PackOptions(Sized):
    _fields_ = [("weights", c_char_p), ("activations", c_char_p), ("calibrate", POINTER(c_char_p)), ("n_calibrate", c_int),
                ("measure", c_char_p), ("keep_above", POINTER(c_double)), ("fork", c_char_p), ("constants", POINTER(c_char_p)),
                ("n_constants", c_int), ("replace", c_bool), ("replace_name", c_char_p), ("warnings", WarningSink),
                ("mean", POINTER(c_float)), ("scale", POINTER(c_float)), ("channels", c_char_p), ("resize", c_char_p),
                ("pad", POINTER(c_float)), ("decode", c_char_p)]


class PackFacts(Sized):
    _fields_ = [("path", c_char_p), ("pass_", c_int), ("share", c_double), ("n_layers", c_int), ("n_candidates", c_int), ("error", c_double),
                ("largest", c_double)]


class PackLayerFacts(Sized):
    _fields_ = [("layer", c_int), ("type", c_char_p), ("computes", c_char_p), ("weights", c_char_p), ("bytes", c_size_t),
                ("error", c_double), ("largest", c_double), ("kept", c_bool)]


class PackCandidateFacts(Sized):
    _fields_ = [("ranges", c_char_p), ("equalized", c_bool), ("error", c_double), ("taken", c_bool)]


TEXT, HANDLE, OUT, D = c_char_p, c_void_p, POINTER(c_void_p), POINTER(Diagnostic)
FLOATS = c_void_p  # an address: NumPy arrays are passed without copying

# Result, arguments. Functions with sized structs have their plain names here.
FUNCTIONS = {
    "mafat_error_name": (TEXT, c_int),
    "mafat_version": (TEXT,),
    "mafat_holds_weights": (c_bool, TEXT),
    "mafat_model_options_fields": (TEXT,),
    "mafat_arena_open": (c_int, OUT, D),
    "mafat_arena_close": (None, OUT),
    "mafat_model_open_files": (c_int, OUT, POINTER(File), POINTER(File), POINTER(ModelOptions), D),
    "mafat_model_close": (None, OUT),
    "mafat_model_run_picture": (c_int, HANDLE, TEXT, D),
    "mafat_frame_describe": (c_int, TEXT, POINTER(FrameFacts), D),
    "mafat_model_frame_room": (c_void_p, HANDLE),
    "mafat_model_run_frame": (c_int, HANDLE, c_void_p, c_size_t, D),
    "mafat_model_run_pixels": (c_int, HANDLE, c_void_p, c_int, c_int, c_int, c_size_t, D),
    "mafat_model_set_input": (c_int, HANDLE, TEXT, FLOATS, c_size_t, D),
    "mafat_model_set_input_file": (c_int, HANDLE, TEXT, TEXT, D),
    "mafat_model_run_inputs": (c_int, HANDLE, D),
    "mafat_model_read_output": (c_int, HANDLE, TEXT, FLOATS, c_size_t, D),
    "mafat_model_layer_shape": (c_int, HANDLE, c_int, POINTER(c_int), POINTER(c_int), POINTER(c_int)),
    "mafat_model_read_layer": (c_int, HANDLE, c_int, FLOATS, D),
    "mafat_model_detect": (c_int, HANDLE, c_float, c_float, POINTER(POINTER(Detections)), D),
    "mafat_detections_close": (None, POINTER(POINTER(Detections))),
    "mafat_model_classify": (c_int, HANDLE, POINTER(ClassScore), c_int, POINTER(c_int), D),
    "mafat_model_rest": (None, HANDLE),
    "mafat_model_cancel": (None, HANDLE),
    "mafat_model_describe": (c_int, HANDLE, POINTER(ModelFacts)),
    "mafat_model_describe_plan": (c_int, HANDLE, POINTER(PlanFacts)),
    "mafat_model_layer": (c_int, HANDLE, c_int, POINTER(LayerFacts)),
    "mafat_model_group": (c_int, HANDLE, c_int, POINTER(GroupFacts)),
    "mafat_model_last_run": (c_int, HANDLE, POINTER(RunFacts)),
    "mafat_model_describe_input": (c_int, HANDLE, c_int, POINTER(PortFacts)),
    "mafat_model_describe_output": (c_int, HANDLE, c_int, POINTER(PortFacts)),
    "mafat_process_measure": (c_int, POINTER(ProcessFacts)),
    "mafat_dry_run_open_files": (c_int, OUT, POINTER(File), POINTER(File), POINTER(ModelOptions), D),
    "mafat_dry_run_close": (None, OUT),
    "mafat_dry_run_budgets": (c_int, HANDLE, POINTER(c_size_t), c_int),
    "mafat_dry_run_pack": (c_int, OUT, HANDLE, TEXT, D),
    "mafat_dry_run_report": (c_int, OUT, HANDLE, c_size_t, D),
    "mafat_plan_report_close": (None, OUT),
    "mafat_plan_report_describe": (c_int, HANDLE, POINTER(PlanFacts)),
    "mafat_pack_open_files": (c_int, OUT, POINTER(File), POINTER(File), TEXT, POINTER(PackOptions), D),
    "mafat_pack_step": (c_int, HANDLE, POINTER(c_bool), D),
    "mafat_pack_describe": (c_int, HANDLE, POINTER(PackFacts)),
    "mafat_pack_layer": (c_int, HANDLE, c_int, POINTER(PackLayerFacts)),
    "mafat_pack_candidate": (c_int, HANDLE, c_int, POINTER(PackCandidateFacts)),
    "mafat_pack_close": (None, OUT),
}


for function_name, (result, *arguments) in FUNCTIONS.items():
    function = getattr(library, function_name)
    function.restype = result
    function.argtypes = arguments


def text_of(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def path_of(path: str | bytes | os.PathLike) -> bytes:
    """The bytes of a path; rejects zeros, where the library would stop."""
    return text_for(os.fsencode(path))


def file_of(source) -> File | None:
    """Describes a path, an open file with a fileno(), or bytes in memory (memoryview, bytearray, mmap), and keeps a reference to it."""
    if source is None:
        return None
    file = File()
    if isinstance(source, (str, bytes, os.PathLike)):
        file.path = path_of(source)
    elif hasattr(source, "fileno"):
        file.has_fd, file.fd = True, source.fileno()
        name = getattr(source, "name", None)
        file.path = path_of(name) if isinstance(name, (str, bytes)) else None
    else:
        import numpy  # pylint: disable=import-outside-toplevel

        array = numpy.frombuffer(source, numpy.uint8)
        file.data, file.bytes = array.ctypes.data, array.nbytes
        source = array
    file.source = source
    return file


def text_for(text: str | bytes) -> bytes:
    encoded = text.encode() if isinstance(text, str) else text
    if b"\0" in encoded:
        raise Error(EINVAL, f"expected a text without zeros, found {text!r}")
    return encoded


def number_for(kind: type, value: int) -> int:
    """The value, if it fits the library's type; ctypes would truncate it."""
    if kind(value).value != value:
        raise Error(EINVAL, f"expected a smaller number, found {value}")
    return value


def count_bytes(size: int | str) -> int:
    """A size as in the programs' options: bytes, or with K, M or G (1024 each)."""
    number = str(size).lower().removesuffix("b").removesuffix("i")
    unit = {"k": 10, "m": 20, "g": 30}.get(number[-1:], 0)
    digits = number[:-1] if unit else str(size)
    if not digits.isdecimal():
        raise Error(EINVAL, f"expected a size like 64M, 16384K or bytes, found '{size}'")
    return number_for(c_size_t, int(digits) << unit)


class Handle:
    """An object of the library, closed once: by close(), at the end of a with, or by the garbage collector."""

    _closes: str  # name of the library's function

    def __init__(self) -> None:
        self._handle = c_void_p()
        self._diagnostic = Diagnostic()

    def close(self) -> None:
        """Frees everything. Afterwards only close() may be called."""
        if self._handle:
            getattr(library, self._closes)(byref(self._handle))

    def _alive(self) -> c_void_p:
        if not self._handle:
            raise Error(EINVAL, f"{type(self).__name__} is closed")
        return self._handle

    def _call(self, function, *arguments) -> None:
        """Calls a function whose last argument is a diagnostic; raises Error if it fails."""
        code = function(*arguments, byref(self._diagnostic))
        if code != 0:
            raise Error(code, text_of(self._diagnostic.text))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()

    def __reduce__(self):
        raise TypeError(f"{type(self).__name__} can be neither copied nor pickled: two would close the same")

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask(function, handle: c_void_p, kind: type[Structure], index: int | None = None):
    """The struct that a function fills in."""
    facts = kind()
    function(handle, *([] if index is None else [index]), byref(facts))
    return facts


def take(kind, facts: Structure, **others):
    """The struct's fields as a tuple; others replaces some of them."""
    return kind(others[name] if name in others else value_of(getattr(facts, name)) for name in kind._fields)


def value_of(value):
    return text_of(value) if isinstance(value, bytes) else tuple(value) if isinstance(value, ctypes.Array) else value
