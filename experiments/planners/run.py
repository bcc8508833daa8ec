#!/usr/bin/env python3
"""Published planners of memory beside ours: sixteen networks, every method; bytes, multiply-adds, milliseconds, seconds to plan.

    run.py [--only NETWORK,...] [--methods METHOD,...] [--seconds N] [--before 'COMMAND ...'] [--timed-seconds N]
           [--again | --time-again] [--plans-only | --report-only | --check ['COMMAND ...']]

Models come from the folder that MAFAT_MODELS names and from BUILD/networks (make networks); what is missing is said and left
out, as are searches that the program does not know. Rows are kept in BUILD/planners and gone on with; --again finds and measures
anew, --time-again measures all plans anew. When all is done, runs.csv, live.csv, joins.csv, checks.csv, README.md, figures and maps of this folder are written; with --only, in
BUILD/planners instead.

--before: what timed programs are run by, such as 'taskset -c 1'; timing takes about --timed-seconds (30) for each network.
--seconds: that a method of this folder may look for an order (60); a search of the program ten times as many. --plans-only: nothing
is measured yet. --report-only: the page and its figures from the CSV of this folder. --check: runs the plans of all methods, by a
command such as 'valgrind -q --error-exitcode=1' or by none, and says whether their bits are those of whole maps and their arenas as predicted; of vww,
too (make planners-check)."""

import argparse
import csv
import os
import shlex
import subprocess
import sys
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "peers")]

import figure
import hmcos
import methods
import published_graphs
import report
from machine import describe_machine
from operators import BUILD, peak, read_graph, reverse_post_order
from published import EXTRA, NETWORKS

FIELDS = ["network", "method", "plan", "own_bytes", "arena_bytes", "bound_bytes", "input_bytes", "activations_bytes", "scratch_bytes", "constant_bytes", "behind_bytes", "used_bytes", "hash",
          "filled_differs", "macs", "redundant_macs", "ms", "seconds", "machine", "commit", "note"]
LIVE_FIELDS = ["network", "method", "live"]
# networks whose arenas are drawn
MAPPED = {"kws": "least", "cifar10": "least", "mobilenet_v2": "least"}
POINTS, LONGEST_PLAN = 240, 400


def say(text):
    print("run.py: " + text, file=sys.stderr, flush=True)


def path_of(network):
    """The path of the network's model, or None."""
    where, name = (NETWORKS | EXTRA)[network]
    folder = os.environ.get("MAFAT_MODELS") if where == "models" else os.path.join(BUILD, "networks")
    path = folder and os.path.join(folder, name)
    return path if path and os.path.exists(path) else None


# ---- rows ----

def read_rows(path):
    if not os.path.exists(path):
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {(row["network"], row["method"]): row for row in csv.DictReader(file)}


def write_rows(path, fields, rows):
    """Rows in the order of networks and methods."""
    order = [(network, method) for network in NETWORKS for method in methods.METHODS]
    with open(path + ".part", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in order if key in rows)
    os.replace(path + ".part", path)


def write_checks(path, rows):
    """Writes the results by network, with every command that was run."""
    with open(path + ".part", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CHECK_FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows, key=lambda key: (list(NETWORKS | EXTRA).index(key[0]), key[1])))
    os.replace(path + ".part", path)


