#!/usr/bin/env python3
"""Checks whether the plan that the search chooses is the best one measured.

For each case (network, budget) up to 60 other fitting plans are timed in turn with the choice: the
model's best, one-step neighbours of the choice, and random ones. The best of sixty medians is the
luckiest one. So the five best and the choice are timed again in turn, and the median over rounds of
the ratio of choice and other is the excess of the choice. Also printed: the excess in the first
timing, and how many of the pairs more than 8 % apart the model orders right.

  check_search.py [--build DIR] [--work DIR] [--seed N] [--rounds N] [--finals N] [--only REGEX]
                  [--plans N] [--cpu LEVEL] [--csv FILE]"""
import argparse
import csv
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

from plans import Network, neighbours, random_plan

PACKAGE = "/usr/share/darknet/cfg"
# name, cfg, size, layers, budgets in MiB
CASES = [
    ("yolov2-first16", "yolov2", 608, 16, [6, 8, 10, 16, 32, 64]),
    ("yolov2", "yolov2", 608, 0, [8, 12, 256]),
    ("yolov3-tiny", "yolov3-tiny", 416, 0, [6, 10, 64]),
    ("yolov3", "yolov3", 416, 0, [12, 24, 300]),
    ("yolo-fastest-xl", "MODELS/yolo-fastest-1.1-xl", 320, 0, [4, 6, 16]),
    ("resnet50", "resnet50", 256, 0, [10, 16, 128]),
]


def source_of(name):
    if name.startswith("MODELS/"):
        folder = os.environ.get("MAFAT_MODELS")
        return folder and os.path.join(folder, name[7:] + ".cfg")
    return os.path.join(PACKAGE, name + ".cfg")


def prepare(args, name, cfg, size):
    """A cfg of the wanted size and packed random weights, made once."""
    source = source_of(cfg)
    if not source or not os.path.exists(source):
        return None
    to, weights, packed = (os.path.join(args.work, name + end) for end in (".cfg", ".weights", ".packed"))
    with open(source) as file:
        text = file.read()
    text = re.sub(r"^(width|height)\s*=.*", rf"\1={size}", text, count=2, flags=re.M)
    text = re.sub(r"^(batch|subdivisions)\s*=.*", r"\1=1", text, count=2, flags=re.M)
    with open(to, "w") as file:
        file.write(text)
    if not os.path.exists(packed):
        for command in (["make_weights", "--quiet", to, weights], ["pack_weights", "--quiet", to, weights, packed]):
            subprocess.run([f"{args.build}/{command[0]}", *command[1:]], check=True)
        os.unlink(weights)
    return to, packed


def three_by_three(cfg):
    """Layers that can use Winograd."""
    with open(cfg) as file:
        sections = re.split(r"^\[", file.read(), flags=re.M)[2:]
    found = set()
    for i, section in enumerate(sections):
        value = dict(re.findall(r"^(\w+)\s*=\s*(\w+)", section, flags=re.M))
        if section.startswith("conv") and value.get("size") == "3" and value.get("stride", "1") == "1" and \
                value.get("groups", "1") == "1":
            found.add(i)
    return found, len(sections)


