"""FDT's mixed integer programs for operator scheduling and memory planning, solved by cbc (Debian's
coinor-cbc) or lp_solve (lp-solve) in a process of its own."""

import os
import re
import shutil
import subprocess
import tempfile

from operators import bits

SOLVERS = ("cbc", "lp_solve")


class Missing(Exception):
    """No solver is installed."""


def solver():
    return next((name for name in SOLVERS if shutil.which(name)), None)


class Programme:
    """Minimizes one variable under rows of (coefficients, limit); some variables are integer or
    binary."""

    def __init__(self, goal):
        self.goal, self.rows, self.whole, self.binary, self.bounds = goal, [], set(), set(), {}

    def row(self, terms, most):
        """Sum of coefficient * variable <= most."""
        sums = {}
        for coefficient, name in terms:
            sums[name] = sums.get(name, 0) + coefficient
        self.rows.append(({name: c for name, c in sums.items() if c}, most))

    def bound(self, name, low, high):
        self.bounds[name] = (low, high)
        self.whole.add(name)

    def one_of(self, alternatives, big):
        """At least one of the rows (terms, most) holds: adds a binary for each, one of which is 1."""
        names = []
        for terms, most in alternatives:
            name = "h%d" % len(self.binary)
            self.binary.add(name)
            names.append(name)
            self.row(list(terms) + [(big, name)], most + big)
        self.row([(1, name) for name in names], 1)
        self.row([(-1, name) for name in names], -1)

    # ---- files ----

    def write_cplex(self, file):
        """Writes CPLEX's LP format, for cbc."""
        file.write("Minimize\n obj: %s\nSubject To\n" % self.goal)
        for k, (terms, most) in enumerate(self.rows):
            file.write(" r%d: %s <= %d\n" % (k, text(terms), most))
        file.write("Bounds\n")
        for name, (low, high) in self.bounds.items():
            file.write(" %d <= %s <= %d\n" % (low, name, high))
        file.write("Generals\n %s\n" % "\n ".join(sorted(self.whole)) if self.whole else "")
        file.write("Binaries\n %s\n" % "\n ".join(sorted(self.binary)) if self.binary else "")
        file.write("End\n")

    def write_lp(self, file):
        """Writes lp_solve's format."""
        file.write("min: %s;\n" % self.goal)
        for k, (terms, most) in enumerate(self.rows):
            file.write("r%d: %s <= %d;\n" % (k, text(terms) + (" + 0 %s" % self.goal if len(terms) == 1 else ""), most))
        for name, (low, high) in self.bounds.items():
            file.write("%s >= %d;\n%s <= %d;\n" % (name, low, name, high))
        for name in sorted(self.binary):
            file.write("%s <= 1;\n" % name)
        file.write("int %s;\n" % ", ".join(sorted(self.whole | self.binary)) if self.whole | self.binary else "")

    def solve(self, seconds, name=None):
        """(values by name, proven optimal?), or None: nothing was found in time."""
        name = name or solver()
        if not name:
            raise Missing("neither %s is installed" % " nor ".join(SOLVERS))
        with tempfile.TemporaryDirectory() as folder:
            path, out = os.path.join(folder, "model.lp"), os.path.join(folder, "solution")
            with open(path, "w", encoding="ascii") as file:
                (self.write_cplex if name == "cbc" else self.write_lp)(file)
            return (run_cbc if name == "cbc" else run_lp_solve)(path, out, seconds)


def text(terms):
    return " ".join("%s%d %s" % ("+ " if c > 0 else "- ", abs(c), name) for name, c in terms.items()) or "0 m"


def run_cbc(path, out, seconds):
    done = subprocess.run(["cbc", path, "ratioGap", "0", "allowableGap", "0.5", "seconds", "%g" % seconds, "solve", "solution", out],
                          capture_output=True, text=True, check=False)
    if not os.path.exists(out):
        raise RuntimeError("cbc: " + (done.stderr or done.stdout).strip()[-300:])
    with open(out, encoding="ascii") as file:
        head, *lines = file.read().splitlines() or [""]
    values = {words[1]: float(words[2]) for words in (line.replace("**", "").split() for line in lines)}
    if "nfeasible" in head or not values and "objective value" not in head:
        return None
    return values, head.startswith("Optimal")


def run_lp_solve(path, _, seconds):
    done = subprocess.run(["lp_solve", "-S4", "-timeout", "%d" % max(1, seconds), path], capture_output=True, text=True, check=False)
    pairs = re.findall(r"^(\w+)\s+(-?[\d.e+]+)$", done.stdout.partition("Actual values of the variables:")[2].partition("Actual values of the constraints")[0], re.M)
    if not pairs:
        return None
    return {name: float(value) for name, value in pairs}, "Suboptimal" not in done.stdout


# ---- an order ----

