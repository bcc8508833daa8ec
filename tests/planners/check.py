#!/usr/bin/env python3
"""Compares the planners of experiments/planners with exhaustive search and worked examples of
publications.

  check.py [--all]       some of the random graphs, in seconds; all, and cell networks, in minutes

BUILD names the build folder: plans of orders are laid out and run by its lay_plans, for a generated
model."""

import os
import random
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "experiments", *folder) for folder in (("planners",), (), ("peers",))]

import hmcos
import methods
import milp
import operators
import published
import published_graphs
import report
import run
import serenity
import tflm
import timed
import tinyengine

ALL = "--all" in sys.argv[1:]
failed = False


def check(name, found, expected):
    global failed
    failed |= found != expected
    print("ok planners %s" % name if found == expected else "FAIL planners %s: expected %s, found %s" % (name, expected, found), flush=True)


def skip(name, why):
    print("skip planners %s: %s" % (name, why), flush=True)


def random_graph(draw, most, in_place=True):
    """Random operators that read up to three earlier tensors; some have the size of an input they
    could replace."""
    n = draw.randint(1, most)
    operands = [[[t] for t in draw.sample(pool, min(len(pool), draw.randint(1, 3)))] for pool in ([*range(i), n] for i in range(n))]
    sizes = [draw.randint(1, 12) for _ in range(n + 1)]
    places = [[operand[0] for operand in one if operand[0] < n and in_place and draw.random() < 0.3] for one in operands]
    for i, taken in enumerate(places):
        for t in taken:
            if draw.random() < 0.5:
                sizes[i] = sizes[t]
    return operators.Graph(operands, sizes, draw.sample(range(n), draw.randint(0, 1)), places)


# ---- orders ----

def check_serenity(count):
    """With and without operators that run at once."""
    draw, wrong = random.Random(1), []
    for k in range(count):
        graph = random_graph(draw, 9)
        least = operators.exhaustive(graph)
        for eager in (False, True):
            order, proven = serenity.schedule(graph, eager=eager)
            if not (proven and operators.is_order(graph, order) and operators.peak(graph, order) == least):
                wrong.append((k, eager, operators.peak(graph, order), least))
    check("Serenity: the least of all orders, of %d random graphs of up to 9 operators" % count, wrong, [])
    graph = random_graph(random.Random(5), 9)
    check("Serenity: no budget below the least has an order", serenity.Search(graph, operators.exhaustive(graph) - 1, 1000, None, True).find(), None)


def check_hmcos(count):
    """Small graphs without groups give the same result; orders are valid."""
    draw, wrong = random.Random(2), []
    for k in range(count):
        graph = random_graph(draw, 9)
        order = hmcos.schedule(graph)[0]
        if not operators.is_order(graph, order) or operators.peak(graph, order) < operators.exhaustive(graph):
            wrong.append(k)
    check("HMCOS: orders, none below the least of all, of %d random graphs" % count, wrong, [])
    graph = published_graphs.build("darts_cifar")
    order, left, groups = hmcos.schedule(graph)
    check("HMCOS: darts_cifar has a group for each cell", groups, 20)
    check("HMCOS: some stay closed", 0 < left < groups, True)
    check("HMCOS: an order of darts_cifar", operators.is_order(graph, order), True)
    check("HMCOS: darts_cifar within %d KB" % published.HMCOS_MOST["darts_cifar"], operators.peak(graph, order) <= 1024 * published.HMCOS_MOST["darts_cifar"], True)
    if ALL:
        graph = published_graphs.build("nasnet_a_cifar")
        order = hmcos.schedule(graph)[0]
        check("HMCOS: nasnet_a_cifar within %d KB" % published.HMCOS_MOST["nasnet_a_cifar"],
              operators.peak(graph, order) <= 1024 * published.HMCOS_MOST["nasnet_a_cifar"], True)


