"""The methods, each from a model file to a plan, its own byte count, and its time."""

import json
import os
import subprocess

import hmcos
import milp
import serenity
import tflm
import timed
import tinyengine
from operators import ELEMENTS, NOTHING, lives, order_plan, peak, tool

MOST_MILP = 16        # operators: one or two binary variables for each pair, two for each operator and step
MILP_SECONDS = 60
DELTA = "1.05"
AT_ONCE = 48          # plans that a process holds open, each with its own weights


class Found:
    """A plan, or the reason why there is none; own_bytes: the method's own count, if it has one."""

    def __init__(self, plan=None, own_bytes=None, note=""):
        self.plan, self.own_bytes, self.note, self.seconds = plan, own_bytes, note, None


class Task:
    """A model file, its graph, and other methods' plans. before: command that starts timed
    programs."""

    def __init__(self, path, graph, seconds, known=None, before=()):
        self.path, self.graph, self.seconds, self.known, self.before = path, graph, seconds, known or {}, before


def whole(task):
    return Found("1x1/NoCut/order=file")


def run_tflm(task):
    """The file's order, nothing in place."""
    graph = task.graph.in_place(NOTHING)
    order = list(range(graph.n))
    return Found(order_plan(graph, order), tflm.arena(lives(graph, order)))


def run_serenity(task):
    graph = task.graph.in_place(NOTHING)
    order, proven = serenity.schedule(graph, seconds=task.seconds)
    return Found(order_plan(graph, order), peak(graph, order), "" if proven else "not proven to be the least in %g s" % task.seconds)


def run_hmcos(task):
    graph = task.graph.in_place(ELEMENTS)
    order, left, groups = hmcos.schedule(graph, seconds=task.seconds)
    return Found(order_plan(graph, order, True), peak(graph, order), "%d of %d groups opened" % (groups - left, groups) if groups else "")


def run_milp(task):
    graph = task.graph.in_place(NOTHING)
    if graph.n > MOST_MILP:
        return Found(note="not asked: %d operators" % graph.n)
    try:
        found = milp.schedule(graph, MILP_SECONDS)
    except milp.Missing:   # falls back to our exact method
        order, proven = serenity.schedule(graph, seconds=task.seconds)
        return Found(order_plan(graph, order), peak(graph, order), "no solver is installed: Serenity's order")
    if not found:
        return Found(note="no order in %d s" % MILP_SECONDS)
    order, _, proven = found
    laid = milp.layout(lives(graph, order), MILP_SECONDS)
    note = "" if proven and laid and laid[2] else "not proven to be the least"
    return Found(order_plan(graph, order), laid[1] if laid else peak(graph, order), note)


def run_tinyengine(task):
    """The least arena over all patch sizes and ends, as the program lays it out; on ties the fewest
    patches."""
    whole_maps = order_plan(task.graph, list(range(task.graph.n)), True)
    plans = [(1, 0, whole_maps)] + list(tinyengine.plans(task.graph))
    least = min(zip(lay(task.path, [plan for _, _, plan in plans]), plans), key=lambda one: (one[0].get("arena_bytes", 1 << 60), one[0].get("macs", 0)))
    n, last, plan = least[1]
    return Found(plan, None, "patches save nothing" if n == 1 else "%d x %d patches of layer %d's map" % (n, n, task.graph.layers[last]))


def search(*words):
    """A search of the program. Reports if the program does not know it."""
    def find(task):
        command = [tool("run_inference"), "--predict", "--json", "--quiet", "--algorithm", "direct", *words, task.path]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=10 * task.seconds)
        except subprocess.TimeoutExpired:
            return Found(note="no plan in %g s" % (10 * task.seconds))
        if done.returncode not in (0, 3):
            said = (done.stderr.strip().splitlines() or [""])[-1].replace(task.path, os.path.basename(task.path))
            absent = done.returncode == 2 and ("--search" in said or "unrecognized option" in said or "--tiling" in said or "--delta" in said)
            return Found(note="absent from this program" if absent else "failed: " + said[-200:])
        return Found(json.loads(done.stdout)["plan"])
    return find