def order_programme(graph):
    """The program for operators, an input and a sink that reads all outputs. An output lives while
    operators run that make or read it, and between them. Positions t, live matrix H[x][i],
    helper Z[x][i], as published."""
    if len(graph.inputs()) > 1:
        raise ValueError("expected a network of one input")
    n = graph.n + 2
    source, sink = graph.n, graph.n + 1
    sizes = graph.sizes[:graph.n] + [sum(graph.sizes[t] for t in graph.inputs()), 0]
    after = [sorted(set(graph.readers[i]) | ({sink} if i in graph.outputs else set())) for i in range(graph.n)]
    after += [sorted(set(r for t in graph.inputs() for r in graph.readers[t])), []]
    p = Programme("m")
    # bytes that each operator needs
    p.row([(-1, "m")], -max(sum(sizes[k] for k in range(n) if i in after[k] or k == i) for i in range(n)))
    for i in range(n):
        p.bound("t%d" % i, 1, n)
    for x in range(1, n + 1):
        for i in range(n):
            p.binary |= {"H%d_%d" % (x, i), "Z%d_%d" % (x, i)}
    for i in range(n):
        for s in after[i]:
            p.row([(1, "t%d" % i), (-1, "t%d" % s)], -1)
        if i not in (source, sink):   # first and last in any case
            p.row([(1, "t%d" % source), (-1, "t%d" % i)], -1)
            p.row([(1, "t%d" % i), (-1, "t%d" % sink)], -1)
        for j in sorted(set(range(i)) - related(graph, i)):   # for related ones the order is given
            p.one_of([([(1, "t%d" % i), (-1, "t%d" % j)], -1), ([(1, "t%d" % j), (-1, "t%d" % i)], -1)], n + 1)
    for x in range(1, n + 1):
        live(p, x, n, sizes, after)
    return p


def related(graph, i):
    """Operators that must run before i and after it."""
    if i >= graph.n:
        return set(range(i))
    before, behind, stack = set(), set(), list(bits(graph.before[i]))
    while stack:
        one = stack.pop()
        if one not in before:
            before.add(one)
            stack.extend(bits(graph.before[one]))
    stack = list(graph.readers[i])
    while stack:
        one = stack.pop()
        if one not in behind:
            behind.add(one)
            stack.extend(graph.readers[one])
    return before | behind


def live(p, x, n, sizes, after):
    p.row([(sizes[i], "H%d_%d" % (x, i)) for i in range(n)] + [(-1, "m")], 0)
    for i in range(n):
        t, h, z = "t%d" % i, "H%d_%d" % (x, i), "Z%d_%d" % (x, i)
        p.one_of([([(1, t)], x - 1), ([(-1, t)], -x - 1), ([(-1, h)], -1)], n + 1)
        for s in after[i]:
            p.one_of([([(1, "t%d" % s)], x - 1), ([(1, z)], 0)], n + 1)
        # Z may be 0 only if a successor is not before x: then the output, if it exists, is live.
        p.one_of([([(-1, t)], -x), ([(-1, z)], -1), ([(-1, h)], -1)], n + 1)


def schedule(graph, seconds, name=None):
    """(order, bytes by the programme, proven?), or None."""
    found = order_programme(graph).solve(seconds, name)
    if not found:
        return None
    values, proven = found
    return sorted(range(graph.n), key=lambda i: values.get("t%d" % i, 0)), round(values.get("m", 0)), proven


# ---- a layout ----

def layout_programme(lives):
    """End offsets e of buffers (first step, last step, bytes); buffers that live together do not
    overlap."""
    p = Programme("m")
    total = sum(size for _, _, size in lives)
    for b, (first, last, size) in enumerate(lives):
        p.bound("e%d" % b, size, total)
        p.row([(1, "e%d" % b), (-1, "m")], 0)
        for c in range(b):
            if lives[c][0] <= last and first <= lives[c][1]:
                h = "h%d" % len(p.binary)
                p.binary.add(h)
                p.row([(1, "e%d" % c), (-1, "e%d" % b), (-total, h)], -size)
                p.row([(1, "e%d" % b), (-1, "e%d" % c), (total, h)], total - lives[c][2])
    return p


def layout(lives, seconds, name=None):
    """(offsets, bytes, proven?), or None."""
    found = layout_programme(lives).solve(seconds, name)
    if not found:
        return None
    values, proven = found
    return [round(values.get("e%d" % b, 0)) - size for b, (_, _, size) in enumerate(lives)], round(values.get("m", 0)), proven


def least_layout(lives):
    """Exhaustive: buffers in every order, each at the lowest possible offset."""
    best = [sum(size for _, _, size in lives)]

    def go(left, placed, most):
        if most >= best[0]:
            return
        if not left:
            best[0] = most
        for b in left:
            first, last, size = lives[b]
            at = 0
            for start, end in sorted((o, o + lives[k][2]) for k, o in placed if lives[k][0] <= last and first <= lives[k][1]):
                if start - at >= size:
                    break
                at = max(at, end)
            go([k for k in left if k != b], placed + [(b, at)], max(most, at + size))

    go(list(range(len(lives))), [], 0)
    return best[0]