def check_counting():
    """MOTES' worked example: input, linear, function, linear, sum with the input."""
    graph = operators.Graph([[[5]], [[0]], [[1]], [[2], [5]], [[3]]], [512, 512, 128, 128, 128, 128], places=[[], [0], [], [2], [3]])
    order = list(range(5))
    check("MOTES' worked example, element by element in place", operators.peak(graph, order), 768)
    check("MOTES' worked example, nothing in place", operators.peak(graph.in_place(operators.NOTHING), order), 1152)
    check("what lives covers what is counted", most_alive(operators.lives(graph, order)), 768)
    draw, wrong = random.Random(4), []
    for k in range(300):
        graph = random_graph(draw, 9)
        order = operators.reverse_post_order(graph)
        if most_alive(operators.lives(graph, order)) != operators.peak(graph, order):
            wrong.append(k)
    check("buffers and counts agree, of 300 random graphs in reverse post-order", wrong, [])


def most_alive(lives):
    return max(sum(size for first, last, size in lives if first <= step <= last) for step in {first for first, _, _ in lives})


# ---- layouts ----

CHAIN = [(0, 1, 5), (1, 2, 3), (2, 3, 2), (3, 4, 4)]


def overlaps(lives, offsets):
    return [(a, b) for b in range(len(lives)) for a in range(b) if lives[a][0] <= lives[b][1] and lives[b][0] <= lives[a][1] and
            offsets[a] < offsets[b] + lives[b][2] and offsets[b] < offsets[a] + lives[a][2]]


def random_lives(draw, n):
    return [(first, first + draw.randint(0, 3), draw.randint(1, 9)) for first in (draw.randint(0, 6) for _ in range(n))]


def check_layouts():
    check("FDT's chain of buffers: TFLite Micro's greedy layout", tflm.arena(CHAIN, 1), 10)
    check("FDT's chain of buffers: the least", milp.least_layout(CHAIN), 8)
    draw, wrong = random.Random(6), []
    for k in range(300):
        lives = random_lives(draw, draw.randint(1, 6))
        offsets = tflm.layout(lives, 1)
        if overlaps(lives, offsets) or tflm.arena(lives, 1) < milp.least_layout(lives):
            wrong.append(k)
    check("TFLite Micro's layout: nothing overlaps, never below the least, of 300", wrong, [])


# ---- integer programmes ----

# FDT's example of two branches that join; without a source.
BRANCHES = operators.Graph([[[7]], [[0]], [[1]], [[7]], [[3]], [[4]], [[2], [5]]], [50, 30, 40, 40, 40, 40, 30, 0])


def check_programmes(count, most):
    check("FDT's example of an order: exhaustive search", operators.exhaustive(BRANCHES), 110)
    name = milp.solver()
    if not name:
        return skip("integer programmes", "neither cbc nor lp_solve is installed")
    order, count_of_it, proven = milp.schedule(BRANCHES, 120)
    check("FDT's example of an order: A1 B1 A2 B2 C2 C1 D need 110", (count_of_it, operators.peak(BRANCHES, order), proven), (110, 110, True))
    offsets, size, proven = milp.layout(CHAIN, 60)
    check("FDT's chain of buffers: its programme", (size, overlaps(CHAIN, offsets), proven), (8, [], True))
    draw, wrong = random.Random(3), []
    for k in range(count):
        graph = random_graph(draw, most, False)
        found = milp.schedule(graph, 120)
        least = operators.exhaustive(graph)
        if not found or not (found[1] == least == operators.peak(graph, found[0])):
            wrong.append((k, found, least))
    check("FDT's order: the least of all, of %d random graphs of up to %d operators, by %s" % (count, most, name), wrong, [])
    wrong = []
    for k in range(count):
        lives = random_lives(draw, draw.randint(1, 6))
        offsets, size, _ = milp.layout(lives, 60)
        if overlaps(lives, offsets) or size != milp.least_layout(lives):
            wrong.append((k, size))
    check("FDT's layout: the least of all, of %d sets of up to 6 buffers" % count, wrong, [])


# ---- TinyEngine ----

