#!/usr/bin/env python3
"""Measures the time from exec to the first answer, beside other programs; writes start.csv and README.md.

  run.py [--report] [--rounds N] [--cpu N] [--note TEXT] [--build FOLDER] [NETWORK...]

A figure is the least of the rounds, in which all programs start once, in turn. --report: only writes
README.md. The peers are those of experiments/peers that are installed; README.md explains the columns."""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "peers")]
sys.dont_write_bytecode = True

import programs   # noqa: E402
from machine import ROOT, describe_machine, drop_from_page_cache, read_into_page_cache   # noqa: E402
from model_works import ModelWorkload   # noqa: E402
from pages import wrapped   # noqa: E402
from programs import Failed, compile_program   # noqa: E402
from workloads import Unavailable, Workload   # noqa: E402

TABLE = os.path.join(HERE, "start.csv")
COLUMNS = ("network", "program", "setting", "cached_ms", "cold_ms", "warm_ms", "model_bytes", "read_ms")
WARM_RUNS = 12
PLAN = ["--plan", "1x1/NoCut"]


class Packed(Workload):
    """A network of Darknet whose weights ours reads packed, the peers as they are."""

    def prepare(self, folder, build):
        files = super().prepare(folder, build)
        packed = os.path.join(folder, self.name + ".packed")
        subprocess.run([os.path.join(build, "pack_weights"), "--quiet", files.cfg, files.weights, packed], check=True)
        return files, [files.cfg, packed]


NETWORKS = [
    ModelWorkload("yolox_nano", "", "onnx/yolox_nano.onnx", 1),
    ModelWorkload("yunet", "", "onnx/yunet_n_320_320.onnx", 1),
    ModelWorkload("FastestDet", "", "onnx/FastestDet.onnx", 1),
    ModelWorkload("ultraface", "", "onnx/ultraface_RFB-320.onnx", 1),
    ModelWorkload("mobilenet_v2, uint8", "", "tflite/mobilenet_v2_1.0_224_quant.tflite", 1),
    ModelWorkload("vww, int8", "", "tflite/vww_96_int8.tflite", 1),
    ModelWorkload("kws, int8", "", "tflite/kws_ref_model.tflite", 1),
    Workload("Yolo-Fastest 1.1", "", "yolo-fastest-1.1", 1, trained=True),
    Packed("resnet50, packed", "", "resnet50", 1),
]


class Row:
    """A program with a setting, and its least times."""

    def __init__(self, program, setting, command, files, environment=None):
        self.program, self.setting, self.command, self.files, self.environment = \
            program, setting, command, files, environment
        self.cached, self.cold, self.warm, self.read = [], [], [], []


