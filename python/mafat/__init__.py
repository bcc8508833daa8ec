"""mafat: neural networks of Darknet, ONNX and TFLite files inside a memory budget.

    import mafat
    with mafat.open("yolov3-tiny.cfg", "yolov3-tiny.weights", memory="16M", names="coco.names") as m:
        print(m.plan, m.predicted.memory.charge_bytes)
        for box in m.detect("dog.jpg"):
            print(box.label, box.confidence, box.x, box.y, box.w, box.h)

The package calls libmafat (libmafat(3)) by ctypes. NumPy arrays are read without copying, and other Python threads
run while the library works. doc/python.md has more examples.
"""
from mafat._facts import Box, Group, Layer, Memory, Packed, PackedLayer, Picture, Plan, Port, Process, Run, Score
from mafat._library import ECANCELED, EFORMAT, EINVAL, EIO, ELIMIT, ENOMEM, EUNSUPPORTED, THREADS_AUTO, Error, library, text_of
from mafat._model import Model, Report
from mafat._options import Arena
from mafat._pack import pack
from mafat._dry_run import Budget, predict, sweep

open = Model  # pylint: disable=redefined-builtin

__version__: str = text_of(library.mafat_version())

__all__ = ["Arena", "Box", "Budget", "ECANCELED", "EFORMAT", "EINVAL", "EIO", "ELIMIT", "ENOMEM", "EUNSUPPORTED", "Error", "Group", "Layer", "Memory",
           "Model", "Packed", "PackedLayer", "Picture", "Plan", "Port", "Process", "Report", "Run", "Score", "THREADS_AUTO", "open", "pack",
           "predict", "sweep"]
