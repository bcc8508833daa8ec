"""Facts about models and plans, as named tuples. Sizes are in bytes, times in milliseconds of wall time, MACs are
multiply-adds, shapes are rows, columns and channels.
"""
from __future__ import annotations

from operator import itemgetter


class Facts(tuple):
    """A tuple whose items have the names of the class's annotations. (typing.NamedTuple would use 1.6 MB more.)"""

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        for index, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(index)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self))})"


class Memory(Facts):
    """Predicted bytes by use, at the peak of the layers. The first ten add up to charge_bytes."""

    process: int      # resident whatever the plan: code, heap, stack
    threads: int      # stacks of the additional threads
    weights: int      # kept weights, and those loaded at the peak
    activations: int
    input: int
    scratch: int
    io: int           # buffers of streamed weights; page cache of the picture's file
    image: int        # the picture's decoder
    kernel: int       # kernel memory of the process
    rest: int         # gaps in the arena, rounding, charges in advance by the kernel, and the reserve
    image_before: bool  # the decoder finishes before the layers run: image is not part of the sum
    resident_bytes: int  # at most, while the layers run
    charge_bytes: int    # at most, as a memory cgroup counts it; compared with the budget


class Plan(Facts):
    """A plan with its predicted memory and time."""

    text: str          # as in the option plan, and mafat-plan(7)
    algorithm: str     # of convolutions for which the text names none
    threads: int
    n_layers: int
    n_groups: int
    fits: bool         # memory.charge_bytes within the budget
    memory: Memory
    arena_bytes: int   # the one mapping with everything but kept weights
    arena_bound_bytes: int  # lower bound: the most bytes that are live at one time
    peak_name: str     # largest part at the peak: "activations", "scratch", "input", "kept weights", "weights", "io"
    peak_layer: int    # its layer, or -1
    peak_bytes: int
    macs: int          # as direct convolution counts, whatever the algorithm
    redundant_macs: int  # part of macs that is computed again, where tiles overlap
    padded_macs: int   # as the kernels compute them, with padding and with Winograd's savings
    weights_read_bytes: int  # in every run; 0: all weights are kept
    latency_ms: float  # predicted for all layers, without opening and decoding a picture
    compute_ms: float  # part of latency_ms spent computing
    reading_ms: float  # reading weights by itself; most of it overlaps with computing
    calibrated: bool   # predicted by this machine's calibration, else by built-in figures
    raw_charge_bytes: int  # of a dry run for which a picture was assumed: charge of raw inputs in its place; else 0


class Group(Facts):
    """Layers that run together, from first to last, both included."""

    first: int
    last: int
    cut: str           # as in the plan's text
    rows: int          # rows in rings, at least; 0: none
    panels: bool       # whole maps in channel panels
    tile_rows: int     # else tiles of the group's output; 1 x 1 is a whole map
    tile_cols: int
    weights: str       # "kept", "loaded" or "streamed"
    peak_bytes: int    # most live bytes in the arena while it runs
    macs: int
    redundant_macs: int
    padded_macs: int


class Layer(Facts):
    """A layer of the network, and how it is computed."""

    type: str
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    kernel_size: int
    stride: int
    filters: int
    group: int         # its group
    inside: int        # the layer whose step computes it, without a map of its own; -1: its own
    algorithm: str | None  # of a convolution
    weights: str | None    # "kept", "loaded", "streamed"; None: it has none
    weights_bytes: int  # packed
    macs: int
    step_macs: int
    arena_bytes: int   # of its output and scratch
    ms: float          # of its step in the last run; 0 before the first
    position: int      # of its step in the execution order


class Picture(Facts):
    """How pictures become the input: (byte - mean) * scale for each channel."""

    channels: str | None  # None: the input takes no pictures
    resize: str | None
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    pad: float
    source: str | None    # of mean and scale: "options", "file", "default"
    assumed: str | None   # head whose usual preprocessing is used where neither options nor the file give a value


class Port(Facts):
    """An input or output: its name, dimensions, and n values."""

    name: str
    type: str          # "float32"; for inputs also "int32", "int64", "int8", "uint8": the elements of its files
    dims: tuple[int, ...]
    n: int
    scale: float       # of 8-bit values in the model, dequantized as scale * (value - zero); 0: not quantized
    zero: int


class Run(Facts):
    """The last run."""

    image_ms: float    # opening, decoding and scaling the picture, or taking the floats
    layers_ms: float   # all else
    picture_w: int     # upright; boxes are relative to it
    picture_h: int
    weights_read_bytes: int  # since the model was opened
    stall_scope: str | None  # whose waits for memory are counted: "cgroup", "system"; None: the kernel does not count
    stall_some_us: int
    stall_full_us: int


class Process(Facts):
    """This process since its start; swap counts the whole system. 0: not reported by the system."""

    resident_bytes: int  # now
    peak_bytes: int
    swap_in_bytes: int
    swap_out_bytes: int
    major_faults: int


class Box(Facts):
    """A detection. x and y are the top left corner in pixels of the picture, or of the network's input if that was an
    array. It may be outside the picture.
    """

    x: float
    y: float
    w: float
    h: float
    confidence: float
    class_id: int
    label: str | None  # if names were given
    points: tuple[tuple[float, float], ...]  # keypoints of faces: eyes, nose, corners of the mouth


class Score(Facts):
    """A class and its confidence."""

    class_id: int
    confidence: float
    label: str | None


class PackedLayer(Facts):
    """A layer of a packed file, with the error of its type."""

    layer: int
    type: str
    computes: str      # type of its arithmetic: "float32" or "int8"
    weights: str | None  # their type in the file
    bytes: int
    error: float       # relative root mean square error of its output, with float layers before it
    largest: float     # largest difference, relative to the largest magnitude
    kept: bool         # has a wider type than requested


class Packed(Facts):
    """The file that mafat.pack wrote. Errors are 0 if nothing was measured."""

    path: str
    bytes: int
    error: float       # of the network's outputs, with all layers as in the file; relative, as for a layer
    largest: float
    layers: tuple[PackedLayer, ...]
