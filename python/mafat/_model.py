"""Models that run."""
from __future__ import annotations

import os
import warnings
from ctypes import POINTER, byref, c_int
from threading import RLock

from mafat import _library as c
from mafat._facts import Box, Facts, Group, Layer, Memory, Picture, Plan, Port, Process, Run, Score
from mafat._library import EINVAL, Error, ask, file_of, library, number_for, path_of, take, text_for, text_of
from mafat._options import in_use, model_options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Union, Unpack

    import numpy

    from mafat._options import Options, Path, Source

    Input = Union[numpy.ndarray, Sequence, Path]

KINDS = ("other", "detector", "classifier")


class Report(Facts):
    """Predicted and measured figures, like run_inference --report. str() gives a table."""

    plan: Plan
    groups: tuple[Group, ...]
    layers: tuple[Layer, ...]
    run: Run
    process: Process

    def __str__(self) -> str:
        mib = 1 << 20
        m, r = self.plan.memory, self.run
        lines = [f"plan {self.plan.text}, {self.plan.threads} thread{'s' * (self.plan.threads != 1)}",
                 f"predicted {m.charge_bytes / mib:.1f} MiB charged, {m.resident_bytes / mib:.1f} MiB resident, {self.plan.latency_ms:.1f} ms",
                 f"measured  {f'{self.process.resident_bytes / mib:.1f} MiB' if self.process.resident_bytes else 'unknown'} resident now, "
                 f"{r.image_ms:.1f} + {r.layers_ms:.1f} ms"]
        lines += [f"  {tag:<12}{value / mib:9.1f} MiB" for tag, value in zip(Memory._fields, m[:10]) if value]
        lines += ["layer  type             group  out            algorithm           ms"]
        lines += [f"{i:5}  {l.type:<15}  {l.group:5}  {f'{l.out_h}x{l.out_w}x{l.out_c}':<13}  {l.algorithm or '':<14}  {l.ms:6.2f}"
                  for i, l in enumerate(self.layers)]
        return "\n".join(lines)


def read_names(names: Path | Sequence[str] | None) -> Sequence[str]:
    """The names, or those in a file with one name a line."""
    if names is None or not isinstance(names, (str, bytes, os.PathLike)):
        return names or ()
    with open(names, "rb") as file:  # as in the programs: only a newline ends a line
        lines = file.read().decode("utf-8-sig", "replace").split("\n")
    return [line.rstrip("\r") for line in (lines if lines[-1] else lines[:-1])]


# NumPy is imported with the first array, because it needs more memory than most networks.


def as_pixels(picture: Any, bgr: bool) -> numpy.ndarray:
    """Interleaved bytes, (rows, columns, 1, 3 or 4 channels); a view if the library can read the array in place."""
    import numpy
    if hasattr(picture, "convert") and getattr(picture, "mode", "RGB") not in ("L", "RGB", "RGBA"):  # Pillow's
        picture = picture.convert("RGB")
    pixels = numpy.asarray(picture)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.dtype != numpy.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or not pixels.size:
        raise Error(EINVAL, "expected a picture as bytes of (rows, columns) or (rows, columns, 1, 3 or 4 channels), found "
                            f"{pixels.dtype} of {pixels.shape}")
    if bgr and pixels.shape[2] > 1:
        pixels = pixels[:, :, 2::-1]
    _, w, n = pixels.shape
    in_a_row = pixels.strides[0] >= w * n and pixels.strides[1] == n and (n == 1 or pixels.strides[2] == 1)
    return pixels if in_a_row else numpy.ascontiguousarray(pixels)


def as_floats(value: Any, port: Port) -> numpy.ndarray:
    """The values of an input: the array itself if it has contiguous floats."""
    import numpy
    array = numpy.require(value, numpy.float32, "CA")
    shape, wanted = ([n for n in dims if n != 1] for dims in (array.shape, port.dims))
    if array.size != port.n or (array.ndim > 1 and shape != wanted):
        raise Error(EINVAL, f"input '{port.name}': expected {'x'.join(map(str, port.dims))} numbers, found {'x'.join(map(str, array.shape))}")
    return array


def address_of(array: numpy.ndarray | None) -> int | None:
    return None if array is None else array.__array_interface__["data"][0]


