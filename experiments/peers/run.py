#!/usr/bin/env python3
"""Measures mafat and other programs on the same networks: end to end, interleaved, medians.

README.md beside this file has the protocol. Missing programs are reported and left out."""

import argparse
import array
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile

sys.dont_write_bytecode = True   # nothing but results is written into the tree

import programs
import readme_table
import report
from machine import ROOT, describe_machine, drop_from_page_cache, find_levels, read_into_page_cache
from model_works import MODEL_WORKLOADS, ModelFiles
from programs import Failed
from workloads import WORKLOADS, Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
PAPER_PLAN = "5x5/8/2x2"
ALL_WORKLOADS = WORKLOADS + MODEL_WORKLOADS
CPU_REPEAT = 10    # with this many runs in a process, the CPU time of one is reported


def read_options():
    names = [workload.name for workload in ALL_WORKLOADS]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--workload", action="append", choices=names, metavar="NAME",
                        help="only this one; may be repeated: " + ", ".join(names))
    parser.add_argument("--models", action="store_true", help="only the ONNX and TFLite files")
    parser.add_argument("--runs", type=int, default=int(os.environ.get("RUNS", 5)), metavar="N",
                        help="rounds; every program runs once a round (default: 5, or the variable RUNS)")
    parser.add_argument("--quick", action="store_true", help="one round of few repetitions: does everything work?")
    parser.add_argument("--picture", choices=("jpg", "ppm", "raw"),
                        help="time only the rows of this picture: ncnn and onnxruntime are among those of the PPM; raw: of model files")
    parser.add_argument("--check", action="store_true", help="only compare the results with ours; nothing is timed")
    parser.add_argument("--cpu", type=int, metavar="N", help="the CPU to run on (default: the last one)")
    parser.add_argument("--build", default=os.environ.get("BUILD", os.path.join(ROOT, "build")), metavar="FOLDER",
                        help="where run_inference is (default: build, or the variable BUILD)")
    parser.add_argument("--output", metavar="FOLDER",
                        help="for results.md and results.csv (default: beside this file, and the table in "
                             "README.md is written from them; of a part or a quick run: the build folder's peers/)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs expects a number from 1 on")
    if options.cpu is not None and options.cpu not in os.sched_getaffinity(0):
        parser.error("--cpu expects one of %s" % sorted(os.sched_getaffinity(0)))
    options.build = os.path.abspath(options.build)
    if options.quick:
        options.runs = 1
    if not options.output:
        partial = options.quick or options.workload or options.models or options.picture
        options.output = os.path.join(options.build, "peers") if partial else HERE
    options.workloads = [w for w in (MODEL_WORKLOADS if options.models else ALL_WORKLOADS)
                         if not options.workload or w.name in options.workload]
    if not options.workloads:
        parser.error("--models leaves nothing of --workload")
    return options


def difference(found, expected):
    """The largest difference, relative to its output's largest value."""
    if found is None or [len(part) for part in found] != [len(part) for part in expected]:
        raise Failed("puts out %s values instead of %s" % (
            *("+".join(str(len(part)) for part in parts) if parts else "other" for parts in (found, expected)),))
    worst = 0
    for ours, theirs in zip(expected, found):
        largest = max(max(ours), -min(ours)) or 1
        apart = max(abs(a - b) if a == a and b == b else float("inf") for a, b in zip(theirs, ours))
        worst = max(worst, apart / largest)
    return worst