def check_patches():
    """MCUNetV2-SE-Large up to its map of 28 x 28 x 40, with the publication's additional
    multiply-adds: borders are ignored."""
    layers = [(112, 3, 2, 3 * 9 * 16), (112, 1, 1, 16 * 16), (112, 1, 1, 16 * 96), (56, 3, 2, 9 * 96), (56, 1, 1, 96 * 24), (56, 1, 1, 24 * 96),
              (28, 3, 2, 9 * 96), (28, 1, 1, 96 * 40)]
    chain = [dict(zip(("side", "window", "stride", "work"), layer)) for layer in layers]
    once = sum(one["side"] ** 2 * one["work"] for one in chain)
    more = ["%.1f" % (100 * (tinyengine.patch_macs(chain, n) - once) / 216.63e6) for n in (2, 4, 7)]
    check("TinyEngine: more multiply-adds of 2, 4 and 7 patches a side", more, ["2.0", "4.1", "7.4"])
    check("runs of layers as a plan has them", tinyengine.spans([3, 0, 1, 2, 7, 9, 8]), "0-3,7-9")


# ---- faster plans ----

def check_timed():
    for plan in ("1x1/NoCut/order=best/inplace", "rows1/12,40,44-45/1x1", "rows1:early/4/1x8/9/1x1/inplace"):
        check("groups and cuts of %s, and back" % plan, timed.text_of(*timed.groups_of(plan)), plan)
    found = [timed.coarser(*one) for one in (("rows1", 4), ("rows:early", 2), ("1x32", 4), ("5x5:balanced", 8), ("panels", 2), ("rows2", timed.WHOLE))]
    check("coarser cuts", found, ["rows4", "rows8:early", "1x8", "1x1", "panels", "1x1"])
    check("whole maps in the best order, where there are some", [timed.texts(timed.variants(plan))[0] for plan in ("rows1/9/1x1/inplace", "rows1/9/rows2")],
          ["rows1/9/1x1/order=best/inplace", "rows1/9/rows2"])
    # Two groups: the first is faster and larger if divided coarsely, the second cannot be divided.
    cuttings = [["rows%d" % n, "1x1"] for n in (1, 2, 4)]
    told = [{"groups": [{"peak_bytes": 100 * n, "ms": 8 / n}, {"peak_bytes": 250, "ms": 1}]} for n in (1, 2, 4)]
    of_it = cuttings, ["3"], ["inplace"]
    check("the least limit that is quick enough", timed.compose(of_it, told, 5.0), ["rows2/3/1x1/inplace", "rows4/3/1x1/inplace"])
    check("none is quick enough", timed.compose(of_it, told, 2.0), [])
    check("plans that are refused are left out", timed.compose(of_it, [told[0], {"error": "no"}, told[2]], 3.0), ["rows4/3/1x1/inplace"])


# ---- orders as plans ----