def draw(rng, network, choice, budget, n_layers, winograds, n):
    """A third of n of each kind, all within the budget: [(kind, record)]."""
    base = network.time_plans([choice["plan"]], 0)[0]
    process = choice["predicted_charge_bytes"] - base["charge_bytes"]

    def fitting(texts):
        records = network.time_plans(texts, 0) if texts else []
        return [r for r in records if r["charge_bytes"] + process <= budget]

    near = fitting(neighbours(choice["plan"], n_layers, winograds))
    front = [p["plan"] for p in network.ask("--pareto")]
    steps = [t for p in front[:: max(len(front) // 8, 1)] for t in neighbours(p, n_layers, winograds)]
    rng.shuffle(steps)
    chance = []
    for _ in range(50):
        if len(chance) < n // 3:
            chance += fitting([random_plan(rng, n_layers, budget > 64 << 20) for _ in range(60)])
    pool = {r["plan"]: r for r in fitting(front + steps[:200]) + near + chance}
    best = sorted(pool.values(), key=lambda r: r["predicted_ms"])[: n // 3]
    drawn = {base["plan"]: ("choice", base)}
    for kind, records in (("best", best), ("near", rng.sample(near, min(len(near), n // 3))),
                          ("random", chance[: n // 3])):
        for r in records:
            drawn.setdefault(r["plan"], (kind, r))
    return drawn


def run_finals(args, network, records):
    """Times the choice and the five best again: (excess, plan of the best)."""
    choice = records[0]
    best = sorted(records[1:], key=lambda r: r["median"])[:5]
    again = network.time_plans([r["plan"] for r in [choice, *best]], args.finals)
    ratios = [(statistics.median(c / o for c, o in zip(again[0]["ms"], other["ms"])), other["plan"]) for other in again[1:]]
    excess, plan = max(ratios, default=(1, choice["plan"]))
    return max(excess, 1) - 1, plan if excess > 1 else choice["plan"]


def judge(drawn, records, finals):
    choice = records[0]["median"]
    best = min(records, key=lambda r: r["median"])
    right = wrong = 0
    for i, a in enumerate(records):
        for b in records[:i]:
            fast, slow = sorted((a, b), key=lambda r: r["median"])
            if slow["median"] > 1.08 * fast["median"]:
                right += fast["predicted_ms"] < slow["predicted_ms"]
                wrong += fast["predicted_ms"] >= slow["predicted_ms"]
    errors = sorted(abs(r["predicted_ms"] / r["median"] - 1) for r in records)
    excess, plan = finals
    return {"choice": choice, "best": best["median"], "first": choice / best["median"] - 1, "excess": excess,
            "best_plan": plan, "best_kind": drawn[plan][0], "right": right, "wrong": wrong,
            "error": statistics.median(errors), "worst": errors[-1]}


def run_case(args, name, cfg, packed, layers, mib, writer):
    rng = random.Random(f"{args.seed} {name} {mib}")
    network = Network(args.build, cfg, packed, layers, cpu=args.cpu)
    winograds, n = three_by_three(cfg)
    budget = mib << 20
    choice = network.ask("--memory", str(budget))
    if not choice["fits"]:
        print(f"{name:16s} {mib:4d} MiB  does not fit: {choice['predicted_charge_bytes'] / 1048576:.2f} MiB needed")
        return None
    drawn = draw(rng, network, choice, budget, layers or n, winograds, args.plans)
    records = network.time_plans(list(drawn), args.rounds)
    for r in records:
        r["median"] = statistics.median(r["ms"])
        if writer:
            writer.writerow([name, mib, drawn[r["plan"]][0], r["plan"], f"{r['predicted_ms']:.3f}", f"{r['median']:.3f}",
                             " ".join(f"{x:.3f}" for x in r["ms"])])
    j = judge(drawn, records, run_finals(args, network, records))
    pairs = j["right"] + j["wrong"]
    print(f"{name:16s} {mib:4d} MiB  {len(records):2d} plans  choice {j['choice']:8.2f} ms  best {j['best']:8.2f} ms  "
          f"+{100 * j['first']:4.1f} %, again +{100 * j['excess']:4.1f} %  pairs {100 * j['right'] / pairs if pairs else 100:5.1f} % of {pairs:4d}  "
          f"error {100 * j['error']:4.1f} (worst {100 * j['worst']:.0f}) %", flush=True)
    print(f"    choice {choice['plan']}\n    best   {j['best_plan']} ({j['best_kind']})", flush=True)
    return j


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--work", help="where cfg and weights are made; kept. Default: a temporary folder")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--finals", type=int, default=25)
    parser.add_argument("--plans", type=int, default=60)
    parser.add_argument("--only", default="", help="cases 'name MIB' that match")
    parser.add_argument("--cpu", metavar="LEVEL", help="of the kernels: avx2, ...")
    parser.add_argument("--csv")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mafat-search-") as temporary:
        args.work = args.work or temporary
        os.makedirs(args.work, exist_ok=True)
        out = open(args.csv, "w", newline="") if args.csv else None
        writer = csv.writer(out) if out else None
        if writer:
            writer.writerow(["network", "budget_mib", "kind", "plan", "predicted_ms", "median_ms", "ms"])
        judged = []
        for name, cfg, size, layers, budgets in CASES:
            wanted = [b for b in budgets if re.search(args.only, f"{name} {b}")]
            files = prepare(args, name, cfg, size) if wanted else None
            if wanted and not files:
                print(f"{name}: no cfg here (MAFAT_MODELS?)")
            judged += [j for b in wanted if files for j in [run_case(args, name, *files, layers, b, writer)] if j]
        if out:
            out.close()
    if not judged:
        return 0
    within3, within6 = (sum(j["excess"] <= limit for j in judged) for limit in (0.03, 0.06))
    right, wrong = (sum(j[k] for j in judged) for k in ("right", "wrong"))
    print(f"{len(judged)} cases: within 3 % of the best measured {within3}, within 6 % {within6}; "
          f"pairs in order {100 * right / max(right + wrong, 1):.1f} % of {right + wrong}")
    return 0 if within3 >= 0.9 * len(judged) and within6 == len(judged) and right >= 0.95 * (right + wrong) else 1


if __name__ == "__main__":
    sys.exit(main())