def run_quick(task):
    """The least arena of plans that take at most DELTA times whole maps, measured in turn.
    Candidates: ours for every budget, ours with the least arena, these with some groups divided
    more coarsely, groups between any two of all their cuts (timed.py), and all other planners'
    plans."""
    def measure(plans, rounds="7"):
        return [facts for at in range(0, len(plans), AT_ONCE) for facts in lay(task.path, plans[at:at + AT_ONCE], "--rounds", rounds, before=task.before)]

    ours = list(dict.fromkeys([task.known[name] for name in ("least",) if name in task.known] + front(task)))
    plans = [task.known.get("whole") or whole(task).plan] + ours
    plans = list(dict.fromkeys(plans + [plan for name, plan in task.known.items() if name != "quick"]))
    allowed = 1 + 0.7 * (float(DELTA) - 1)   # with a margin for noise
    variants = [timed.variants(plan) for plan in ours]
    first, *told = measure(plans[:1] + [text for one in variants for text in timed.texts(one)])
    for one in variants:
        n = len(one[0])
        plans += timed.compose(one, told[:n], allowed * sum(group["ms"] for group in first["groups"]))
        told = told[n:]
    table = timed.Table(ours + [plan for plan in task.known.values()])
    tried = list(table.plans())
    for (steps, _), facts in zip(tried, measure([text for _, text in tried], "3")):
        table.learn(steps, facts)
    plans += table.compose(allowed * sum(group["ms"] for group in first["groups"]))
    plans = list(dict.fromkeys(plans))
    facts = lay(task.path, plans, "--rounds", "15", before=task.before)
    most = allowed * min(facts[0]["ms"])
    _, at = min((one["arena_bytes"], k) for k, one in enumerate(facts) if "error" not in one and min(one["ms"]) <= most)
    origin = next((METHODS[name][0] for name, plan in task.known.items() if name != "quick" and plan == plans[at]), "one of ours")
    return Found(plans[at], None, "of %d plans: %s" % (len(plans), origin))


def front(task):
    """The program's plans for every budget that keep their weights."""
    command = [tool("run_inference"), "--predict", "--pareto", "--json", "--quiet", "--algorithm", "direct", task.path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    plans = [one["plan"] for one in json.loads(done.stdout)] if done.returncode in (0, 3) else []
    return [plan for plan in plans if ":loaded" not in plan and ":streamed" not in plan]


# Name in the CSV: (name in tables, function)
METHODS = {
    "whole": ("whole maps", whole),
    "tflm": ("TFLite Micro", run_tflm),
    "milp": ("FDT's integer programmes", run_milp),
    "serenity": ("Serenity", run_serenity),
    "hmcos": ("HMCOS", run_hmcos),
    "tinyengine": ("TinyEngine", run_tinyengine),
    "ffmt": ("FFMT", search("--search", "fdt:tiling=ffmt")),
    "fdt": ("FDT", search("--search", "fdt:tiling=fdt")),
    "fdt_both": ("FDT and FFMT", search("--search", "fdt:tiling=both")),
    "motes": ("MOTES", search("--search", "motes:delta=" + DELTA)),
    "least": ("ours", search("--search", "least")),
    "quick": ("ours, in time", run_quick),
}
SEARCHES = ("ffmt", "fdt", "fdt_both", "motes")   # published planners in the program


def processor_seconds():
    """CPU seconds of this process and its children, which do not depend on other load."""
    return sum(os.times()[:4])


def find(name, task):
    begin = processor_seconds()
    found = METHODS[name][1](task)
    found.seconds = processor_seconds() - begin
    return found


def lay(path, plans, *options, before=()):
    """Results of build/lay_plans for each plan."""
    done = subprocess.run([*before, tool("lay_plans"), *options, path], input="".join(plan + "\n" for plan in plans),
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError("%s: %s" % (os.path.basename(path), done.stderr.strip()))
    return [json.loads(line) for line in done.stdout.splitlines()]
