"""Packed files."""
from __future__ import annotations

import os
import warnings
from ctypes import byref, c_bool

from mafat import _library as c
from mafat._facts import Packed, PackedLayer
from mafat._library import WARN, ask, file_of, library, path_of, take, text_of
from mafat._options import fill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mafat._options import Path, Source


class Pack(c.Handle):
    _closes = "mafat_pack_close"

    def __init__(self, model: Source, weights: Source | None, out: Path, options: dict) -> None:
        super().__init__()
        warned: list[str] = []
        self.warned = warned
        self._options = c.PackOptions()
        # The library keeps pointers to these.
        self._files = [file_of(model), file_of(weights), path_of(out)]
        self._options.warnings.warn = WARN(lambda _, text: warned.append(text_of(text)))
        fill(self._options, options, "pack")
        self._call(library.mafat_pack_open_files, byref(self._handle), *self._files, byref(self._options))

    def step(self) -> bool:
        done = c_bool()
        self._call(library.mafat_pack_step, self._alive(), byref(done))
        return done.value

    def facts(self) -> c.PackFacts:
        return ask(library.mafat_pack_describe, self._alive(), c.PackFacts)

    def layers(self, n: int) -> tuple[PackedLayer, ...]:
        return tuple(take(PackedLayer, ask(library.mafat_pack_layer, self._alive(), c.PackLayerFacts, i)) for i in range(n))


def pack(model: Source, weights: Source | None, out: Path, *, type: str | None = None, activations: str | None = None,
         calibrate: Sequence[Path] | None = None, measure: Path | None = None, keep_above: float | None = None, fork: str | None = None,
         constants: Sequence[str] | None = None, mean: float | Sequence[float] | None = None, scale: float | Sequence[float] | None = None,
         channels: str | None = None, resize: str | None = None, pad: float | None = None, decode: str | None = None,
         replace: bool = False, progress: Callable[[float, int], None] | None = None) -> Packed:
    """Writes a network and its weights into one packed file (pack_weights(1)) for open(). A failed or interrupted call leaves no file.

    model, weights: a cfg and its weights; or an ONNX or TFLite file, and None.
    type: of the weights, such as "int8"; pack_weights --help lists all.
    activations: "int8": convolutions compute with integers; calibrate: pictures that determine their scales.
    measure: a picture for measuring each layer's error; keep_above: layers with a larger error get a wider type.
    mean, scale, channels, resize, pad, decode: options of open() that the file stores; open() applies each that it is not given.
    replace: overwrite an existing file.
    progress: called with the share that is written and the number of the pass.
    """
    options = {"weights": type, "activations": activations, "calibrate": calibrate, "measure": measure, "keep_above": keep_above, "fork": fork,
               "constants": constants, "mean": mean, "scale": scale, "channels": channels, "resize": resize, "pad": pad, "decode": decode,
               "replace": replace}
    with Pack(model, weights, out, options) as pack_:
        done = False
        while not done:
            done = pack_.step()
            facts = pack_.facts()
            if progress:
                progress(facts.share, facts.pass_)
        for text in pack_.warned:
            warnings.warn(text, stacklevel=2)
        return Packed((os.fsdecode(out), os.path.getsize(out), facts.error, facts.largest, pack_.layers(facts.n_layers)))