class Bench:
    """A complete run: options, programs, folders, and what is missing."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.all_cpus = os.sched_getaffinity(0)
        self.cpus = {max(self.all_cpus) if options.cpu is None else options.cpu}
        self.notes, self.idle, self.results = [], {}, []
        self.failed = False      # ours failed, or a result differs
        self.mafat = programs.Mafat(options.build)
        self.peers = self.find_peers()
        self.yardstick = None

    # ---- messages ----

    def progress(self, text):
        if sys.stderr.isatty():
            print("\r\033[K" + text, end="", file=sys.stderr, flush=True)

    def note(self, text):
        """Reports what is left out, on the terminal and in the results, without paths of this
        machine."""
        for path in (self.folder, self.options.build, ROOT, os.environ.get("MAFAT_YARDSTICK"), os.environ.get("MAFAT_MODELS")):
            if path:
                text = text.replace(path.rstrip("/") + "/", "")
        if text not in self.notes:
            self.notes.append(text)
            self.progress("")
            print(text, file=sys.stderr)

    # ---- programs ----

    def find_peers(self):
        found = []
        trees = [tree for tree in os.environ.get("MAFAT_NCNN", "").split(":") if tree]
        if not trees:
            self.note("ncnn: MAFAT_NCNN names no installed tree; %s" % programs.Ncnn.hint)
        kinds = [(programs.Darknet,), (programs.OpenCV,), (programs.OnnxRuntime,), (programs.HeldOnnxRuntime,), (programs.TFLite,), (programs.HeldTFLite,)]
        formats = {workload.format for workload in self.options.workloads}
        for kind, *where in kinds + [(programs.Ncnn, tree) for tree in trees]:
            if not formats & set(kind.may_read):
                continue
            self.progress("building " + kind.name)
            try:
                peer = kind(self.options.build, *where)
                if where and peer.tells_layers():
                    raise Unavailable("the tree built with NCNN_BENCHMARK prints while it runs: it is for layers.py")
                self.idle[peer.name] = statistics.median(peer.idle(self.cpus, self.folder) for _ in range(3))
                found.append(peer)
            except (Unavailable, Failed) as reason:
                self.note("%s: %s" % (kind.name, reason))
        return found

    def lower_levels(self):
        """Levels below the machine's best at which a peer runs."""
        return [level for level in find_levels()[1:] if any(getattr(peer, "level", None) == level for peer in self.peers)]

    def find_yardstick(self):
        if self.options.check or not any(workload.is_yolov2 for workload in self.options.workloads):
            return
        self.progress("building the yardstick")
        folder = os.path.join(self.folder, "yardstick")
        os.mkdir(folder)
        try:
            self.yardstick = programs.Yardstick(folder, self.cpus)
        except Unavailable as reason:
            self.note("yardstick: %s" % reason)

    def our_rows(self, workload):
        """Our rows. Peers are compared with the first of their picture."""
        rows = []

        def add(setting, picture, options, cpus=self.cpus, **how):
            rows.append(report.Row(self.mafat, setting, picture, options, cpus, **how))

        if workload.format != "cfg" and workload.is_quantised:
            add("auto", workload.picture, [])
            for level in find_levels()[1:]:
                add(level, workload.picture, ["--cpu", level], level=level)
            return rows
        if workload.format != "cfg":
            add("auto", workload.picture, [])
            add("direct", workload.picture, ["--algorithm", "direct"])
            return rows
        add("auto", "jpg", [])
        add("direct", "jpg", ["--algorithm", "direct"])
        if workload.layers:
            add(PAPER_PLAN, "jpg", ["--plan", PAPER_PLAN])
        if workload.is_yolov2 and len(self.all_cpus) > 1:
            add("auto, 2 threads", "jpg", ["--threads", "2"], self.all_cpus, threads=2)
        for level in [None] + self.lower_levels():
            at_level = ["--cpu", level] if level else []
            for threads in self.threads(workload):
                words = ["auto"] + ([level] if level else []) + (["%d threads" % threads] if threads > 1 else [])
                add(", ".join(words), "ppm", at_level + ["--threads", str(threads)], self.cpus_of(threads),
                    level=level, threads=threads)
        if workload.is_yolov2:
            add("direct", "ppm", ["--algorithm", "direct"])
            add("winograd", "ppm", ["--algorithm", "winograd"])
        return rows

    def threads(self, workload):
        """Numbers of threads of rows compared with ncnn and onnxruntime."""
        return [n for n in workload.threads if n == 1 or n <= len(self.all_cpus)]

    def cpus_of(self, threads):
        return self.cpus if threads == 1 else self.all_cpus

    def peer_rows(self, peer, workload):
        if workload.format != "cfg" or not peer.takes_threads:
            picture = peer.picture if workload.format == "cfg" else workload.picture
            level = peer.level if peer.is_held else None
            return [report.Row(peer, setting, picture, options, self.cpus, level=level) for setting, options in peer.settings.items()]
        level = getattr(peer, "level", None)
        if level == find_levels()[0]:
            level = None
        return [report.Row(peer, "1 thread" if n == 1 else "%d threads" % n, peer.picture, ["--threads", str(n)],
                           self.cpus_of(n), level=level, threads=n) for n in self.threads(workload)]

    def rows(self, workload):
        rows = self.our_rows(workload)
        if self.yardstick and workload.is_yolov2:
            rows += [report.Row(self.yardstick, setting, "", options, self.cpus)
                     for setting, options in self.yardstick.settings.items()]
        for peer in self.peers:
            if workload.format in peer.reads or (peer.reads_twins and getattr(workload, "is_quantised", False)):
                rows += self.peer_rows(peer, workload)
            elif workload.format == "onnx" and isinstance(peer, programs.Ncnn):
                self.note("%s: its tree has no bin/%s: ONNX files are left out" % (peer.name, programs.ONNX2NCNN))
        for row in rows:
            slow = isinstance(row.program, programs.Darknet)
            row.repeat = 2 if self.options.quick or slow else workload.repeat
            row.tolerance = workload.tolerance or row.program.tolerance
        return rows

    def give_up(self, workload, row, reason):
        row.failure = str(reason)
        not_ours = "" if row.program is self.mafat else "not supported by the peer: "
        self.note("%s, %s, %s: %s%s" % (workload.name, row.name, row.setting, not_ours, reason))
        self.failed |= row.program is self.mafat

    # ---- comparing results ----

    def dump(self, row, files, picture):
        """The compared outputs, an array each."""
        path = os.path.join(self.folder, "dump")
        if hasattr(row.program, "prepare"):
            row.program.prepare(files, self.folder)
        command = row.program.command(files, picture, 1, row.options, path)
        values, written = array.array("f"), row.program.dumped(files, path)
        try:
            programs.run(command, row.cpus, self.folder, env=getattr(row.program, "environment", None))
            for each in written:
                with open(each, "rb") as file:
                    values.frombytes(file.read())
        finally:
            for rest in {*written, *files.made}:
                if os.path.exists(rest):
                    os.unlink(rest)
        return files.split(values)

    def twin_of(self, row, probe):
        """The file that a program runs instead, if it has its own rounding rule."""
        if probe.is_darknet or probe.onnx == probe.model or not getattr(row.program, "reads_twins", False):
            return None
        row.program.prepare(probe, self.folder)
        twin = ModelFiles(self.folder, probe.onnx, self.mafat.program)
        twin.tflite, twin.raw = probe.tflite, probe.raw
        return twin

    def compare(self, workload, rows, files):
        """Compares every program's outputs, or those before each head, with our direct
        convolutions, relative to the largest value."""
        checked = {}
        for row in rows:
            if row.program is not self.yardstick:
                checked.setdefault(row.key(), row)
        reference = next((row for row in checked.values() if row.setting == "direct"), rows[0])
        for what, probe in workload.probes(files):
            self.progress("%s: comparing %s, %s" % (workload.name, what, reference.name))
            expected = self.dump(reference, probe, getattr(probe, workload.picture))
            for row in checked.values():
                if row is reference or row.failure:
                    continue
                self.progress("%s: comparing %s, %s" % (workload.name, what, row.name))
                try:
                    twin = self.twin_of(row, probe)
                    found = self.dump(row, twin or probe, getattr(probe, workload.picture))
                    row.add("difference", difference(found, self.dump(reference, twin, twin.raw) if twin else expected))
                except Failed as reason:
                    self.give_up(workload, row, "%s: %s" % (what, reason))
        for row in rows:   # the worst of all heads, also for rows of the other picture
            judged = checked.get(row.key())
            if judged and judged.samples.get("difference"):
                row.samples["difference"] = [max(judged.samples["difference"])]
            if judged and judged.failure:
                row.failure = judged.failure

    def print_comparison(self, workload, rows):
        seen = set()
        for row in rows:
            difference = row.median("difference")
            if row.key() in seen or difference is None:
                continue
            seen.add(row.key())
            good = difference <= row.tolerance
            self.failed |= not good
            if self.options.check or not good:
                self.progress("")
                print("%s %s, %s, %s: %.1e of the largest value" % (
                    "ok" if good else "FAIL", workload.name, row.name, row.setting, difference))

    # ---- timing ----

    def measure_yardstick(self, workload, row):
        command = row.program.command(row.options, workload.layers, row.repeat)
        answer = row.program.read(programs.run(command, row.cpus, self.folder, cwd=row.program.folder).output)
        for metric, value in answer.items():
            row.add(metric, value)

    def measure(self, row, files):
        environment = getattr(row.program, "environment", None)
        picture = getattr(files, row.picture)
        read_into_page_cache(row.program.files(files, picture))
        command = row.program.command(files, picture, row.repeat, row.options)
        process = programs.run(command, row.cpus, self.folder, env=environment)
        answer = json.loads(process.output)
        latencies = answer["latencies_ms"]
        row.add("cpu_share", process.cpu_share)
        row.add("first_ms", latencies[0])
        row.add("warm_ms", statistics.median(latencies[1:]))
        row.add("best_ms", min(latencies))
        for metric in ("load_ms", "image_ms", "layers_ms"):
            row.add(metric, answer[metric])
        row.add("resident_bytes", answer["measured_resident_bytes"])
        row.add("peak_resident_bytes", answer.get("vm_hwm_bytes"))
        row.add("predicted_resident_bytes", answer.get("predicted_resident_bytes"))
        if row.program is self.mafat and not row.level:
            self.mafat.level = answer["cpu"]
        if row.name in self.idle:
            row.add("resident_without_idle_bytes", max(0, answer["measured_resident_bytes"] - self.idle[row.name]))
        drop_from_page_cache(row.program.files(files, picture))
        command = row.program.command(files, picture, 1, row.options)
        cold = programs.run(command, row.cpus, self.folder, env=environment)
        row.add("total_ms", cold.total_ms)
        if row.repeat >= CPU_REPEAT:   # cancels the cost of starting and loading
            row.add("cpu_ms", (process.cpu_ms - cold.cpu_ms) / (row.repeat - 1))

    def time(self, workload, rows, files):
        for i in range(self.options.runs):
            for row in rows:
                if row.failure or (self.options.picture and row.picture != self.options.picture):
                    continue
                self.progress("%s: round %d of %d, %s %s" % (workload.name, i + 1, self.options.runs, row.name, row.setting))
                try:
                    if row.program is self.yardstick:
                        self.measure_yardstick(workload, row)
                    else:
                        self.measure(row, files)
                except Failed as reason:
                    self.give_up(workload, row, reason)

    def run_workload(self, workload):
        self.progress("%s: making its files" % workload.name)
        folder = os.path.join(self.folder, workload.name)
        os.mkdir(folder)
        try:
            files = workload.prepare(folder, self.options.build)
            rows = self.rows(workload)
            self.compare(workload, rows, files)
            self.print_comparison(workload, rows)
            if not self.options.check:
                for program in {row.program: None for row in rows if not row.failure}:
                    if hasattr(program, "prepare"):
                        program.prepare(files, self.folder)
                self.time(workload, rows, files)
                if getattr(workload, "is_memory_judged", False):
                    self.judge_memory(workload, rows)
                self.results.append((workload, rows))
                self.write()
        except Unavailable as reason:
            self.note("%s: skipped: %s" % (workload.name, reason))
        except Failed as reason:
            self.note("%s: %s" % (workload.name, reason))
            self.failed = True
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def judge_memory(self, workload, rows):
        for fault in report.memory_faults(rows):
            self.failed = True
            self.note("%s: %s" % (workload.name, fault))

    # ---- results ----

    def versions(self):
        return (["mafat %s (%s kernels)" % (self.mafat.version, self.mafat.level)] +
                ["%s %s" % (peer.name, peer.version) for peer in self.peers])

    def write(self):
        return report.write(self.options.output, self.results, self.idle, self.versions(), self.notes,
                            dict(describe_machine(), runs=self.options.runs))

    def run(self):
        self.find_yardstick()
        for workload in self.options.workloads:
            self.run_workload(workload)
        self.progress("")
        if self.results:
            print(self.write(), end="")
            if self.options.output == HERE:
                readme_table.update()
        return 1 if self.failed else 0


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(os.path.join(options.build, "peers"), exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="run-", dir=os.path.join(options.build, "peers")) as folder:
            return Bench(options, folder).run()
    except Unavailable as reason:
        print("run.py: %s" % reason, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
