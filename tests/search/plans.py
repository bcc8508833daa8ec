"""Plans as texts (predictor/plan/plan.h) for the checks of the search: random ones, and those one
step away from a given one. run_inference --predict gives a plan's cost; texts that do not fit
the network are skipped."""
import json
import re
import subprocess

ROWS = [1, 2, 3, 4, 6, 8, 16]
WEIGHTS = ["", ":loaded", ":streamed", ":streamed4", ":loaded300"]


def split(text):
    """-> cuts [c1, c2 ...] and groups [g0, g1 ...]"""
    parts = text.removesuffix("/NoCut").split("/")
    return [int(c) for c in parts[1::2]], parts[0::2]


def join(cuts, groups):
    if not cuts:
        return groups[0] + "/NoCut"
    return groups[0] + "".join(f"/{c}/{g}" for c, g in zip(cuts, groups[1:]))


def random_group(rng, kept):
    kind = rng.random()
    if kind < 0.5:
        cut = f"rows{rng.choice(ROWS)}"
    elif kind < 0.75:
        cut = "panels"
    elif kind < 0.95:
        cut = "1x1"
    else:
        return rng.choice(["2x2", "3x3", "4x4"]) + ("" if kept else ":loaded")
    return cut + ("" if kept else rng.choice(WEIGHTS))


def random_plan(rng, n_layers, kept):
    n = min(rng.choice([1, 2, 2, 2, 3, 3, 4]), n_layers)
    cuts = sorted(rng.sample(range(1, n_layers), n - 1))
    groups = [random_group(rng, kept) + rng.choice(["", "", ":direct", ":winograd"]) for _ in range(n)]
    return join(cuts, groups)


def words_of(group):
    """-> "rows4", ["loaded300"], ["direct22"]"""
    cut, *words = group.split(":")
    weights = [w for w in words if w.startswith(("loaded", "streamed"))]
    return cut, weights, [w for w in words if w not in weights]


def layers_of(words, kind):
    """Layers of a word such as direct22,26-28; None: the word without layers."""
    for word in words:
        if word == kind:
            return None
        if word.startswith(kind):
            layers = set()
            for part in word[len(kind):].split(","):
                first, _, last = part.partition("-")
                layers.update(range(int(first), int(last or first) + 1))
            return layers
    return set()


def flips(words, first, end, three_by_three):
    """The group's words with one layer's algorithm given explicitly, for each algorithm."""
    for layer in range(first, end):
        if layer not in three_by_three:
            continue
        for kind, other in (("direct", "winograd"), ("winograd", "direct")):
            mine, others = layers_of(words, kind), layers_of(words, other)
            if mine is None or layer in mine:
                continue
            # A word for the whole group becomes a list of layers.
            theirs = (set(range(first, end)) & three_by_three if others is None else others) - {layer}
            told = [f"{kind}{','.join(map(str, sorted(mine | {layer})))}"]
            if theirs:
                told.append(f"{other}{','.join(map(str, sorted(theirs)))}")
            yield told


def neighbours(text, n_layers, three_by_three):
    """One step away: a cut moved by one, rows halved or doubled, one algorithm flipped,
    a group's weights kept, loaded or streamed instead."""
    cuts, groups = split(text)
    found = set()
    for i, cut in enumerate(cuts):
        for moved in (cut - 1, cut + 1):
            low, high = cuts[i - 1] if i else 0, cuts[i + 1] if i + 1 < len(cuts) else n_layers
            if low < moved < high:
                found.add(join(cuts[:i] + [moved] + cuts[i + 1:],
                               [re.sub(r":(direct|winograd)[\d,-]+", "", g) if k in (i, i + 1) else g
                                for k, g in enumerate(groups)]))
    for i, group in enumerate(groups):
        cut, weights, rest = words_of(group)
        first, end = cuts[i - 1] if i else 0, cuts[i] if i < len(cuts) else n_layers
        if cut.startswith("rows"):
            rows = int(cut[4:])
            for other in {max(rows // 2, 1), rows * 2} - {rows}:
                found.add(join(cuts, groups[:i] + [":".join([f"rows{other}"] + weights + rest)] + groups[i + 1:]))
        for other in WEIGHTS:
            if other[1:] not in weights and not (other == "" and not weights):
                found.add(join(cuts, groups[:i] + [":".join([cut + other] + rest)] + groups[i + 1:]))
        for told in flips(rest, first, end, three_by_three):
            found.add(join(cuts, groups[:i] + [":".join([cut] + weights + told)] + groups[i + 1:]))
    found.discard(text)
    return sorted(found)


class Network:
    """A network's plans, through run_inference --predict and time_plans."""

    def __init__(self, build, cfg, weights, layers=0, threads=1, cpu=None):
        options = ["--threads", str(threads)] + (["--layers", str(layers)] if layers else []) + \
            (["--cpu", cpu] if cpu else [])
        self.predict = [f"{build}/run_inference", "--predict", "--json", "--quiet", *options]
        self.time = [f"{build}/time_plans", *options]
        self.files = [cfg, weights]

    def ask(self, *options):
        run = subprocess.run([*self.predict, *options, *self.files], capture_output=True, text=True)
        if run.returncode not in (0, 3):
            raise RuntimeError(run.stderr.strip())
        return json.loads(run.stdout)

    def time_plans(self, texts, rounds):
        """Times plans in turn, each right after an untimed run of itself. One record for each plan:
        {"plan", "charge_bytes", "predicted_ms", "ms": [...]}; with 0 rounds nothing is run. The
        bytes are without the process footprint."""
        lines = "".join(f"auto {text}\n" for text in texts)
        run = subprocess.run([*self.time, "--warm", "--rounds", str(rounds), *self.files], input=lines, capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip()[-300:])
        return [json.loads(line) for line in run.stdout.splitlines()]