class Left(c.Handle):
    """A model that was closed while its frame_room was referenced. It lives as long as the frame_room."""

    _closes = "mafat_model_close"

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._needs = model._options, model._arena
        self._handle, model._handle = model._handle, self._handle


class Model(c.Handle):
    """A network that was opened within a memory budget by mafat.open.

    inputs, outputs: its ports, with names and dimensions; names: its class names, as given.

    Any thread may use it; threads wait for each other. Other Python threads continue during a run. After os.fork() the
    child can run it if it has one thread and kept weights; it can only close other models.
    """

    _closes = "mafat_model_close"

    def __init__(self, model: Source, weights: Source | None = None, *, names: Path | Sequence[str] | None = None,
                 warn: Callable[[str], None] | None = None, **options: Unpack[Options]) -> None:
        """Opens a cfg and its weights, or one ONNX, TFLite or packed file.

        model, weights: a path (str, bytes, os.PathLike), an open file, or bytes in memory that do not change (memoryview,
        bytearray, mmap).
        names: class names: a file with one a line, or a sequence. warn: called with each warning; None: warnings.warn.
        options: memory="16M", plan, threads, ..., as in struct mafat_model_options of mafat.h (mafat._options.Options).
        The budget is for the whole process, Python included.
        """
        super().__init__()
        self.names = read_names(names)
        self._process, self._lock, self._closing = os.getpid(), RLock(), RLock()
        self._warned: list[str] = []
        self._warn = warn
        self._options = model_options(dict(options), "open", self._warned.append)
        self._arena = options.get("arena")
        self._rooms: list[Any] = self._arena._rooms if self._arena else []
        if in_use(self._rooms):
            raise Error(EINVAL, "arena: expected one that may grow, and move, found one of which somebody has a frame_room")
        self._files = file_of(model), file_of(weights)
        self._call(library.mafat_model_open_files, byref(self._handle), *self._files, byref(self._options))
        self._pass_warnings(3)
        facts = self._facts()
        self.inputs = self._ports(facts.n_inputs, library.mafat_model_describe_input)
        self.outputs = self._ports(facts.n_outputs, library.mafat_model_describe_output)

    def _pass_warnings(self, stacklevel: int) -> None:
        while self._warned:
            text = self._warned.pop(0)
            self._warn(text) if self._warn else warnings.warn(text, stacklevel=stacklevel)

    def _ports(self, n: int, describe: Any) -> tuple[Port, ...]:
        ports = (ask(describe, self._handle, c.PortFacts, i) for i in range(n))
        return tuple(take(Port, p, dims=tuple(p.dims[:p.rank])) for p in ports)

    def _mine(self) -> Any:
        """The lock of the model. After os.fork() the child gets a new one, since the owner may be a thread that it lacks."""
        if self._process != os.getpid():
            self._process, self._lock, self._closing = os.getpid(), RLock(), RLock()
        return self._lock

    def close(self) -> None:
        """Frees the model, or, while frame_room is referenced, after that. Not from within one of its own calls, such as in
        a signal handler.
        """
        mine = self._mine()
        if mine._is_owned():
            raise Error(EINVAL, "the model is in use by this thread: it can be closed when that call is over")
        with mine, self._closing:
            rooms = [room for room in in_use(self._rooms) if room._model is self]
            left = Left(self) if rooms and self._handle else None
            for room in rooms:
                room._model = left
            super().close()

    # ---- running

    def run(self, inputs: dict[str, Input] | Input | None = None, *, picture: Any = None, bgr: bool = False,
            out: dict[str, numpy.ndarray] | None = None) -> dict[str, numpy.ndarray]:
        """Runs on arrays and returns all outputs by name, as float32 arrays of their dimensions.

        inputs: by name, or the only one. An array of the input's dimensions (without those of 1, if you like); contiguous
        float32 is read in place, anything else is copied. Or the path of a raw or .npy file.
        picture: for the first input, as in detect; inputs has the others.
        out: contiguous float32 arrays to write these outputs to.
        """
        unknown = set(out or ()) - {port.name for port in self.outputs}
        if unknown:
            raise Error(EINVAL, f"out: expected outputs of this network, found '{unknown.pop()}'")
        with self._mine():
            self._run(inputs, picture, bgr)
            return {port.name: self._read(port, None if out is None else out.get(port.name)) for port in self.outputs}

    def detect(self, picture: Any = None, thresh: float = 0.5, nms: float = 0.45, *, bgr: bool = False,
               inputs: dict[str, Input] | None = None) -> list[Box]:
        """Boxes, most confident first.

        picture: the path of a JPEG, PNG, BMP or PPM file; a Pillow image; or bytes of (rows, columns, channels), red first (bgr: blue
        first, as in OpenCV), read in place if the pixels of a row are contiguous. None: boxes of the last run.
        thresh: smallest confidence; nms: overlap above which the less confident of two boxes is removed.
        """
        with self._mine():
            if picture is not None or inputs is not None:
                self._run(inputs, picture, bgr)
            found = POINTER(c.Detections)()
            self._call(library.mafat_model_detect, self._alive(), thresh, nms, byref(found))
            try:
                return [self._box(found, i) for i in range(found.contents.n)]
            finally:
                library.mafat_detections_close(byref(found))

    def classify(self, picture: Any = None, k: int = 5, *, bgr: bool = False, inputs: dict[str, Input] | None = None) -> list[Score]:
        """The k most likely classes, most likely first. Pictures as in detect."""
        with self._mine():
            if picture is not None or inputs is not None:
                self._run(inputs, picture, bgr)
            if k < 1:
                raise Error(EINVAL, f"k: expected 1 or more, found {k}")
            top, n = (c.ClassScore * k)(), c_int()
            self._call(library.mafat_model_classify, self._alive(), top, k, byref(n))
            return [Score((s.class_id, s.confidence, self._label(s.class_id))) for s in top[:n.value]]

    @property
    def frame_room(self) -> memoryview:
        """A buffer in the arena for a frame of video. Fill it before each run. The model's memory stays allocated while the
        buffer is referenced.
        """
        import weakref
        facts = c.FrameFacts()
        with self._mine():
            room = library.mafat_model_frame_room(self._alive())
            if not room:
                raise Error(EINVAL, "the model was opened without frames")
            self._call(library.mafat_frame_describe, self._options.frames, byref(facts))
            array: Any = (c.c_ubyte * facts.bytes).from_address(room)
            array._model = self
            self._rooms[:] = [weak for weak in self._rooms if weak() is not None] + [weakref.ref(array)]
        return memoryview(array).cast("B")

    def run_frame(self, frame: Any) -> None:
        """Runs on a frame in the format of the option frames; detect() then returns its boxes. frame_room and other writable
        buffers are read in place, read-only ones are copied.
        """
        view = memoryview(frame).cast("B")
        kept = (c.c_ubyte * view.nbytes).from_buffer_copy(view) if view.readonly else (c.c_ubyte * view.nbytes).from_buffer(view)
        with self._mine():
            self._call(library.mafat_model_run_frame, self._alive(), kept, view.nbytes)

    def read_layer(self, layer: int) -> numpy.ndarray:
        """The output of a layer, (channels, rows, columns): the last one, heads, and those of the option outputs."""
        import numpy
        h, w, n = c_int(), c_int(), c_int()
        with self._mine():
            if library.mafat_model_layer_shape(self._alive(), number_for(c_int, layer), byref(h), byref(w), byref(n)):
                raise Error(EINVAL, f"expected a layer of this network, found {layer}")
            array = numpy.empty((n.value, h.value, w.value), numpy.float32)
            self._call(library.mafat_model_read_layer, self._alive(), layer, address_of(array))
            return array

    def rest(self) -> None:
        """Frees the arena's pages until the next run. Outputs are lost; kept weights stay."""
        with self._mine():
            library.mafat_model_rest(self._alive())

    def cancel(self) -> None:
        """Called from another thread: ends the current run after its current step, with an Error (ECANCELED). Does nothing
        between runs.
        """
        self._mine()
        with self._closing:
            library.mafat_model_cancel(self._alive())

    def _run(self, inputs: Any, picture: Any, bgr: bool) -> None:
        handle = self._alive()
        if inputs is None:
            inputs = {}
        elif not isinstance(inputs, dict):
            inputs = {self.inputs[0].name: inputs}
        kept = []  # arrays stay alive until the inputs are reset, also if a call fails
        try:
            for name, value in inputs.items():
                kept.append(self._set(name, value))
            if picture is None:
                self._call(library.mafat_model_run_inputs, handle)
            elif isinstance(picture, (str, bytes, os.PathLike)):
                self._call(library.mafat_model_run_picture, handle, path_of(picture))
            else:
                pixels = as_pixels(picture, bgr)
                h, w, n = pixels.shape
                self._call(library.mafat_model_run_pixels, handle, address_of(pixels), w, h, n, pixels.strides[0])
        finally:
            for port in self.inputs:
                library.mafat_model_set_input(handle, port.name.encode(), None, 0, None)
            del kept
        self._pass_warnings(4)

    def _set(self, name: str, value: Any) -> numpy.ndarray | None:
        handle, key = self._alive(), text_for(name)
        if isinstance(value, (str, bytes, os.PathLike)):
            self._call(library.mafat_model_set_input_file, handle, key, path_of(value))
            return None
        port = next((p for p in self.inputs if p.name == name), None)
        array = as_floats(value, port) if port else None  # the library rejects the name
        self._call(library.mafat_model_set_input, handle, key, address_of(array), 0 if array is None else array.size)
        return array

    def _read(self, port: Port, array: numpy.ndarray | None) -> numpy.ndarray:
        import numpy
        if array is None:
            array = numpy.empty(port.dims, numpy.float32)
        elif not isinstance(array, numpy.ndarray) or array.dtype != numpy.float32 or not array.flags.carray:
            raise Error(EINVAL, f"output '{port.name}': expected an array of float32, contiguous, aligned and writeable")
        self._call(library.mafat_model_read_output, self._alive(), port.name.encode(), address_of(array), array.size)
        return array

    def _label(self, class_id: int) -> str | None:
        return self.names[class_id] if class_id < len(self.names) else None

    def _box(self, found: Any, index: int) -> Box:
        d, points, n = found.contents.list[index], found.contents.points, found.contents.n_points
        return Box((d.x, d.y, d.w, d.h, d.confidence, d.class_id, self._label(d.class_id),
                    tuple((points[2 * i], points[2 * i + 1]) for i in range(index * n, (index + 1) * n))))

    # ---- facts

    def _facts(self) -> c.ModelFacts:
        with self._mine():
            return ask(library.mafat_model_describe, self._alive(), c.ModelFacts)

    def _plan(self) -> c.PlanFacts:
        with self._mine():
            return ask(library.mafat_model_describe_plan, self._alive(), c.PlanFacts)

    @property
    def plan(self) -> str:
        """The plan in use, in the syntax of the option plan."""
        return text_of(self._plan().text)

    @property
    def predicted(self) -> Plan:
        """The plan with its predicted bytes by use, and milliseconds."""
        return plan_of(self._plan())

    @property
    def kind(self) -> str:
        """"detector", "classifier" or "other"."""
        return KINDS[self._facts().kind]

    @property
    def cpu(self) -> str:
        """The kernel level, such as "avx512"."""
        return text_of(self._facts().cpu)

    @property
    def picture(self) -> Picture:
        """How pictures become the input."""
        return take(Picture, self._facts().picture)

    @property
    def last_run(self) -> Run:
        """Milliseconds and picture size of the last run. All 0 before the first."""
        with self._mine():
            return take(Run, ask(library.mafat_model_last_run, self._alive(), c.RunFacts))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Each layer: shapes, how it is computed, bytes, milliseconds of the last run."""
        return self._list(Layer, library.mafat_model_layer, c.LayerFacts, self._plan().n_layers)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups of layers that run together, in the order of the plan's text."""
        return self._list(Group, library.mafat_model_group, c.GroupFacts, self._plan().n_groups)

    def _list(self, kind: Any, function: Any, facts: Any, n: int) -> tuple:
        with self._mine():
            return tuple(take(kind, ask(function, self._alive(), facts, i)) for i in range(n))

    def report(self) -> Report:
        """All facts, with the figures of the last run and of the process. print() it."""
        process = c.ProcessFacts()
        library.mafat_process_measure(byref(process))
        return Report((self.predicted, self.groups, self.layers, self.last_run, take(Process, process)))


def plan_of(facts: c.PlanFacts) -> Plan:
    return take(Plan, facts, memory=take(Memory, facts.memory))