def check_plans(folder):
    """Lays out and runs orders of whole operators: the least one of the model, and an invalid one."""
    if not os.path.exists(operators.tool("lay_plans")):
        return skip("plans", "build/lay_plans is not there")
    path = os.path.join(folder, "branches.onnx")
    write_branches(path)
    graph = operators.read_graph(path)
    orders = [operators.reverse_post_order(graph), operators.greedy_order(graph), serenity.schedule(graph)[0], list(range(graph.n))]
    plans = [operators.order_plan(graph, order, place) for order in orders for place in (False, True)]
    whole, *laid = methods.lay(path, ["1x1/NoCut/order=file"] + plans, "--filled")
    check("orders as plans: the same bits", {one["hash"] for one in laid}, {whole["hash"]})
    check("orders as plans: whatever the arena held", any(one["dirty_differs"] for one in laid), False)
    check("orders as plans: written to the last line of what was predicted",
          [-(-one["touched_end"] // 64) * 64 for one in laid], [one["arena_bytes"] - one["behind_bytes"] for one in laid])
    check("orders as plans: a step for each operator", {len(one["live"]) for one in laid}, {graph.n})
    counts = [operators.peak(graph.in_place(how), order) for order in orders for how in (operators.NOTHING, operators.ALL)]
    check("orders as plans: no less than the bytes of maps", [a for a, b in zip(counts, laid) if b["bound_bytes"] < a], [])
    refused, = methods.lay(path, [operators.order_plan(graph, orders[0][::-1])])
    check("an order in which a reader comes first is refused", "later group" in refused.get("error", ""), True)


def write_branches(path):
    sys.path.insert(0, os.path.join(ROOT, "experiments", "networks"))
    from graph import Graph
    graph = Graph("branches", (4, 16, 16))
    stem = graph.conv(graph.input, 8, 3, activation="relu")
    wide = graph.conv(graph.conv(stem, 48, 1, activation="relu"), 8, 1)
    other = graph.conv(graph.conv(graph.conv(stem, 40, 1, activation="relu"), 8, 3), 40, 1)
    graph.finish(graph.conv(graph.concat([wide, other]), 4, 1)).write(path)


# ---- make planners-check ----

def check_again(folder):
    """Hand-made results: other bits, dependence on the arena's content, fewer or more written bytes
    than predicted, a refusal."""
    def facts(**more):
        return {"hash": "a", "dirty_differs": False, "touched_end": 1000, "arena_bytes": 1088, "behind_bytes": 64} | more

    plain = facts()
    check("planners-check: bits, and up to the last line", run.judge(plain, [facts(), facts(hash="b"), facts(dirty_differs=True), facts(touched_end=900)]), (2, 3, True))
    check("planners-check: beyond what is predicted", run.judge(plain, [facts(), facts(touched_end=1025)]), (2, 1, False))
    check("planners-check: refused", run.judge(plain, [facts(), {"error": "no"}]), (1, 1, False))
    rows = {("vww", how): {"network": "vww", "method": how, "plans": 10, "same_bits": 10, "to_the_line": 9, "machine": "", "commit": ""} for how in ("plain", "valgrind")}
    rows["kws", "plain"] = rows["vww", "plain"] | {"network": "kws"}
    run.write_checks(os.path.join(folder, "checks.csv"), rows)
    text = report.checks_text(folder)
    check("planners-check: on the page", [line for line in text.splitlines() if line.startswith(("| kws", "| vww"))],
          ["| kws | 10 | 10 | 9 | - | - | - |", "| vww | 10 | 10 | 9 | 10 | 10 | 9 |"])


# ---- the page ----

def check_page(folder):
    """Checks the page for one network made by hand: (bytes, milliseconds) of each method, ours, and bits that differ."""
    known = {"whole": (1000, 1.0), "fdt": (800, 1.0), "motes": (900, 1.0), "least": (600, 1.2), "quick": (700, 1.04)}
    rows = {("kws", name): dict.fromkeys(run.FIELDS, "") | {"network": "kws", "method": name, "arena_bytes": size, "used_bytes": size, "constant_bytes": 0,
            "behind_bytes": 0, "ms": ms, "hash": "b" if name == "motes" else "a", "macs": 10, "redundant_macs": 0, "seconds": 0, "filled_differs": 0}
            for name, (size, ms) in known.items()}
    run.write_rows(os.path.join(folder, "runs.csv"), run.FIELDS, rows)
    runs = report.Runs(folder)
    check("page: the better of FDT and MOTES", runs.rivals("kws"), (800, "fdt"))
    check("page: ours beside it", [report.judged(runs, "kws", name) for name in ("least", "quick")], [(0.75, 1.2), (0.875, 1.04)])
    text = report.bars(runs)
    check("page: smaller, and too slow", "- ours: at most 1.05 x the time of whole maps on 0 of 1; not more than the better of FDT and MOTES on 1 of 1, at most 0.8 x of it "
          "on 1; at most 0.8 x and in time on 0." in text, True)
    check("page: in time, and too large", "- ours, in time: at most 1.05 x the time of whole maps on 1 of 1; not more than the better of FDT and MOTES on 1 of 1, at most "
          "0.8 x of it on 0; at most 0.8 x and in time on 0." in text, True)
    check("page: other bits are reported", "**bits other than those of whole maps**: kws, MOTES" in report.used_text(runs), True)
    check("page: bytes that are not written are reported", "ours, in time: 700 bytes predicted" in report.used_text(runs), True)


def main():
    check_counting()
    check_serenity(2000)
    check_hmcos(500 if ALL else 100)
    check_layouts()
    check_programmes(*((100, 7) if ALL else (12, 4)))
    check_patches()
    check_timed()
    with tempfile.TemporaryDirectory() as folder:
        check_plans(folder)
        check_page(folder)
        check_again(folder)
    return failed


if __name__ == "__main__":
    sys.exit(main())