class Bench:
    """Programs that are installed, and the processor they run on."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.cpus = {max(os.sched_getaffinity(0)) if options.cpu is None else options.cpu}
        self.mafat = programs.Mafat(options.build)
        self.timer = os.path.join(options.build, "peers", "first_byte")
        os.makedirs(os.path.dirname(self.timer), exist_ok=True)
        compile_program(["gcc", "-std=c11", "-O2", "-o", self.timer, os.path.join(HERE, "first_byte.c")], "",
                        [os.path.join(HERE, "first_byte.c")])
        self.peers = []
        kinds = [(programs.TFLite,), (programs.OnnxRuntime,)]
        kinds += [(programs.Ncnn, tree) for tree in os.environ.get("MAFAT_NCNN", "").split(":") if tree]
        for kind, *where in kinds:
            try:
                peer = kind(options.build, *where)
                peer.idle(self.cpus, folder)
                self.peers.append(peer)
            except (Unavailable, Failed) as reason:
                print("%s: %s" % (kind.name, reason), file=sys.stderr)

    def rows(self, workload, folder):
        prepared = workload.prepare(folder, self.options.build)
        files, words = prepared if isinstance(prepared, tuple) else (prepared, None)
        picture = getattr(files, workload.picture)
        rows = []

        def mafat(setting, options):
            def command(repeat):
                line = self.mafat.command(files, picture, repeat, options)
                return line[:-3] + words + line[-1:] if words else line
            rows.append(Row("mafat", setting, command, (words or files.words()) + [picture]))

        mafat("as it is", [])
        mafat("plan given", PLAN)
        for peer in self.peers:
            if workload.format not in peer.reads:
                continue
            if hasattr(peer, "prepare"):
                peer.prepare(files, self.folder)
            for setting, options in peer.settings.items():
                rows.append(Row(peer.name, setting,
                                lambda repeat, peer=peer, options=options: peer.command(files, picture, repeat, options),
                                peer.files(files, picture), peer.environment))
        return rows

    def first_answer(self, row):
        with open(os.path.join(self.folder, "log"), "w+", encoding="utf-8") as log:
            process = programs.start([self.timer, *row.command(1)], self.cpus, log, env=row.environment)
            process.communicate()
            log.seek(0)
            lines = log.read().splitlines()
        if process.returncode != 0:
            raise Failed(lines[0] if lines else "exit status %d" % process.returncode)
        return float(lines[-1].split()[0])

    def read_cold(self, row):
        """Milliseconds for reading the largest file, directly and in order."""
        drop_from_page_cache(row.files)
        probe = ["dd", "if=" + max(row.files, key=os.path.getsize), "of=/dev/null", "bs=256k", "iflag=direct"]
        timed = subprocess.run([self.timer, *probe], capture_output=True, text=True, check=True)
        return float(timed.stderr.splitlines()[-1].split()[1])

    def measure(self, row):
        read_into_page_cache(row.files)
        answer = json.loads(programs.run(row.command(WARM_RUNS), self.cpus, self.folder, env=row.environment).output)
        row.warm.append(statistics.median(answer["latencies_ms"][1:]))
        read_into_page_cache(row.files)
        row.cached.append(self.first_answer(row))
        row.read.append(self.read_cold(row))
        drop_from_page_cache(row.files)
        row.cold.append(self.first_answer(row))

    def run(self, workload):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            rows = self.rows(workload, folder)
            for _ in range(self.options.rounds):
                for row in rows:
                    self.measure(row)
            for row in rows:
                yield {"network": workload.name, "program": row.program, "setting": row.setting,
                       "cached_ms": "%.2f" % min(row.cached),
                       "cold_ms": "%.2f" % min(row.cold), "warm_ms": "%.2f" % min(row.warm),
                       "model_bytes": sum(map(os.path.getsize, row.files)), "read_ms": "%.2f" % min(row.read)}


def measure(options):
    rows = []
    with tempfile.TemporaryDirectory(prefix="start-", dir=options.build) as folder:
        bench = Bench(options, folder)
        for workload in NETWORKS:
            if options.networks and workload.name not in options.networks:
                continue
            try:
                rows += bench.run(workload)
            except (Unavailable, Failed) as reason:
                print("%s: %s" % (workload.name, reason), file=sys.stderr)
    return rows


def excess(row, kind):
    return float(row[kind]) - float(row["warm_ms"])


def page(rows, machine, note):
    text = ["# From exec to the first answer", "",
            "This page shows how long a program takes from exec to its first answer, for one picture or input on one thread, and how much of "
            "that is not the run itself. To measure it again:", "",
            "    experiments/start/run.py           # peers: experiments/peers/install.sh", "",
            "%(machine)s, Linux %(kernel)s. Every figure is the least of interleaved rounds. *First answer* is the time from exec until the "
            "first byte of output has come, with model and input in the page cache. *Beyond a run* is that less *a run*, the median of later "
            "runs in one process. *Cold* is the same with model and input dropped from the page cache; *disk* is what reading the model "
            "alone takes, directly and in order. All programs read the same input; onnxruntime runs in node." % machine + (" " + note if note else ""), ""]
    for network in dict.fromkeys(row["network"] for row in rows):
        text += ["## " + network, "", "| program | setting | first answer, ms | a run, ms | beyond a run, ms | cold, ms | "
                 "cold beyond a run, ms | disk, ms |",
                 "|" + "---|" * 8]
        for row in rows:
            if row["network"] == network:
                text.append("| %s | %s | %s | %s | %.1f | %s | %.1f | %s |" % (
                    row["program"], row["setting"], row["cached_ms"], row["warm_ms"], excess(row, "cached_ms"),
                    row["cold_ms"],
                    excess(row, "cold_ms"), row["read_ms"]))
        text.append("")
    return wrapped("\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--report", action="store_true", help="only write README.md from start.csv")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", type=int, help="the CPU to run on (default: the last one)")
    parser.add_argument("--note", default="", help="a sentence about the machine, for the page")
    parser.add_argument("--build", default=os.environ.get("BUILD", os.path.join(ROOT, "build")), metavar="FOLDER")
    parser.add_argument("--print", action="store_true", help="print the page; write nothing")
    parser.add_argument("networks", nargs="*", metavar="NETWORK",
                        help="only these: " + "; ".join(w.name for w in NETWORKS))
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    if not options.report:
        rows = measure(options)
        if options.print or options.networks:
            print(page(rows, describe_machine(), options.note))
            return
        with open(TABLE, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    with open(TABLE, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(os.path.join(HERE, "README.md"), "w", encoding="utf-8") as file:
        file.write(page(rows, describe_machine(), options.note))


if __name__ == "__main__":
    main()
