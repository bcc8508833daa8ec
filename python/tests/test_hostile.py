"""Invalid arguments: the library never receives a buffer that is too short or freed, and errors name the problem. The random
rounds are as many as MAFAT_ROUNDS says (300)."""
import copy
import gc
import os
import random
import signal
import tempfile
import unittest

import numpy

import mafat

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SHAPES = os.path.join(ROOT, "models", "shapes")
CFG, WEIGHTS = (os.path.join(SHAPES, "shapes" + ending) for ending in (".cfg", ".weights"))
ROUNDS = int(os.environ.get("MAFAT_ROUNDS", "300"))
SMALL = "[net]\nwidth=16\nheight=12\nchannels=3\n[convolutional]\nfilters=5\nsize=3\npad=1\nactivation=leaky\n[softmax]\n"


def write_small(folder):
    cfg, weights = os.path.join(folder, "small.cfg"), os.path.join(folder, "small.weights")
    with open(cfg, "w", encoding="ascii") as file:
        file.write(SMALL)
    with open(weights, "wb") as file:
        file.write(numpy.array([0, 2, 0, 0, 0], "<i4").tobytes() + numpy.linspace(-1, 1, 5 + 5 * 27, dtype="<f4").tobytes())
    return cfg, weights


class OfASmallNetwork(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.small = write_small(self.folder.name)


class Handed(OfASmallNetwork):
    def test_an_input_that_was_refused_is_not_kept(self):
        with mafat.open(*self.small) as model:
            good = numpy.ones(model.inputs[0].dims, numpy.float32)
            with self.assertRaises(mafat.Error):
                model.run({model.inputs[0].name: good, "none": good})
            del good
            gc.collect()
            with self.assertRaises(mafat.Error):  # nothing is set: not what was there before
                model.run({})

    def test_arrays_that_are_not_aligned(self):
        with mafat.open(*self.small) as model:
            port = model.inputs[0]
            bytes_ = bytearray(4 * port.n + 1)
            crooked = numpy.frombuffer(bytes_, numpy.float32, port.n, 1).reshape(port.dims)
            crooked[...] = numpy.arange(port.n, dtype=numpy.float32).reshape(port.dims) / port.n
            straight = crooked.copy()
            name = model.outputs[0].name
            numpy.testing.assert_array_equal(model.run(crooked)[name], model.run(straight)[name])
            out = numpy.frombuffer(bytearray(4 * model.outputs[0].n + 1), numpy.float32, model.outputs[0].n, 1)
            with self.assertRaisesRegex(mafat.Error, "aligned"):
                model.run(straight, out={name: out})

    def test_outputs_that_are_none(self):
        with mafat.open(*self.small) as model:
            numbers, name = numpy.zeros(model.inputs[0].dims, numpy.float32), model.outputs[0].name
            n = model.outputs[0].n
            for out in ({"none": numpy.empty(n, numpy.float32)}, {name: numpy.empty(n - 1, numpy.float32)}, {name: numpy.empty(n, ">f4")},
                        {name: numpy.empty(n)}, {name: [0.0] * n}, {name: numpy.empty(2 * n, numpy.float32)[::2]},
                        {name: numpy.broadcast_to(numpy.float32(0), n)}):
                with self.assertRaises(mafat.Error):
                    model.run(numbers, out=out)

    def test_texts_with_zeros(self):
        with self.assertRaises(mafat.Error):
            mafat.open(CFG + "\0.png", WEIGHTS)
        with self.assertRaises(mafat.Error):
            mafat.predict(CFG, plan="1x1\0/NoCut")
        with self.assertRaises(mafat.Error):
            mafat.pack(CFG, WEIGHTS, os.path.join(self.folder.name, "out\0"))
        with mafat.open(*self.small) as model:
            with self.assertRaises(mafat.Error):
                model.run({model.inputs[0].name + "\0more": numpy.zeros(model.inputs[0].n, numpy.float32)})

    def test_numbers_that_c_has_not(self):
        for options in ({"memory": 1 << 64}, {"memory": (1 << 64) + (64 << 20)}, {"threads": 1 << 32 | 1}, {"max_boxes": -(1 << 40)}, {"layers": 1 << 33}):
            with self.assertRaises(mafat.Error):
                mafat.predict(CFG, **options)
        with self.assertRaises(TypeError):
            mafat.predict(CFG, n_outputs=1000)
        with mafat.open(*self.small) as model:
            model.run(numpy.zeros(model.inputs[0].n, numpy.float32))
            for layer in (-1, 2, 1 << 32, -(1 << 32) + 1):
                with self.assertRaises(mafat.Error):
                    model.read_layer(layer)
            for k in (0, -1):
                with self.assertRaises(mafat.Error):
                    model.classify(k=k)

    def test_an_arena_that_was_closed_first(self):
        arena = mafat.Arena()
        model = mafat.open(*self.small, arena=arena)
        arena.close()
        with self.assertRaises(mafat.Error):
            mafat.open(*self.small, arena=arena)
        model.run(numpy.zeros(model.inputs[0].n, numpy.float32))
        model.close()

    def test_a_lists_end_is_not_read(self):
        with self.assertRaises(mafat.Error):
            mafat.pack(*self.small, os.path.join(self.folder.name, "packed"), activations="int8", calibrate=[])


class Closing:
    """An array, once it is asked for what it holds: it closes the model that asks."""

    def __init__(self, model, shape, kind):
        self.model, self.array = model, numpy.zeros(shape, kind)

    def __array__(self, *_, **__):
        self.model.close()
        return self.array


class Lives(OfASmallNetwork):
    """Closing, and use after closing."""

    def test_room_for_a_frame_stays_as_long_as_somebody_has_it(self):
        room = mafat.open(*self.small, frames="640x480:rgb24").frame_room
        gc.collect()
        room[:] = b"a" * len(room)
        with mafat.open(*self.small, frames="640x480:rgb24") as model:
            array, part = numpy.frombuffer(model.frame_room, numpy.uint8), model.frame_room[100:]
        array[:] = 1
        self.assertEqual(bytes(part), b"\1" * len(part))
        with self.assertRaisesRegex(mafat.Error, "closed"):
            model.run_frame(part)
        model.close()

    def test_an_arena_does_not_move_while_somebody_has_room_in_it(self):
        with mafat.Arena() as arena, mafat.open(*self.small, frames="64x48:rgb24", arena=arena) as model:
            room = model.frame_room
            with self.assertRaisesRegex(mafat.Error, "frame_room"):
                mafat.open(*self.small, width=640, height=480, arena=arena)
            room[:] = b"a" * len(room)
            model.run_frame(room)
            del room
            with mafat.open(*self.small, width=640, height=480, arena=arena):
                model.frame_room[0] = 1

    def test_a_model_is_not_closed_from_within_a_call(self):
        with mafat.open(*self.small) as model:
            port = model.inputs[0]
            for call, value in ((model.run, Closing(model, port.dims, numpy.float32)), (model.classify, Closing(model, (5, 5, 3), numpy.uint8))):
                with self.assertRaisesRegex(mafat.Error, "in use"):
                    call(value)
            before = signal.signal(signal.SIGALRM, lambda *_: model.close())
            try:
                with self.assertRaisesRegex(mafat.Error, "in use|is closed"):
                    signal.setitimer(signal.ITIMER_REAL, 0.01)
                    while True:
                        model.run(numpy.zeros(port.n, numpy.float32))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)

    def test_what_is_open_is_not_copied(self):
        with mafat.Arena() as arena, mafat.open(*self.small, arena=arena) as model:
            for one in (arena, model):
                with self.assertRaisesRegex(TypeError, "copied"):
                    copy.copy(one)
            gc.collect()
            model.run(numpy.zeros(model.inputs[0].n, numpy.float32))


