#!/usr/bin/env python3
"""Several devices: networks on ranks in network namespaces with limited links, measured and predicted.

    run.py [--quick] [--networks yolov2,...] [--ranks 1,2,...] [--links 1000,100] [--ways deeperthings,best,best:256M]

For each network, link, way of sharing and number of ranks: bytes that ranks send each other as predicted, as counted at the calls and by
the interfaces, what each holds, milliseconds as predicted and as measured, and whether every output has the bits of one device. Ranks
beyond this machine's processors share these: their time is predicted only. A network is one of Darknet's, with random weights, or a model
file, or a cfg file beside its weights, on random numbers. Writes BUILD/ranks/results.csv; --write makes results.csv and README.md's tables of it here.
Exit status: 0 done, 1 a run failed, or a payload or bits are not as they should be, 77 cannot be tried here."""

import argparse
import array
import csv
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True   # nothing but results is written into the tree

from hosts import Hosts, Unavailable   # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
CFGS, DOG = "/usr/share/darknet/cfg", "/usr/share/darknet/data/dog.jpg"
NETWORKS = ["yolov3-tiny", "yolov2", "alexnet", "vgg-16", "extraction", "resnet50"]
COLUMNS = ["network", "mbit", "way", "ranks", "predicted_ms", "ms", "predicted_bytes", "sent_bytes", "interface_bytes", "predicted_most_bytes",
           "measured_most_bytes", "mpi_bytes", "least_above_bytes", "bits"]
BYTES = {"float32": 4, "int32": 4, "int64": 8}


