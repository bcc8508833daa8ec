"""The package on the embedded model (models/shapes), and on what is wrong. MAFAT_LIBRARY names the library, MAFAT_BUILD the folder of
the programs that answers are compared with."""
import ctypes.util
import gc
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy

import mafat

try:
    from PIL import Image
except ImportError:
    Image = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SHAPES = os.path.join(ROOT, "models", "shapes")
CFG, WEIGHTS, NAMES = (os.path.join(SHAPES, "shapes" + ending) for ending in (".cfg", ".weights", ".names"))
PICTURE = os.path.join(SHAPES, "holdout", min(name for name in os.listdir(os.path.join(SHAPES, "holdout")) if name.endswith(".jpg")))
PROGRAM = os.path.join(os.environ.get("MAFAT_BUILD", os.path.join(ROOT, "build")), "run_inference")


def open_shapes(**options):
    return mafat.open(CFG, WEIGHTS, names=NAMES, **options)


def frame():
    """A picture as cameras give them: rows, columns, and blue first."""
    random = numpy.random.default_rng(1)
    return random.integers(0, 256, (120, 200, 3), dtype=numpy.uint8)


def as_ppm(pixels, folder):
    path = os.path.join(folder, "picture.ppm")
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes())
    return path


def fork():
    """Beside threads, which later Pythons warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


class Boxes(unittest.TestCase):
    def test_they_are_the_programs(self):
        if not os.path.exists(PROGRAM):
            self.skipTest("no run_inference")
        said = subprocess.run([PROGRAM, "--json", "--quiet", "--names", NAMES, CFG, WEIGHTS, PICTURE], check=True, capture_output=True)
        wanted = json.loads(said.stdout)["detections"]
        with open_shapes() as model:
            boxes = model.detect(PICTURE)
            self.assertEqual(model.kind, "detector")
        self.assertEqual([box.label for box in boxes], [w["label"] for w in wanted])
        self.assertGreater(len(boxes), 0)
        for box, w in zip(boxes, wanted):
            self.assertAlmostEqual(box.confidence, w["confidence"], places=5)
            for ours, key in (("x", "x"), ("y", "y"), ("w", "width"), ("h", "height")):
                self.assertAlmostEqual(getattr(box, ours), w["box"][key], delta=1e-3)

    def test_the_last_run_is_asked_again_with_another_threshold(self):
        with open_shapes() as model:
            few = model.detect(PICTURE, 0.9)
            more = model.detect(thresh=0.01)
        self.assertGreater(len(more), len(few))
        self.assertEqual(more[:len(few)], few)

    def test_names_are_read_as_the_programs_do(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "names")
            with open(path, "wb") as file:
                file.write(b"\xef\xbb\xbfa\x0cb\nc\xc2\x85d\r\n\ncaf\xe9\nlast")
            with mafat.open(CFG, WEIGHTS, names=path) as model:
                self.assertEqual(list(model.names), ["a\x0cb", "c\x85d", "", "caf\ufffd", "last"])

    def test_frames_of_video_are_the_pixels_that_they_mean(self):
        pixels = frame()[:, :, ::-1].copy()
        with open_shapes() as model:
            wanted = model.detect(pixels, 0.01)
        with open_shapes(frames="200x120:rgb24") as model:
            model.frame_room[:] = pixels.tobytes()
            model.run_frame(model.frame_room)
            self.assertEqual(model.detect(None, 0.01), wanted)
            for other in (pixels.tobytes(), bytearray(pixels.tobytes())):
                model.run_frame(other)
                self.assertEqual(model.detect(None, 0.01), wanted)
            with self.assertRaisesRegex(mafat.Error, "expected 72000 bytes, found 3"):
                model.run_frame(b"abc")
        with open_shapes() as model, self.assertRaisesRegex(mafat.Error, "without frames"):
            model.frame_room

    def test_pixels_are_read_as_a_file_of_them(self):
        pixels = frame()
        with tempfile.TemporaryDirectory() as folder, open_shapes() as model:
            wanted = model.run(picture=as_ppm(pixels, folder))["output"]
        with open_shapes() as model:
            for picture, bgr in ((pixels, False), (pixels[:, :, ::-1], True), (pixels[:, :, ::-1].copy(), True),
                                 (numpy.asfortranarray(pixels), False), (numpy.dstack((pixels, pixels[:, :, 0])), False)):
                self.assertTrue((model.run(picture=picture, bgr=bgr)["output"] == wanted).all())

    def test_a_part_of_a_frame_is_read_where_it_lies(self):
        large = numpy.zeros((200, 300, 3), numpy.uint8)
        large[40:160, 50:250] = frame()
        part = large[40:160, 50:250]
        for view in (part, numpy.ascontiguousarray(large[:, :, 0])[40:160, 50:250]):
            pixels = mafat._model.as_pixels(view, False)
            self.assertTrue(numpy.shares_memory(pixels, view))
            self.assertEqual(pixels.strides[0], view.strides[0])
        with open_shapes() as model:
            self.assertTrue((model.run(picture=part)["output"] == model.run(picture=frame())["output"]).all())

    @unittest.skipUnless(Image, "no Pillow")
    def test_images_of_pillow(self):
        with open_shapes() as model:
            pixels = frame()
            wanted = model.run(picture=pixels)["output"]
            self.assertTrue((model.run(picture=Image.fromarray(pixels))["output"] == wanted).all())
            grey = Image.fromarray(pixels).convert("L")
            self.assertTrue((model.run(picture=grey)["output"] == model.run(picture=numpy.dstack([grey] * 3))["output"]).all())
            palette = Image.fromarray(pixels).convert("P")
            self.assertTrue((model.run(picture=palette)["output"] == model.run(picture=palette.convert("RGB"))["output"]).all())

    def test_what_is_no_picture_is_refused(self):
        with open_shapes() as model:
            for picture in (numpy.zeros((4, 4, 3)), numpy.zeros((4, 4, 2), numpy.uint8), numpy.zeros((0, 4, 3), numpy.uint8),
                            numpy.zeros(4, numpy.uint8)):
                with self.assertRaisesRegex(mafat.Error, "expected a picture as bytes") as caught:
                    model.detect(picture)
                self.assertEqual(caught.exception.code, mafat.EINVAL)


class OpenFiles(unittest.TestCase):
    """The same boxes of a model whose files are open already, or in memory."""

    def test_files_and_memory(self):
        with open_shapes() as model:
            expected = model.detect(PICTURE)
        with open(CFG, "rb") as cfg, open(WEIGHTS, "rb") as weights:
            with mafat.open(cfg, weights, names=NAMES) as model:
                self.assertEqual(model.detect(PICTURE), expected)
            with mafat.open(memoryview(cfg.read()), bytearray(weights.read()), names=NAMES) as model:
                self.assertEqual(model.detect(PICTURE), expected)

    def test_memory_that_is_cut_short(self):
        with open(WEIGHTS, "rb") as weights:
            with self.assertRaises(mafat.Error) as caught:
                mafat.open(CFG, memoryview(weights.read(1000)))
        self.assertEqual(caught.exception.code, mafat.EFORMAT)


class Numbers(unittest.TestCase):
    def test_arrays_go_in_and_come_out_as_they_lie(self):
        with open_shapes() as model:
            (port,), (out,) = model.inputs, model.outputs
            self.assertEqual((port.name, port.dims, port.n, port.type), ("data", (3, 160, 160), 76800, "float32"))
            array = numpy.random.default_rng(2).random(port.dims, numpy.float32)
            self.assertIs(mafat._model.as_floats(array, port), array)
            room = numpy.empty(out.dims, numpy.float32)
            first = model.run({"data": array}, out={"output": room})["output"]
            self.assertIs(first, room)
            for same in (array, array.astype(float), array[None], array.ravel(), array.tolist(), numpy.asfortranarray(array)):
                self.assertTrue((model.run(same)["output"] == room).all())

    def test_files_of_numbers(self):
        with tempfile.TemporaryDirectory() as folder, open_shapes() as model:
            array = numpy.random.default_rng(3).random(model.inputs[0].dims, numpy.float32)
            numpy.save(os.path.join(folder, "a.npy"), array)
            array.tofile(os.path.join(folder, "a.raw"))
            wanted = model.run(array)["output"]
            for name in ("a.npy", "a.raw"):
                self.assertTrue((model.run({"data": os.path.join(folder, name)})["output"] == wanted).all())

    def test_what_does_not_fit_the_input_is_refused(self):
        with open_shapes() as model:
            for inputs, says in (({"data": numpy.zeros((160, 160, 3))}, "expected 3x160x160 numbers, found 160x160x3"),
                                 ({"data": numpy.zeros(5)}, "found 5"), ({"date": numpy.zeros(76800)}, "date"), ({}, "data")):
                with self.assertRaisesRegex(mafat.Error, says) as caught:
                    model.run(inputs)
                self.assertEqual(caught.exception.code, mafat.EINVAL)
            for room in (numpy.empty(8800), numpy.empty((22, 20, 40), numpy.float32)[:, :, ::2], numpy.empty(7, numpy.float32)):
                with self.assertRaises(mafat.Error):
                    model.run(numpy.zeros(76800), out={"output": room})

    def test_layers_are_read(self):
        with open_shapes(outputs=[0]) as model:
            model.detect(PICTURE)
            self.assertEqual(model.read_layer(0).shape, (8, 160, 160))
            with self.assertRaises(mafat.Error):
                model.read_layer(1)
            with self.assertRaises(mafat.Error):
                model.read_layer(100)


class Plans(unittest.TestCase):
    def test_what_is_predicted_before_is_what_is_open(self):
        plan = mafat.predict(CFG, WEIGHTS, plan="rows4/8/1x1", memory="1G", picture=PICTURE)
        self.assertTrue(plan.fits)
        with open_shapes(plan="rows4/8/1x1", memory="1G", picture=PICTURE) as model:
            self.assertEqual((model.plan, model.predicted.arena_bytes, model.predicted.macs), (plan.text, plan.arena_bytes, plan.macs))
            self.assertEqual(model.predicted.memory.activations, plan.memory.activations)
            self.assertEqual(len(model.layers), plan.n_layers)
            self.assertEqual([group.cut for group in model.groups], ["rows4", "1x1"])

    def test_bytes_add_up(self):
        memory = mafat.predict(CFG).memory
        self.assertEqual(sum(memory[:10]) - (memory.image if memory.image_before else 0), memory.charge_bytes)

    def test_what_does_not_fit_is_told_and_refused(self):
        self.assertFalse(mafat.predict(CFG, memory="64K").fits)
        with self.assertRaisesRegex(mafat.Error, r"needs [0-9]+\.[0-9] MiB, the budget \(memory\) is 0\.0 MiB; memory [0-9]+K would do") as caught:
            open_shapes(memory="64K")
        self.assertEqual((caught.exception.code, caught.exception.name), (mafat.ELIMIT, "does not fit"))

    def test_the_interpreters_share_of_a_small_budget_is_named(self):
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
        resident = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        with self.assertRaisesRegex(mafat.Error, r"; the program that opens it takes ([0-9]+\.[0-9]) MiB by itself") as caught:
            open_shapes(memory="1M")
        named = float(str(caught.exception).split(" takes ")[1].split(" MiB")[0])
        self.assertLess(abs(named - resident), 0.1 * resident)

    def test_a_sweep_rises(self):
        rows = mafat.sweep(CFG)
        self.assertEqual([row.bytes for row in rows], sorted(row.bytes for row in rows))
        self.assertTrue(rows and all(row.plan.fits for row in rows))
        narrow = mafat.sweep(CFG, budgets=["1G"], packed="int8")
        wide = mafat.sweep(CFG, budgets=[1 << 30])
        self.assertLess(narrow[0].plan.memory.weights, wide[0].plan.memory.weights)

    def test_a_report_is_a_table_and_facts(self):
        with open_shapes() as model:
            model.detect(PICTURE)
            report = model.report()
            self.assertGreater(report.run.layers_ms, 0)
            self.assertEqual(len(report.layers), report.plan.n_layers)
            self.assertIn(f"plan {model.plan}", str(report))
            self.assertGreater(report.process.resident_bytes, report.plan.arena_bytes)

    def test_sizes_are_the_programs(self):
        for text, bytes_ in (("64K", 65536), ("1m", 1 << 20), ("2GiB", 2 << 30), ("3MB", 3 << 20), ("77", 77), (5, 5)):
            self.assertEqual(mafat._library.count_bytes(text), bytes_)
        for text in ("", "K", "1.5G", "-1", "1T", "77B", -1, "0x10", "1 M"):
            with self.assertRaisesRegex(mafat.Error, "expected a size"):
                mafat._library.count_bytes(text)


class Packing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = os.path.join(folder.name, "shapes.packed")

    def test_a_packed_file_runs_alone(self):
        shares = []
        packed = mafat.pack(CFG, WEIGHTS, self.out, progress=lambda share, turn: shares.append(share))
        self.assertEqual((packed.bytes, packed.layers), (os.path.getsize(self.out), ()))
        self.assertEqual(shares, sorted(shares))
        self.assertEqual(shares[-1], 1)
        with open_shapes() as model, mafat.open(self.out) as of_file:
            self.assertTrue((model.run(picture=PICTURE)["output"] == of_file.run(picture=PICTURE)["output"]).all())

    def test_types_are_measured(self):
        packed = mafat.pack(CFG, WEIGHTS, self.out, type="int8", measure=PICTURE, keep_above=0.003)
        self.assertTrue(any(layer.kept for layer in packed.layers))
        self.assertTrue(all(layer.error <= 0.003 for layer in packed.layers))
        self.assertGreater(packed.error, 0)
        whole = mafat.pack(CFG, WEIGHTS, self.out, activations="int8", calibrate=[PICTURE], replace=True)
        self.assertIn("int8", [layer.computes for layer in whole.layers])

    def test_options_are_stored_in_the_file(self):
        mean, scale = [10.5, 20, 30], [0.01, 0.02, 1 / 30]
        mafat.pack(CFG, WEIGHTS, self.out, mean=mean, scale=scale, channels="bgr", resize="corner", pad=7)
        with mafat.open(self.out) as packed, open_shapes(mean=mean, scale=scale, channels="bgr", resize="corner", pad=7) as model:
            self.assertTrue((model.run(picture=PICTURE)["output"] == packed.run(picture=PICTURE)["output"]).all())
            self.assertEqual((packed.picture.channels, packed.picture.resize, packed.picture.source), ("bgr", "corner", "file"))
        with mafat.open(self.out, channels="rgb", pad=8) as packed:
            self.assertEqual((packed.picture.channels, packed.picture.pad, packed.picture.resize), ("rgb", 8, "corner"))

    def test_what_is_interrupted_leaves_nothing(self):
        def stop(share, turn):
            raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            mafat.pack(CFG, WEIGHTS, self.out, progress=stop)
        gc.collect()
        self.assertEqual(os.listdir(os.path.dirname(self.out)), [])

    def test_a_file_that_is_there_stays(self):
        mafat.pack(CFG, WEIGHTS, self.out)
        with self.assertRaisesRegex(mafat.Error, "exists"):
            mafat.pack(CFG, WEIGHTS, self.out)
        mafat.pack(CFG, WEIGHTS, self.out, replace=True)


class Errors(unittest.TestCase):
    def test_they_have_the_librarys_line(self):
        with self.assertRaises(mafat.Error) as caught:
            mafat.open("/nonexistent.cfg", WEIGHTS)
        self.assertEqual(str(caught.exception), "/nonexistent.cfg: cannot open: No such file or directory")
        self.assertEqual(caught.exception.code, mafat.EIO)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((again.code, str(again)), (mafat.EIO, str(caught.exception)))

    def test_a_cfg_without_weights(self):
        with self.assertRaisesRegex(mafat.Error, "shapes.cfg: a cfg holds no weights: expected its weights file beside it, found none"):
            mafat.open(CFG)

    def test_without_the_library(self):
        def imports(library):
            environment = {**os.environ, "MAFAT_LIBRARY": library}
            return subprocess.run([sys.executable, "-c", "import mafat"], env=environment, capture_output=True, text=True, check=False).stderr
        self.assertRegex(imports("/nonexistent.so"), "ImportError: /nonexistent.so: cannot open .*: expected the library that MAFAT_LIBRARY names")
        self.assertRegex(imports(ctypes.util.find_library("c")), "ImportError: libc.* found another library")
        with tempfile.TemporaryDirectory() as empty:  # no libmafat.so.0 is found, also if one is installed
            hidden = f"import ctypes, mafat._library as c; c.SONAME = {os.path.join(empty, 'libmafat.so.0')!r}; import os; del os.environ['MAFAT_LIBRARY']; c.open_library()"
            said = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False).stderr
        self.assertRegex(said, "ImportError: .*install the package libmafat0, or set MAFAT_LIBRARY")

    def test_options_that_there_are_not(self):
        for name in ("memroy", "warnings", "memory_bytes", "n_outputs_", "link"):
            with self.assertRaisesRegex(TypeError, f"open\\(\\) has no option '{name}'"):
                open_shapes(**{name: 1})

    def test_options_that_make_no_sense(self):
        for options in ({"cpu": "avx3"}, {"plan": "rows0"}, {"threads": -2}, {"mean": [1, 2]}, {"search": "worst"}):
            with self.assertRaises(mafat.Error) as caught:
                open_shapes(**options)
            self.assertEqual(caught.exception.code, mafat.EINVAL, options)

    def test_a_closed_model_is_refused(self):
        model = open_shapes()
        model.close()
        model.close()
        for use in (lambda: model.plan, lambda: model.detect(PICTURE), model.rest, model.report, lambda: model.run(numpy.zeros(76800))):
            with self.assertRaisesRegex(mafat.Error, "Model is closed"):
                use()

    def test_before_a_run_there_is_nothing_to_read(self):
        with open_shapes() as model:
            with self.assertRaises(mafat.Error) as caught:
                model.detect()
            self.assertEqual(caught.exception.code, mafat.EINVAL)

    def test_warnings_are_pythons(self):
        with tempfile.TemporaryDirectory() as folder:
            cfg = os.path.join(folder, "a.cfg")
            with open(CFG, encoding="utf-8") as file, open(cfg, "w", encoding="utf-8") as copy:
                copy.write(file.read().replace("[net]", "[net]\nno_such_key=1", 1))
            with self.assertWarnsRegex(UserWarning, "no_such_key"):
                mafat.open(cfg, WEIGHTS).close()
            told = []
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                mafat.open(cfg, WEIGHTS, warn=told.append).close()
            self.assertIn("no_such_key", told[0])

    def test_a_picture_without_end_marker_warns(self):
        told = []
        with tempfile.TemporaryDirectory() as folder, open_shapes(warn=told.append) as model:
            cut = os.path.join(folder, "cut.jpg")
            with open(PICTURE, "rb") as file, open(cut, "wb") as copy:
                copy.write(file.read()[:-2])
            wanted = model.detect(PICTURE)
            self.assertEqual(told, [])
            self.assertEqual(model.detect(cut), wanted)
            self.assertIn("no end marker", told.pop())
            self.assertEqual(told, [])

    def test_versions_agree(self):
        with open(os.path.join(ROOT, "python", "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn(f'version = "{mafat.__version__}"', file.read())


class Together(unittest.TestCase):
    def test_two_models_in_one_arena(self):
        with mafat.Arena() as arena, open_shapes(arena=arena) as one, open_shapes(arena=arena, plan="rows4/8/1x1") as two:
            first = one.detect(PICTURE)
            self.assertEqual([b.label for b in two.detect(PICTURE)], [b.label for b in first])
            with self.assertRaises(mafat.Error):
                one.detect()  # two has used what it lay in
            self.assertEqual(one.detect(PICTURE), first)

    def test_other_threads_run_meanwhile(self):
        with open_shapes(width=1600, height=1600) as model:
            array = numpy.zeros(model.inputs[0].dims, numpy.float32)
            model.run(array)
            counted, runs = 0, 0  # in one run; a busy machine may leave this thread out of some
            while counted <= 20 and runs < 50:
                counted, running = 0, threading.Thread(target=model.run, args=(array,))
                running.start()
                while running.is_alive():
                    counted += 1
                    time.sleep(0)
                runs += 1
            self.assertGreater(counted, 20)

    def test_a_run_is_canceled_by_another_thread(self):
        with open_shapes(width=800, height=800) as model:
            array = numpy.zeros(model.inputs[0].dims, numpy.float32)
            model.cancel()  # of no run
            wanted, codes = model.run(array), []

            def run():
                try:
                    model.run(array)
                except mafat.Error as error:
                    codes.append(error.code)
            while not codes:
                running = threading.Thread(target=run)
                running.start()
                while running.is_alive():
                    model.cancel()
                    time.sleep(0)
            self.assertEqual(codes, [mafat.ECANCELED])
            found = model.run(array)
            self.assertTrue(all((found[name] == wanted[name]).all() for name in wanted))
        with self.assertRaises(mafat.Error):
            model.cancel()  # it is closed

    def test_threads_with_models_of_their_own_and_with_one(self):
        wanted = None
        with open_shapes() as model:
            wanted = model.detect(PICTURE)
            found = []
            threads = [threading.Thread(target=lambda: found.extend(model.detect(PICTURE) == wanted for _ in range(20))) for _ in range(3)]
            threads += [threading.Thread(target=self.run_one, args=(found, wanted)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(found, [True] * 100)

    def run_one(self, found, wanted):
        with open_shapes() as model:
            found.extend(model.detect(PICTURE) == wanted for _ in range(20))

    def test_a_forked_child_runs_models_of_one_thread(self):
        with open_shapes() as model, open_shapes(threads=2, plan="1x1") as threads:
            wanted, of_threads = model.detect(PICTURE), threads.detect(PICTURE)
            child = fork()
            if child == 0:
                status = 1
                try:
                    same = model.detect(PICTURE) == wanted
                    try:
                        threads.detect(PICTURE)
                    except mafat.Error as error:
                        status = 0 if same and error.code == mafat.EINVAL else 2
                    model.close()
                    threads.close()
                finally:
                    os._exit(status)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertEqual(model.detect(PICTURE), wanted)
            self.assertEqual(threads.detect(PICTURE), of_threads)

    def test_a_child_that_is_forked_while_a_thread_runs_can_close(self):
        with open_shapes(width=1600, height=1600) as model:
            array = numpy.zeros(model.inputs[0].dims, numpy.float32)
            model.run(array)
            running = threading.Thread(target=model.run, args=(array,))
            running.start()
            time.sleep(0.005)
            child = fork()
            if child == 0:
                signal.alarm(10)
                model.close()
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            running.join()
            model.run(array)

    def test_what_nobody_has_any_more_is_closed(self):
        process = mafat._library.ProcessFacts()

        def resident():
            gc.collect()
            mafat.library.mafat_process_measure(process)
            return process.resident_bytes
        for _ in range(5):
            open_shapes().detect(PICTURE)
        before = resident()
        for _ in range(40):
            open_shapes().detect(PICTURE)
        self.assertLess(resident() - before, 1 << 20)


if __name__ == "__main__":
    unittest.main()
