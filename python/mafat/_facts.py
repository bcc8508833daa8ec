"""What is known of models and plans: plain tuples with names. Bytes are bytes, milliseconds real time, MACs multiply-adds, shapes
rows, columns and channels."""
from __future__ import annotations

from operator import itemgetter


class Facts(tuple):
    """A tuple whose items have the names of the class's annotations. (typing's NamedTuple brings 1.6 MB with it.)"""

    _fields: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = tuple(cls.__annotations__)
        for index, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(index)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in zip(self._fields, self))})"


class Memory(Facts):
    """Where predicted bytes go; at the peak, while the layers run, the first ten add up to charge_bytes."""

    process: int      # resident in this process whatever the plan: code, heap, stack
    threads: int      # that compute beside the caller's: their stacks
    weights: int      # kept, and those that are loaded at the peak
    activations: int
    input: int
    scratch: int
    io: int           # where streamed weights are read to; page cache of the picture's file
    image: int        # the picture's decoder
    kernel: int       # the kernel's own for the process
    rest: int         # gaps in the arena, rounding up, what the kernel charges ahead, and the reserve
    image_before: bool  # the decoder works before the layers run, and not while: no part of the sum
    resident_bytes: int  # of the process while the layers run: at most
    charge_bytes: int    # what a memory cgroup counts for it: at most; budgets are compared with it


class Plan(Facts):
    """A plan, and what it is predicted to take."""

    text: str          # as in the option plan, and mafat-plan(7)
    algorithm: str     # of convolutions, where the text says nothing else
    threads: int
    n_layers: int
    n_groups: int
    fits: bool         # memory.charge_bytes within the budget
    memory: Memory
    arena_bytes: int   # the one mapping that holds all but kept weights
    arena_bound_bytes: int  # the largest sum of what lives at one time in it: no arena could be smaller
    peak_name: str     # the largest thing at the peak: "activations", "scratch", "input", "kept weights", "weights", "io"
    peak_layer: int    # whose it is; -1: no layer's
    peak_bytes: int
    macs: int          # as direct convolution counts, whatever the algorithm
    redundant_macs: int  # of them: computed again where tiles overlap
    padded_macs: int   # that kernels multiply, with padding, and with Winograd's savings
    weights_read_bytes: int  # from the file in every run; 0: all are kept
    latency_ms: float  # predicted, of all layers: without opening and decoding a picture
    compute_ms: float  # of it: computing
    reading_ms: float  # reading weights, were it alone; most of it happens beside computing
    calibrated: bool   # by this machine's calibration; else by built-in figures


class Group(Facts):
    """Layers that are run together, first and last included."""

    first: int
    last: int
    cut: str           # as in the plan's text
    rows: int          # rolling windows of at least so many rows; 0: none
    panels: bool       # whole maps, some filters at a time
    tile_rows: int     # else tiles of the group's output; 1 x 1 is a whole map
    tile_cols: int
    weights: str       # "kept", "loaded" or "streamed"
    peak_bytes: int    # the largest sum of what lives in the arena while it runs
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
    group: int         # that it is run in
    inside: int        # the layer in whose step it is computed, without a map of its own; -1: in its own
    algorithm: str | None  # of a convolution
    weights: str | None    # "kept", "loaded", "streamed"; None: it has none
    weights_bytes: int  # packed
    macs: int
    step_macs: int
    arena_bytes: int   # of its output and of what it works in
    ms: float          # of its step in the last run; 0 where none was
    position: int      # of its step in the order of the run


class Picture(Facts):
    """How pictures become the input: of each channel (byte - mean) * scale."""

    channels: str | None  # None: the input takes no pictures
    resize: str | None
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    pad: float
    source: str | None    # of mean and scale: "options", "file", "default"


class Port(Facts):
    """An input or output by its name, of rank dimensions dims, all of them n floats."""

    name: str
    type: str          # "float32"; of an input also "int32", "int64", "int8", "uint8": its elements in files
    dims: tuple[int, ...]
    n: int
    scale: float       # of 8-bit numbers in the model: they mean scale * (number - zero); 0: there are none
    zero: int


class Run(Facts):
    """The last run."""

    image_ms: float    # opening, decoding and scaling the picture, or taking the floats
    layers_ms: float   # all else
    picture_w: int     # as seen; what boxes are relative to
    picture_h: int
    weights_read_bytes: int  # from the weights file since the model was opened
    stall_scope: str | None  # who waited for memory meanwhile: "cgroup", "system"; None: the kernel does not count
    stall_some_us: int
    stall_full_us: int


class Process(Facts):
    """This process, since its start; of swap the whole system's."""

    resident_bytes: int  # now
    peak_bytes: int
    swap_in_bytes: int
    swap_out_bytes: int
    major_faults: int


class Box(Facts):
    """A detection: x and y are its top left corner, in pixels of the picture (of the network's input after arrays); it may lie
    outside."""

    x: float
    y: float
    w: float
    h: float
    confidence: float
    class_id: int
    label: str | None  # of the class, where names were given
    points: tuple[tuple[float, float], ...]  # of faces: eyes, nose, corners of the mouth; else none


class Score(Facts):
    """A class, and how likely it is."""

    class_id: int
    confidence: float
    label: str | None


class PackedLayer(Facts):
    """What a narrow type does to a layer."""

    layer: int
    type: str
    computes: str      # "float32", or with whole numbers "int8"
    weights: str | None  # their type in the file
    bytes: int
    error: float       # of what the layer puts out, all before it as with floats: root of the mean of squares, relative
    largest: float     # difference, of the largest magnitude
    kept: bool         # wider than was asked for


class Packed(Facts):
    """What mafat.pack has written. Figures of errors are 0 and none where nothing was measured."""

    path: str
    bytes: int
    error: float       # of the network's outputs, with all layers as they are in the file: relative, as a layer's
    largest: float
    layers: tuple[PackedLayer, ...]