class Drawn(unittest.TestCase):
    """Arrays of any type, shape and layout, in any order: an Error, or the answer that a plain copy gives."""

    TYPES = ("f4", ">f4", "f8", "f2", "i1", "u1", "i8", "?", "c8", "U3", "O")

    def array(self, draw, port):
        shape = list(draw.choice(((port.n,), port.dims, port.dims[1:], port.dims[::-1], (port.n + draw.randint(-2, 2),), (0,), (), (1,) + port.dims,
                                  (port.n // 2, 2), (3, 16, 12), (12, 16, 3))))
        kind = numpy.dtype(draw.choice(self.TYPES if draw.random() < .5 else ("f4",)))
        array = numpy.full(shape, draw.choice((0, 1, -1, 100)), kind) if kind != object else numpy.full(shape, None, kind)
        how = draw.randrange(7)
        if how == 0 and array.ndim:
            return array[::-1]
        if how == 1:
            return array.T
        if how == 2:
            return numpy.asfortranarray(array)
        if how == 3 and array.ndim:
            return numpy.repeat(array, 2, -1)[..., ::2]
        if how == 4:
            return array.tolist()
        if how == 5 and array.dtype.kind == "f":
            return numpy.broadcast_to(array.dtype.type(1), shape)
        return array

    def one(self, draw, model):
        port = model.inputs[0]
        what = draw.randrange(6)
        if what == 0:
            model.run(self.array(draw, port))
        elif what == 1:
            model.classify(self.array(draw, port), k=draw.choice((1, 5, 1000)), bgr=draw.random() < .5)
        elif what == 2:
            model.run({draw.choice((port.name, "", "none", port.name + "x")): self.array(draw, port)})
        elif what == 3:
            array = self.array(draw, model.outputs[0])
            out = model.run(numpy.zeros(port.n, numpy.float32), out={model.outputs[0].name: array})
            assert out[model.outputs[0].name] is array
        elif what == 4:
            model.detect(self.array(draw, port), thresh=draw.choice((0, float("nan"), -1, 2, float("inf"))), nms=draw.choice((0, float("nan"), 1)))
        else:
            model.read_layer(draw.choice((0, 1, 2, -1, 7)))

    def test_nothing_but_errors(self):
        draw = random.Random(int(os.environ.get("MAFAT_SEED", "1")))
        with tempfile.TemporaryDirectory() as folder, mafat.open(*write_small(folder)) as model:
            zeros = numpy.zeros(model.inputs[0].n, numpy.float32)
            name = model.outputs[0].name
            expected = model.run(zeros)[name]
            for _ in range(ROUNDS):
                try:
                    with numpy.testing.suppress_warnings() as quiet:
                        quiet.filter(Warning)
                        self.one(draw, model)
                except (mafat.Error, TypeError, ValueError):
                    pass
                numpy.testing.assert_array_equal(model.run(zeros)[name], expected)


if __name__ == "__main__":
    unittest.main()