def predicted(program, files, way, n, megabits):
    """`way` may include the memory of each rank: best:256M."""
    way, _, memory = way.partition(":")
    command = [program, "--predict", "--json", "--quiet", "--ranks", str(n), "--link", "%dM:0.1ms" % megabits, "--search", way, "--algorithm", "direct"]
    done = subprocess.run(command + (["--memory", memory] if memory else []) + files, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("run.py: %s" % done.stderr.strip())
    told = json.loads(done.stdout)
    return told["plan"], told["latency_ms"], told["exchanged_bytes"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def one_device(program, files, given, folder):
    """Every output of a run on one device."""
    path = os.path.join(folder, "one.raw")
    subprocess.run([program, "--quiet", "--algorithm", "direct", "--threads", "1", "--dump-output", path] + given + files, check=True,
                   stdout=subprocess.DEVNULL)
    return read(path)


def measured(hosts, program, plan, n, files, given, repeat, folder):
    """Least milliseconds; bytes sent in a run, by all interfaces; for each rank predicted and
    measured resident bytes, without those of MPI before any work; outputs."""
    before = sum(hosts.sent_bytes(host) for host in range(n))
    path = os.path.join(folder, "ranks.raw")
    command = [program, "--quiet", "--report", "--json", "--algorithm", "direct", "--threads", "1", "--repeat", str(repeat), "--dump-output", path,
               "--plan", plan]
    done = subprocess.run(hosts.mpirun(n, command + given + files), capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit("run.py: %s\n%s" % (" ".join(command + given + files), done.stderr[-2000:]))
    interface = sum(hosts.sent_bytes(host) for host in range(n)) - before
    answer = json.loads(done.stdout.splitlines()[-1])
    sent, held = 0, []
    for line in re.findall(r"rank \d+ \([^)]*\): .*", done.stderr):
        found = re.search(r"sent (\d+) bytes; resident (\d+) bytes, predicted (\d+), (\d+) before", line)
        if found:
            sent += int(found[1])
            held.append((int(found[3]) - int(found[4]), int(found[2]) - int(found[4]), int(found[4])))
    return min(answer["latencies_ms"]), sent // repeat, interface, held, read(path)


def rows_of_network(o, build, name, files, given):
    """`given`: the input, or the picture after the model's files."""
    program, single, cpus = os.path.join(build, "mafat_ranks"), os.path.join(build, "run_inference"), len(os.sched_getaffinity(0))
    folder = os.path.join(build, "ranks")
    alone = one_device(single, files, given, folder)
    for megabits in o.links:
        with Hosts(max(o.ranks), megabits) as hosts:
            for n, way in ((n, way) for n in o.ranks for way in (o.ways if n > 1 else o.ways[:1])):
                if sys.stderr.isatty():
                    print("\r\033[K%s, %d Mbit/s, %d ranks, %s" % (name, megabits, n, way), end="", file=sys.stderr)
                plan, ms, n_bytes = predicted(single, files, way, n, megabits)
                took, sent, interface, held, outputs = measured(hosts, program, plan, n, files, given, o.repeat, folder)
                yield dict(zip(COLUMNS, [name, megabits, way if n > 1 else "one", n, "%.1f" % ms, "%.1f" % took if n <= cpus else "",
                                         n_bytes, sent, interface] + [max(rank[k] for rank in held) for k in range(3)] +
                                        [min(told - was for told, was, _ in held), "same" if outputs == alone else "other"]))


def numbers_for(program, files, folder):
    """Writes random values for a model's input, and returns the --input option."""
    told = json.loads(subprocess.run([program, "--predict", "--json", "--quiet"] + files, check=True, capture_output=True, text=True).stdout)
    n_bytes = BYTES.get(told["inputs"][0]["type"], 1)
    n, draw, path = math.prod(told["inputs"][0]["dims"]), random.Random(1), os.path.join(folder, "input.raw")
    with open(path, "wb") as file:
        file.write(array.array("f", [draw.uniform(-1, 1) for _ in range(n)]).tobytes() if n_bytes == 4 else draw.randbytes(n * n_bytes))
    return ["--input", path]


def rows_of(o, build, folder):
    for name in o.networks:
        if os.path.exists(name):
            files = [name] + [os.path.splitext(name)[0] + ".weights"] * name.endswith(".cfg")
            given = numbers_for(os.path.join(build, "run_inference"), files, folder)
            yield from rows_of_network(o, build, os.path.splitext(os.path.basename(name))[0], files, given)
            continue
        files = [os.path.join(CFGS, name + ".cfg"), os.path.join(folder, name + ".weights")]
        try:
            subprocess.run([os.path.join(build, "make_weights"), "--quiet"] + files, check=True)
            yield from rows_of_network(o, build, name, files + [DOG], [])
        finally:
            if os.path.exists(files[1]):
                os.remove(files[1])


# ---- README.md

def cells(row):
    if not row:
        return ["", "", ""]
    ms = "%d" % float(row["predicted_ms"])
    return ["%.1f" % (int(row["sent_bytes"]) / 1e6), "%.1f" % (int(row["predicted_most_bytes"]) / 2**20),
            "%s (%d)" % (ms, float(row["ms"])) if row["ms"] else ms]


def write_tables():
    """Writes the tables, one for each link, after the last other line of README.md; and the figure
    if gnuplot is installed."""
    with open(os.path.join(HERE, "results.csv"), encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    if shutil.which("gnuplot"):
        draw(rows)
    by = {(r["network"], r["mbit"], r["way"], r["ranks"]): r for r in rows}
    ways = [w for w in dict.fromkeys(r["way"] for r in rows) if w != "one"]
    text = ""
    for mbit in dict.fromkeys(r["mbit"] for r in rows):
        text += "\n### %s Mbit/s, 0.1 ms\n\n| network | ranks | %s |\n|---|---|%s\n" % (
            mbit, " | ".join("%s: MB | MiB | ms" % way for way in ways), "---|" * (3 * len(ways)))
        for network, ranks in dict.fromkeys((r["network"], r["ranks"]) for r in rows if r["mbit"] == mbit):
            one = by.get((network, mbit, "one", ranks))
            found = [one] + [None] * (len(ways) - 1) if one else [by.get((network, mbit, way, ranks)) for way in ways]
            text += "| %s | %s | %s |\n" % (network, ranks, " | ".join(sum(map(cells, found), [])))
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as file:
        kept = file.read().split("\n### ")[0].rstrip("\n") + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(kept + text)


def draw(rows):
    """Draws ranks.svg: for each network the fullest rank's bytes, sent bytes, and predicted
    milliseconds by ranks; at the slowest link that all of them have."""
    networks = list(dict.fromkeys(r["network"] for r in rows))
    of_all = [mbit for mbit in {r["mbit"] for r in rows} if {r["network"] for r in rows if r["mbit"] == mbit} == set(networks)]
    mbit = min(of_all, key=int)
    ways = [(way, style) for way, style in (("deeperthings", "lt 1 pt 6 dt 2"), ("best", "lt 2 pt 7")) if any(r["way"] == way for r in rows)]
    script = ["set terminal svg size %d,660 font 'DejaVu Sans,11' background 'white'" % (240 * len(networks)),
              "set output '%s'" % os.path.join(HERE, "ranks.svg"),
              "set multiplot layout 3,%d columnsfirst title '%s Mbit/s: dashed DeeperThings, solid best'" % (len(networks), mbit),
              "unset key", "set xrange [0.5:6.5]", "set xtics 1", "set yrange [0:*]", "set style data linespoints"]
    for network in networks:
        for column, scale, title in (("predicted_most_bytes", 2**20, "MiB of the fullest rank"), ("sent_bytes", 1e6, "MB sent"), ("predicted_ms", 1, "ms")):
            script.append("set title '%s: %s'" % (network, title))
            script.append("plot " + ", ".join("'-' with linespoints %s" % style for _, style in ways))
            for way, _ in ways:
                points = [r for r in rows if r["network"] == network and r["mbit"] == mbit and r["way"] in ("one", way)]
                script += ["%s %g" % (r["ranks"], float(r[column]) / scale) for r in sorted(points, key=lambda r: int(r["ranks"]))] + ["e"]
    subprocess.run(["gnuplot"], input="\n".join(script) + "\n", text=True, check=True)


def wrong(row):
    """The difference from the prediction, or None."""
    sent, counted, interface = (int(row[key]) for key in ("predicted_bytes", "sent_bytes", "interface_bytes"))
    if counted != sent:
        return "%d bytes sent, %d predicted" % (counted, sent)
    if sent and interface < sent:
        return "the interfaces counted %d bytes, less than were sent" % interface
    if int(row["least_above_bytes"]) < 0:
        return "a rank holds %d bytes more than predicted" % -int(row["least_above_bytes"])
    if row["bits"] != "same":
        return "outputs are not those of one device"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = (lambda kind: lambda text: [kind(word) for word in text.split(",")])
    parser.add_argument("--networks", type=listed(str), default=NETWORKS)
    parser.add_argument("--ranks", type=listed(int), default=[1, 2, 3, 4, 5, 6])
    parser.add_argument("--links", type=listed(int), default=[1000, 100])
    parser.add_argument("--ways", type=listed(str), default=["deeperthings", "fdto", "best"])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="yolov3-tiny on one and two ranks")
    parser.add_argument("--write", action="store_true", help="results.csv and README.md's tables, here")
    parser.add_argument("--tables", action="store_true", help="README.md's tables of results.csv, nothing is run")
    o = parser.parse_args()
    if o.tables:
        return write_tables() or 0
    if o.quick:
        o.networks, o.ranks, o.links = ["yolov3-tiny"], [1, 2], [100]
    build = os.path.abspath(os.environ.get("BUILD", "build"))
    folder, bad = os.path.join(build, "ranks"), 0
    os.makedirs(folder, exist_ok=True)
    if not os.path.isdir(CFGS) or not os.path.exists(os.path.join(build, "mafat_ranks")):
        print("run.py: needs Debian's darknet and build/mafat_ranks (scripts/packages.sh ranks)", file=sys.stderr)
        return 77
    path = os.path.join(HERE if o.write else folder, "results.csv")
    try:
        with open(path, "w", newline="", encoding="ascii") as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            out.writeheader()
            for row in rows_of(o, build, folder):
                out.writerow(row)
                file.flush()
                why = wrong(row)
                bad += bool(why)
                print("%s %-12s %4d Mbit/s %-12s %d ranks: %8s ms predicted, %8s measured; %7.2f MB sent; most %6.2f MB, %6.2f measured%s" %
                      ("FAIL" if why else "ok", row["network"], row["mbit"], row["way"], row["ranks"], row["predicted_ms"], row["ms"] or "-",
                       int(row["sent_bytes"]) / 1e6, int(row["predicted_most_bytes"]) / 2**20, int(row["measured_most_bytes"]) / 2**20,
                       ": " + why if why else ""), flush=True)
    except Unavailable as why:
        print("run.py: %s" % why, file=sys.stderr)
        return 77
    if o.write:
        write_tables()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