def shortened(live):
    """The maximum of each of a few stretches; steps without an operator are dropped."""
    live = [n for n in live if n] or [0]
    n = min(len(live), POINTS)
    return [max(live[k * len(live) // n:max((k + 1) * len(live) // n, k * len(live) // n + 1)]) for k in range(n)]


class Store:
    """The results so far, in BUILD/planners."""

    def __init__(self, again):
        self.folder = os.path.join(BUILD, "planners")
        os.makedirs(os.path.join(self.folder, "plans"), exist_ok=True)
        self.runs = read_rows(self.at("runs.csv"))
        self.live = read_rows(self.at("live.csv"))
        self.joins = read_rows(self.at("joins.csv"))
        self.checks = read_rows(self.at("checks.csv"))
        self.again = again

    def at(self, name):
        return os.path.join(self.folder, name)

    def plan_path(self, network, method):
        return self.at(os.path.join("plans", "%s-%s.plan" % (network, method)))

    def plan(self, network, method):
        try:
            with open(self.plan_path(network, method), encoding="ascii") as file:
                return file.read().strip()
        except FileNotFoundError:
            return None

    def keep_plan(self, network, method, plan):
        if plan is None:
            if os.path.exists(self.plan_path(network, method)):
                os.unlink(self.plan_path(network, method))
            return
        with open(self.plan_path(network, method), "w", encoding="ascii") as file:
            file.write(plan + "\n")

    def write(self):
        write_rows(self.at("runs.csv"), FIELDS, self.runs)
        write_rows(self.at("live.csv"), LIVE_FIELDS, self.live)
        write_rows(self.at("joins.csv"), JOINS_FIELDS, self.joins)

    def has(self, network, method):
        row = self.runs.get((network, method))
        return row is not None and not row["note"].startswith("absent") and not self.again


# ---- counts of publications, of graphs in which a join is an operator ----

JOINS_FIELDS = ["network", "method", "post_order_bytes", "hmcos_bytes", "seconds"]
JOINED = ("nasnet_a_cifar", "darts_cifar", "nasnet_a_imagenet", "darts_imagenet")


def count_joins(store, seconds):
    for network in JOINED:
        if (network, "hmcos") in store.joins and not store.again:
            continue
        graph = published_graphs.build(network)
        begin = time.monotonic()
        order = hmcos.schedule(graph, seconds)[0]
        took = time.monotonic() - begin
        store.joins[network, "hmcos"] = {"network": network, "method": "hmcos", "post_order_bytes": peak(graph, reverse_post_order(graph)),
                                         "hmcos_bytes": peak(graph, order), "seconds": "%.3f" % took}
        say("%s with joins: HMCOS needs %d bytes, in %.1f s" % (network, peak(graph, order), took))
    store.write()


# ---- measuring ----

def plan_network(store, network, path, names, seconds, before):
    graph, news = read_graph(path), False
    for name in names:
        if store.has(network, name) and not (name == "quick" and news):   # quick chooses among the others' plans
            continue
        known = {other: store.plan(network, other) for other in methods.METHODS if store.plan(network, other)}
        found = methods.find(name, methods.Task(path, graph, seconds, known, before))
        news = news or found.plan is not None
        store.keep_plan(network, name, found.plan)
        store.runs[network, name] = {"network": network, "method": name, "own_bytes": found.own_bytes or "", "seconds": "%.3f" % found.seconds,
                                     "note": found.note, "ms": ""}
        store.live.pop((network, name), None)
        say("%s, %s: %s in %.1f s%s" % (network, name, "planned" if found.plan else "no plan", found.seconds, found.note and " (%s)" % found.note))
    store.write()


def note_run(store, network, name, facts):
    row = store.runs[network, name]
    if "error" in facts:
        row["note"] = "refused: " + facts["error"]
        store.keep_plan(network, name, None)
        return
    row.update({field: facts[field] for field in ("arena_bytes", "bound_bytes", "input_bytes", "activations_bytes", "scratch_bytes", "constant_bytes", "behind_bytes", "macs", "redundant_macs", "hash")})
    row.update(plan=facts["plan"] if len(facts["plan"]) <= LONGEST_PLAN else "", used_bytes=facts["touched_end"], filled_differs=int(facts["dirty_differs"]))
    store.live[network, name] = {"network": network, "method": name, "live": " ".join(map(str, shortened(facts["live"])))}


def measure_network(store, network, path, before, timed_seconds, again):
    """Runs each plan in a filled arena, then times all in turn."""
    planned = [name for name in methods.METHODS if (network, name) in store.runs and store.plan(network, name)]
    plans = [store.plan(network, name) for name in planned]
    if all(store.runs[network, name]["ms"] for name in planned) and not again:
        return
    for name, facts in zip(planned, methods.lay(path, plans, "--filled")):
        note_run(store, network, name, facts)
    kept = [(name, plan) for name, plan in zip(planned, plans) if store.plan(network, name)]
    plans = [plan for _, plan in kept]
    once = sum(min(facts["ms"]) for facts in methods.lay(path, plans, "--rounds", "1", before=before)) / 1000
    rounds = max(5, min(101, int(timed_seconds / max(once, 1e-3) / 1.3) - 4))
    where = describe_machine()
    for (name, _), facts in zip(kept, methods.lay(path, plans, "--rounds", str(rounds), before=before)):
        store.runs[network, name].update(ms="%.4f" % min(facts["ms"]), machine=where["machine"], commit=where["commit"])
    store.write()


CHECK_FIELDS = ["network", "method", "plans", "same_bits", "to_the_line", "machine", "commit"]


def judge(plain, told):
    """Number of plans with the bits of `plain`, whatever the arena held; number that wrote exactly
    the predicted lines; whether any wrote more or was refused."""
    ran = [facts for facts in told if "error" not in facts]
    same = sum(facts["hash"] == plain["hash"] and not facts["dirty_differs"] for facts in ran)
    ends = [(-(-facts["touched_end"] // report.LINE) * report.LINE, facts["arena_bytes"] - facts["behind_bytes"]) for facts in ran]
    return same, sum(end == predicted for end, predicted in ends), len(ran) == len(told) and all(end <= predicted for end, predicted in ends)


def check_network(store, network, path, names, seconds, command):
    """Runs plans of all methods, by a command such as valgrind or none: they must succeed with the
    bits of whole maps in the predicted arena."""
    plans = {name: store.plan(network, name) for name in names}
    graph = read_graph(path)
    plans = {name: plan or methods.find(name, methods.Task(path, graph, seconds)).plan for name, plan in plans.items() if plan or name != "quick"}
    plans = {name: plan for name, plan in plans.items() if plan}
    plain, = methods.lay(path, ["1x1/NoCut/order=file"], "--filled")
    same, to_the_line, within = judge(plain, methods.lay(path, plans.values(), "--filled", before=command))
    where, by = describe_machine(), "by '%s'" % " ".join(command) if command else "as they are"
    store.checks[network, command[0] if command else "plain"] = {
        "network": network, "method": command[0] if command else "plain", "plans": len(plans), "same_bits": same, "to_the_line": to_the_line,
        "machine": where["machine"], "commit": where["commit"]}
    write_checks(store.at("checks.csv"), store.checks)
    say("%s: %d plans %s: the same bits by %d, written up to the line that is predicted by %d%s" %
        (network, len(plans), by, same, to_the_line, "" if within else ", BEYOND IT OR REFUSED BY SOME"))
    return same == len(plans) and within


def draw_maps(store, folder):
    """Draws three plans with --map; pictures name the model without its folder."""
    for network, method in MAPPED.items():
        path, plan = path_of(network), store.plan(network, method)
        if path and plan:
            command = [os.path.abspath(methods.tool("run_inference")), "--predict", "--quiet", "--algorithm", "direct", "--plan", plan, "--map",
                       os.path.abspath(os.path.join(folder, "map_%s.svg" % network)), os.path.basename(path)]
            subprocess.run(command, stdout=subprocess.DEVNULL, cwd=os.path.dirname(path), check=False)


def finish(store, folder):
    write_rows(os.path.join(folder, "runs.csv"), FIELDS, store.runs)
    write_rows(os.path.join(folder, "live.csv"), LIVE_FIELDS, store.live)
    write_rows(os.path.join(folder, "joins.csv"), JOINS_FIELDS, store.joins)
    write_checks(os.path.join(folder, "checks.csv"), store.checks)
    draw_maps(store, folder)
    figure.draw(folder)
    report.write(folder)
    say("written: " + os.path.join(folder, "README.md"))


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--methods", default=",".join(methods.METHODS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--before", default="")
    parser.add_argument("--timed-seconds", type=float, default=30)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--time-again", action="store_true")
    parser.add_argument("--check", nargs="?", const="", metavar="COMMAND")
    parser.add_argument("--plans-only", action="store_true")
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    options.only = options.only or ",".join(NETWORKS | EXTRA if options.check is not None else NETWORKS)
    for text, known in ((options.only, NETWORKS | EXTRA if options.check is not None else NETWORKS), (options.methods, methods.METHODS)):
        for word in text.split(","):
            if word not in known:
                parser.exit(2, "run.py: expected some of %s, found %s\n" % (", ".join(known), word))
    return options


def main():
    options = parse()
    if options.report_only:
        figure.draw(HERE)
        return report.write(HERE)
    if not methods.milp.solver():
        say("neither %s is installed: integer programmes are left out, our own exact methods stand in" % " nor ".join(methods.milp.SOLVERS))
    store, good, names, before = Store(options.again), True, options.methods.split(","), shlex.split(options.before)
    for network in options.only.split(","):
        path = path_of(network)
        if not path:
            say("%s: %s is not there; left out" % (network, (NETWORKS | EXTRA)[network][1]))
        elif options.check is not None:
            good = check_network(store, network, path, names, options.seconds, shlex.split(options.check)) and good
        else:
            plan_network(store, network, path, names, options.seconds, before)
            if not options.plans_only:
                measure_network(store, network, path, before, options.timed_seconds, options.again or options.time_again)
    if options.check is not None:
        return 0 if good else 1
    count_joins(store, options.seconds)
    if not options.plans_only:
        finish(store, HERE if options.only.split(",") == list(NETWORKS) else store.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
